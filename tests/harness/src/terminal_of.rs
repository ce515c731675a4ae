//! The command line in a real terminal.

use std::ffi::OsString;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use terminal::{Command, Exit, Keeper, KeeperOptions, Options, Session, SessionId, Size, Writer};
use tokio::process::Command as Process;

use crate::{
    binary,
    process::{children, ends},
    until, within,
};

/// A command that runs on a terminal of its own, as a person would run it. Dropping it kills it.
pub struct TerminalOf {
    keeper: Keeper,
    _folder: TempDir,
    session: Session,
    writer: Writer,
}

/// What a program that ended left of a terminal.
#[derive(Debug)]
pub struct Left {
    /// All lines, those that scrolled off as well.
    pub lines: Vec<String>,
    /// Those of them that were wider than the terminal.
    pub wide: Vec<String>,
    /// What is not as in a fresh terminal: the sequences that switch it on, and a line that is not printed plainly.
    pub is_on: Vec<String>,
}

struct Anybody;

impl terminal::Gate for Anybody {
    fn pass(&self, write: &mut dyn FnMut()) -> bool {
        write();
        true
    }
}

impl TerminalOf {
    /// Starts a command, with the environment that was set on it, in a terminal of this size.
    ///
    /// # Panics
    /// Where it cannot be started.
    pub async fn start(command: &Process, columns: u16, rows: u16) -> Self {
        let command = command.as_std();
        let set = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        let mut env: Vec<(OsString, OsString)> = set.collect();
        env.push(("TERM".into(), "xterm-256color".into()));
        let command = Command {
            program: command.get_program().to_owned(),
            args: command.get_args().map(ToOwned::to_owned).collect(),
            cwd: "/".into(),
            env,
            size: Size::new(columns, rows),
            descriptor_limit: None,
        };
        let folder = tempfile::tempdir().expect("a folder can be made");
        let options = KeeperOptions {
            socket: folder.path().join("keeper.sock"),
            program: binary().into(),
            arguments: ["keep", "terminal-of-a-test", "--no-cgroups"]
                .map(Into::into)
                .to_vec(),
        };
        let keeper = Keeper::connect_or_start(&options)
            .await
            .expect("it can be started");
        let id = SessionId::from_bytes([1; 8]);
        let session = Session::spawn(&keeper, id, command, Options::default())
            .await
            .expect("the binary can be started");
        let writer = session.writer(std::sync::Arc::new(Anybody));
        Self {
            keeper,
            _folder: folder,
            session,
            writer,
        }
    }

    /// Waits until the screen shows the text, and gives its lines.
    pub async fn until_shows(&self, text: &str) -> Vec<String> {
        self.until(text, |lines| lines.iter().any(|line| line.contains(text)))
            .await
    }

    /// Waits until the screen is as wanted.
    ///
    /// # Panics
    /// Where it does not become so; the message has the screen.
    pub async fn until(&self, what: &str, is_it: impl Fn(&[String]) -> bool) -> Vec<String> {
        let mut changes = self.session.changes();
        let waited = tokio::time::timeout(crate::PATIENCE, async {
            loop {
                let lines = self.session.text_lines();
                if is_it(&lines) {
                    return lines;
                }
                changes.changed().await;
            }
        });
        let Ok(lines) = waited.await else {
            panic!(
                "waited for {what:?}; the screen was:\n{}",
                self.session.text_lines().join("\n")
            )
        };
        lines
    }

    /// Types.
    ///
    /// # Panics
    /// Where the program has ended.
    pub async fn types(&self, bytes: &[u8]) {
        self.writer.write(bytes).await.expect("the program runs");
    }

    /// Sends the command a signal.
    ///
    /// # Panics
    /// Where it has ended.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.command().cast_signed()).expect("a process's id is positive");
        kill_process(pid, signal).expect("it is ours");
    }

    /// Stops the command where it is, as a machine does that goes to sleep.
    ///
    /// # Panics
    /// Where it has ended.
    pub async fn freeze(&self) {
        self.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.command());
        until("the command to stand still", || async {
            let stat = std::fs::read_to_string(&stat).expect("it runs");
            // Behind the name, which is in parentheses (proc_pid_stat(5)).
            let (_, behind) = stat.rsplit_once(')').expect("the name is in parentheses");
            behind.trim_start().starts_with('T').then_some(())
        })
        .await;
    }

    /// Lets the command go on that was frozen.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn command(&self) -> u32 {
        let reapers = children(self.keeper.process_id());
        let command = reapers.into_iter().flat_map(children).next();
        command.expect("it runs")
    }

    /// Gives the terminal another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.session.resize(Size::new(columns, rows));
    }

    /// Waits for the program's end.
    ///
    /// # Panics
    /// Where the terminal is gone before.
    pub async fn exit(&self) -> Exit {
        let mut state = self.session.state();
        let ended = within(
            "the program's end",
            state.wait_for(|state| state.exit().is_some()),
        )
        .await;
        ended
            .expect("the session lives")
            .exit()
            .expect("it was waited for")
    }

    /// What a program left that has ended.
    pub async fn left(&self) -> Left {
        self.session.drawn().await;
        let snapshot = self.session.snapshot();
        let (lines, wide) = self.session.look(|screen| {
            let lines = screen.lines(0..u64::MAX);
            let wide = lines.iter().filter(|line| line.wrapped);
            let wide = wide.map(|line| line.text.clone()).collect();
            (lines.into_iter().map(|line| line.text).collect(), wide)
        });
        let mut is_on = modes(&snapshot.bytes);
        // Whoever prints next prints like this.
        let mut next = terminal::screen(snapshot.size);
        next.feed(&snapshot.bytes);
        next.feed(b"\r\nx");
        let at = next.top_line() + u64::from(next.cursor().1);
        is_on.extend(next.lines(at..at + 1).into_iter().filter_map(|line| {
            let is_plain = line.ansi.trim_end() == "x";
            (!is_plain).then_some(line.ansi)
        }));
        Left { lines, wide, is_on }
    }

    /// The snapshot of the terminal: the modes that the program left behind show in it.
    pub fn snapshot(&self) -> String {
        String::from_utf8_lossy(&self.session.snapshot().bytes).into_owned()
    }
}

/// The private modes and keyboard modes in a snapshot, which names those alone that are not as in a fresh terminal.
fn modes(snapshot: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(snapshot);
    let sequences = text.split('\x1b').skip(1);
    let is_mode = |sequence: &&str| {
        ["[?", "[>", "[=", "=", "P"]
            .iter()
            .any(|begin| sequence.starts_with(begin))
    };
    sequences.filter(is_mode).map(str::to_owned).collect()
}

impl Drop for TerminalOf {
    fn drop(&mut self) {
        let pid = self.keeper.process_id();
        if !self.keeper.is_lost()
            && let Some(keeper) = Pid::from_raw(pid.cast_signed())
        {
            kill_process(keeper, Signal::KILL).ok();
            ends(pid);
        }
    }
}
