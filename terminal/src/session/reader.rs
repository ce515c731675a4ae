//! Reading: from the PTY into the journal, as fast as the screen can follow.

use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::{Shared, lock};
use crate::attachment::Drawn;
use crate::descriptor;
use crate::process::Exit;
use crate::pty::{FIRST_RETRY, LAST_RETRY, MAX_BUFFERED, MAX_DRAIN, MAX_PAUSE, READ_SIZE};

/// Reads until the program has ended and what it wrote is in the journal; gives the end, none where nobody can know
/// it. A background process that keeps the terminal open is read until it pauses for 20 ms, at most 200 ms.
pub(super) async fn read(
    shared: &Arc<Shared>,
    master: AsyncFd<OwnedFd>,
    mut end: watch::Receiver<Option<Exit>>,
) -> Option<Exit> {
    let mut master = Master::new(master);
    let exit = {
        let mut ended = pin!(end.wait_for(Option::is_some));
        loop {
            tokio::select! {
                ended = &mut ended => break ended.ok().and_then(|exit| *exit),
                () = master.turn(shared) => {}
            }
        }
    };
    drain(shared, &mut master).await;
    exit
}

/// Reads what is left when the program has ended.
async fn drain(shared: &Arc<Shared>, master: &mut Master) {
    // A turn that was cut short may not have said so.
    shared.undrawn.notify_one();
    let deadline = Instant::now() + MAX_DRAIN;
    let mut taken = 0;
    let mut paused = false;
    loop {
        match read_some(master.terminal.get_ref(), shared) {
            Outcome::Read { bytes, .. } => {
                shared.undrawn.notify_one();
                taken += bytes;
                paused = false;
                // The terminal holds less, so what the program wrote is taken; the rest is somebody else's.
                if taken > MAX_BUFFERED && Instant::now() >= deadline {
                    return;
                }
                tokio::task::yield_now().await;
            }
            Outcome::Full => wait_for_screen(shared).await,
            Outcome::Empty if !paused && Instant::now() < deadline => {
                taken = taken.max(MAX_BUFFERED + 1);
                let pause = (Instant::now() + MAX_PAUSE).min(deadline);
                paused = timeout_at(pause, master.readable()).await.is_err();
            }
            Outcome::Empty | Outcome::Closed => return,
        }
    }
}

/// The reading side of a terminal.
struct Master {
    terminal: AsyncFd<OwnedFd>,
    /// No process had the terminal open at some time since it was registered, and its readiness says so for
    /// ever, also when one opens it again (`/dev/tty`).
    was_closed: bool,
    /// How long to wait before a closed terminal is tried again.
    retry: Duration,
}

impl Master {
    fn new(terminal: AsyncFd<OwnedFd>) -> Self {
        Self {
            terminal,
            was_closed: false,
            retry: FIRST_RETRY,
        }
    }

    /// Waits for output and takes some. Cancel safe: output is taken and recorded without a wait between.
    async fn turn(&mut self, shared: &Arc<Shared>) {
        wait_for_screen(shared).await;
        let is_told = !self.was_closed;
        match self.take(shared).await {
            Outcome::Read { .. } => {
                self.retry = FIRST_RETRY;
                // Viewers first, and whoever else is on the same thread.
                tokio::task::yield_now().await;
                shared.undrawn.notify_one();
            }
            // The screen is waited for first.
            Outcome::Full => {}
            Outcome::Empty if is_told => {}
            Outcome::Empty | Outcome::Closed => self.register_anew().await,
        }
    }

    /// Takes some output; waits for it where readiness says when it comes.
    async fn take(&mut self, shared: &Arc<Shared>) -> Outcome {
        if self.was_closed {
            return read_some(self.terminal.get_ref(), shared);
        }
        let Ok(mut ready) = self.terminal.readable().await else {
            return std::future::pending().await;
        };
        let is_closed = ready.ready().is_read_closed();
        let outcome = read_some(ready.get_inner(), shared);
        if matches!(outcome, Outcome::Empty | Outcome::Read { is_all: true, .. }) {
            // What came since that was read has made it ready anew, which stays.
            ready.clear_ready();
        }
        self.was_closed = is_closed;
        outcome
    }

    /// Waits until there may be something to read; for ever, once the readiness is of no use.
    async fn readable(&mut self) {
        if !self.was_closed
            && let Ok(mut ready) = self.terminal.readable().await
        {
            self.was_closed = ready.ready().is_read_closed();
            ready.clear_ready();
            return;
        }
        std::future::pending::<()>().await;
    }

    /// Waits a while and asks for readiness anew.
    async fn register_anew(&mut self) {
        tokio::time::sleep(self.retry).await;
        self.retry = (self.retry * 2).min(LAST_RETRY);
        let copy = self.terminal.get_ref().try_clone();
        if let Ok(fresh) = copy.and_then(|copy| descriptor::watch(copy, Interest::READABLE)) {
            self.terminal = fresh;
            self.was_closed = false;
        }
    }
}

/// Waits while the screen is too far behind, or the journal is full of what it has not drawn.
async fn wait_for_screen(shared: &Shared) {
    let is_near = |drawn: &Drawn| {
        let journal = shared.journal();
        let behind = journal.end().since(drawn.seen);
        behind < MAX_BEHIND.min(journal.capacity() as u64 / 2) && journal.room(drawn.ground) >= READ_SIZE
    };
    let drawn = *shared.drawn.borrow();
    if is_near(&drawn) {
        return;
    }
    // The sender lives in `shared`.
    let _ = shared.drawn.subscribe().wait_for(is_near).await;
}

enum Outcome {
    Read {
        bytes: usize,
        /// Whether there was no more.
        is_all: bool,
    },
    /// Nothing now.
    Empty,
    /// There may be something, but no room for it until the screen has drawn more.
    Full,
    /// No process has the terminal open.
    Closed,
}

/// Takes up to [`MAX_TURN`] bytes into the journal, without waiting.
fn read_some(terminal: &OwnedFd, shared: &Arc<Shared>) -> Outcome {
    let mut buffer = [0; READ_SIZE];
    let mut taken = 0;
    let mut outcome = Outcome::Empty;
    while taken < MAX_TURN {
        let needed = shared.drawn.borrow().ground;
        if shared.journal().room(needed) < READ_SIZE {
            outcome = Outcome::Full;
            break;
        }
        match rustix::io::read(terminal.as_fd(), &mut buffer) {
            Ok(0) | Err(Errno::IO) => {
                outcome = Outcome::Closed;
                break;
            }
            Ok(length) => {
                let mut journal = shared.journal();
                let time_ms = journal.time_ms();
                // Before anybody can read it.
                lock(&shared.brackets).feed(journal.end(), &buffer[..length], std::time::Instant::now());
                // There was room, and nobody else appends output.
                taken += journal.append(time_ms, &buffer[..length], needed);
                // It gave all it had: what comes next makes it ready anew. To ask an empty terminal would wait for the
                // kernel's own thread that fills it (tty_buffer_flush_work), and with it all who share this one. A flood
                // comes in larger pieces, and is read on.
                if length < SHORT {
                    break;
                }
            }
            Err(Errno::INTR) => {}
            Err(_would_block) => break,
        }
    }
    if taken == 0 {
        return outcome;
    }
    shared.appended(taken);
    shared.output.send_replace(());
    Outcome::Read {
        bytes: taken,
        is_all: matches!(outcome, Outcome::Empty) && taken < MAX_TURN,
    }
}

/// Bytes; a read that gives fewer took all there was.
const SHORT: usize = 1024;
/// Bytes taken before others get their turn: a few hundred microseconds' worth, so that no key waits long behind a flood.
const MAX_TURN: usize = 8 * 1024;
/// Bytes that the screen may be behind before reading waits for it.
const MAX_BEHIND: u64 = 1024 * 1024;
