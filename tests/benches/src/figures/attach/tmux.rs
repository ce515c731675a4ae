//! The same in tmux, where that is installed: from `tmux attach` to the newest line of the session.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::{floor::pty, gate::Gate, under_test::program};

/// A tmux server of its own with one session. Dropping it ends both.
pub(super) struct Tmux(String);

impl Tmux {
    /// Starts it; `None` where there is no tmux.
    pub(super) fn start(gate: &Gate, lines: u32) -> Result<Option<Self>> {
        let name = format!("benches-{}", std::process::id());
        let rest = program(&["rest", &gate.path().display().to_string(), &lines.to_string()])?;
        let mut tmux = Command::new("tmux");
        tmux.args([
            "-L",
            &name,
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "30",
        ]);
        match tmux.args(rest).stdin(Stdio::null()).status() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            status => ensure!(status?.success(), "tmux did not start"),
        }
        Ok(Some(Self(name)))
    }

    /// Attaches on a terminal of its own; ms until the text is drawn.
    pub(super) fn attach(&self, text: &[u8]) -> Result<f64> {
        let words = ["tmux", "-L", &self.0, "attach"].map(str::to_owned);
        let begun = Instant::now();
        let (master, mut client) = pty::spawn(&words)?;
        let (mut drawn, mut piece) = (Vec::new(), [0; 4096]);
        while !drawn.windows(text.len()).any(|window| window == text) {
            let length = rustix::io::read(&master, &mut piece).context("tmux ended before it drew")?;
            drawn.extend_from_slice(&piece[..length]);
        }
        let took = begun.elapsed().as_secs_f64() * 1e3;
        client.kill()?;
        client.wait()?;
        Ok(took)
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // It may have ended with its session.
        Command::new("tmux")
            .args(["-L", &self.0, "kill-server"])
            .status()
            .ok();
    }
}
