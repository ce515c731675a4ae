//! A command that still runs: its output line by line, its answers, its end.

use std::process::Stdio;

use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::{Finished, within};

/// A command that was started and not yet waited for. Dropping it kills it.
pub struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    seen: String,
}

impl Running {
    /// Starts it, with an input that stays open and says nothing.
    ///
    /// # Panics
    /// Where it cannot be started.
    pub fn start(command: &mut Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("the binary can be started");
        let output = child.stdout.take().expect("stdout is piped");
        Self {
            child,
            lines: BufReader::new(output).lines(),
            seen: String::new(),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it has not been waited for")
    }

    /// The next line that it prints; `None` at the end.
    pub async fn line(&mut self) -> Option<String> {
        let line = within("a line of a command", self.lines.next_line())
            .await
            .expect("its output can be read")?;
        self.seen.push_str(&line);
        self.seen.push('\n');
        Some(line)
    }

    /// The next line with this text in it.
    ///
    /// # Panics
    /// Where it ends before.
    pub async fn line_with(&mut self, text: &str) -> String {
        loop {
            match self.line().await {
                Some(line) if line.contains(text) => return line,
                Some(_) => {}
                None => panic!("it ended before it said {text:?}:\n{}", self.seen),
            }
        }
    }

    /// Reads on to its end.
    pub async fn finish(mut self) -> Finished {
        while self.line().await.is_some() {}
        let output = within("a command's end", self.child.wait_with_output())
            .await
            .expect("its output can be read");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Finished {
            code: output.status.code().unwrap_or(-1),
            stdout: self.seen,
            stderr,
        }
    }
}
