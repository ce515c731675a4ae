//! Reading a program that writes as fast as it is read: on a thread of its own, which draws what it reads.
//!
//! A task of the runtime is woken for each piece that the kernel passes on, and wakes another one that draws; such a wake-up
//! costs more than a piece does. Here one thread reads a piece, draws it while the kernel fills in the next, and wakes
//! viewers only now and then. A session that pauses goes back to the runtime.

use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::oneshot;

use super::draw::{Drawing, Step};
use super::reader::{Outcome, read_once};
use super::{Shared, lock};
use crate::pty::READ_SIZE;

/// A thread that reads one session's terminal. It ends when the program pauses, when the terminal is closed, and soon after
/// this is dropped.
pub(super) struct Flood {
    is_unwanted: Arc<AtomicBool>,
    over: oneshot::Receiver<()>,
}

impl Flood {
    /// Lets a thread read the terminal. Nobody else may until it [is over](Self::over).
    ///
    /// # Errors
    /// When the system has no thread left.
    pub(super) fn begin(
        shared: Arc<Shared>,
        drawing: Arc<Mutex<Drawing>>,
        terminal: Arc<OwnedFd>,
    ) -> io::Result<Self> {
        let is_unwanted = Arc::new(AtomicBool::new(false));
        let (sender, over) = oneshot::channel();
        let mut reading = Reading {
            shared,
            drawing,
            terminal,
            is_unwanted: Arc::clone(&is_unwanted),
            untold: 0,
        };
        let read = move || {
            // Of this thread alone: who types into another session, or looks at this one, comes first.
            rustix::process::setpriority_process(None, NICENESS).ok();
            if catch_unwind(AssertUnwindSafe(|| reading.run())).is_err() {
                tracing::error!("reading a session that writes much failed");
            }
            reading.tell();
            // Whoever draws from here on, and shows what is held back.
            reading.shared.undrawn.notify_one();
            // Who waits may be gone.
            let _ = sender.send(());
        };
        thread::Builder::new().name("flood".into()).spawn(read)?;
        Ok(Self { is_unwanted, over })
    }

    /// Waits until the thread reads no more. Cancel safe.
    pub(super) async fn over(&mut self) {
        // Dropped or sent: the thread is done.
        let _ = (&mut self.over).await;
    }

    /// Has the thread read no more, and waits until it does not.
    pub(super) async fn stop(&mut self) {
        self.is_unwanted.store(true, Ordering::Release);
        self.over().await;
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.is_unwanted.store(true, Ordering::Release);
    }
}

/// How much is worth drawing.
enum Enough {
    /// Anything at all.
    Any,
    /// What takes a while: the kernel's 4 KiB do not fill up meanwhile, whose thread would have to be woken.
    Piece,
}

struct Reading {
    shared: Arc<Shared>,
    drawing: Arc<Mutex<Drawing>>,
    terminal: Arc<OwnedFd>,
    is_unwanted: Arc<AtomicBool>,
    /// Bytes that nobody was told about.
    untold: usize,
}

impl Reading {
    fn run(&mut self) {
        let mut buffer = [0; READ_SIZE];
        while !self.is_unwanted.load(Ordering::Acquire) {
            match read_once(&self.terminal, &self.shared, &mut buffer) {
                Outcome::Read { bytes, .. } => {
                    self.untold += bytes;
                    if self.untold >= TOLD {
                        self.tell();
                    }
                    self.draw(Enough::Piece);
                }
                Outcome::Empty => {
                    // Viewers first: this may be the end of it.
                    self.tell();
                    if !self.draw(Enough::Any) && !self.has_more() {
                        break;
                    }
                }
                Outcome::Full if self.draw(Enough::Any) => {}
                Outcome::Full | Outcome::Closed => break,
            }
        }
    }

    /// Draws some of what was read, if there is enough of it; returns whether it did.
    fn draw(&self, enough: Enough) -> bool {
        let mut drawing = lock(&self.drawing);
        let behind = self.shared.journal().end().since(self.shared.drawn.borrow().seen);
        let limit = match behind > MAX_BEHIND {
            true => drawing.piece().max(2 * READ_SIZE),
            false => drawing.piece(),
        };
        if matches!(enough, Enough::Piece) && behind < limit as u64 {
            return false;
        }
        matches!(drawing.step(&self.shared, limit), Step::Drawn { .. })
    }

    /// Lets viewers and the disk know.
    fn tell(&mut self) {
        let untold = std::mem::take(&mut self.untold);
        if untold > 0 {
            self.shared.appended(untold);
            self.shared.output.send_replace(());
        }
    }

    /// Waits for output; whether there is any before the program has paused.
    fn has_more(&self) -> bool {
        let mut terminal = [PollFd::new(&self.terminal, PollFlags::IN)];
        let pause = Timespec::try_from(PAUSE).ok();
        // An interrupted wait is no pause.
        !matches!(poll(&mut terminal, pause.as_ref()), Ok(0))
    }
}

/// Niceness (sched(7)): a third of the processor's time where others want it too, all of it otherwise.
const NICENESS: i32 = 5;
/// A program that wrote nothing for so long floods no more.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes after which viewers are told although there is more.
const TOLD: usize = 16 * 1024;
/// Bytes that may wait to be drawn; with more, more is drawn than read.
const MAX_BEHIND: u64 = 64 * 1024;
