//! Reading: from the PTY into the journal, as fast as the screen can follow.

use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::time::timeout_at;

use super::draw::Drawing;
use super::flood::Flood;
use super::{Shared, lock};
use crate::attachment::Drawn;
use crate::descriptor;
use crate::drain::Drain;
use crate::process::Exit;
use crate::pty::{FIRST_RETRY, LAST_RETRY, READ_SIZE};

/// Reads until the program has ended and what it wrote is in the journal; gives the end, none where nobody can know
/// it. A background process that keeps the terminal open is read until it pauses for 20 ms, at most 200 ms.
pub(super) async fn read(
    shared: &Arc<Shared>,
    mut master: Master,
    mut end: watch::Receiver<Option<Exit>>,
) -> Option<Exit> {
    let exit = {
        let mut ended = pin!(end.wait_for(Option::is_some));
        loop {
            tokio::select! {
                ended = &mut ended => break ended.ok().and_then(|exit| *exit),
                () = master.turn(shared) => {}
            }
        }
    };
    master.stop_flood().await;
    drain(shared, &mut master).await;
    exit
}

/// Reads what is left when the program has ended.
async fn drain(shared: &Arc<Shared>, master: &mut Master) {
    // A turn that was cut short may not have said so.
    shared.undrawn.notify_one();
    let mut drain = Drain::begin(Instant::now());
    loop {
        match read_some(&master.terminal, shared) {
            Outcome::Read { bytes, .. } => {
                shared.undrawn.notify_one();
                if drain.read(bytes, Instant::now()) {
                    return;
                }
                tokio::task::yield_now().await;
            }
            Outcome::Full => wait_for_screen(shared).await,
            Outcome::Empty if Instant::now() < drain.until() => {
                drain.emptied();
                // Read once more when that is over: its readiness may say nothing.
                timeout_at(drain.until().into(), master.readable()).await.ok();
            }
            Outcome::Empty | Outcome::Closed => return,
        }
    }
}

/// The reading side of a terminal.
pub(super) struct Master {
    terminal: Arc<OwnedFd>,
    /// Its readiness wakes this task; none while a thread reads it, and where the system refused.
    watched: Option<AsyncFd<Arc<OwnedFd>>>,
    flood: Option<Flood>,
    drawing: Arc<Mutex<Drawing>>,
    /// No process had the terminal open at some time since it was registered, and its readiness says so for
    /// ever, also when one opens it again (`/dev/tty`).
    was_closed: bool,
    /// How long to wait before a closed terminal is tried again.
    retry: Duration,
    /// Turns in a row that left something unread.
    full_turns: u32,
}

impl Master {
    pub(super) fn new(terminal: AsyncFd<Arc<OwnedFd>>, drawing: Arc<Mutex<Drawing>>) -> Self {
        Self {
            terminal: Arc::clone(terminal.get_ref()),
            watched: Some(terminal),
            flood: None,
            drawing,
            was_closed: false,
            retry: FIRST_RETRY,
            full_turns: 0,
        }
    }

    /// Waits for output and takes some. Cancel safe: output is taken and recorded without a wait between.
    async fn turn(&mut self, shared: &Arc<Shared>) {
        if let Some(flood) = &mut self.flood {
            flood.over().await;
            self.flood = None;
            self.watch();
            return;
        }
        if shared.drawn.borrow().is_begun {
            wait_for_screen(shared).await;
        }
        let is_told = self.told().is_some();
        match self.take(shared).await {
            Outcome::Read { is_all, .. } => {
                self.retry = FIRST_RETRY;
                // Viewers first, and whoever else is on the same thread.
                tokio::task::yield_now().await;
                shared.undrawn.notify_one();
                self.full_turns = if is_all { 0 } else { self.full_turns + 1 };
                if self.full_turns >= FLOOD && shared.is_rebuilt() {
                    self.flood(shared);
                }
            }
            Outcome::Full => wait_for_screen(shared).await,
            Outcome::Empty if is_told => self.full_turns = 0,
            Outcome::Empty | Outcome::Closed => self.register_anew().await,
        }
    }

    /// Has a thread of its own read the terminal; where there is none to be had, all stays as it is.
    fn flood(&mut self, shared: &Arc<Shared>) {
        self.full_turns = 0;
        let terminal = Arc::clone(&self.terminal);
        match Flood::begin(Arc::clone(shared), Arc::clone(&self.drawing), terminal) {
            Ok(flood) => {
                self.flood = Some(flood);
                // It would wake this task with each piece.
                self.watched = None;
            }
            Err(error) => tracing::debug!(%error, "no thread for a session that writes much"),
        }
    }

    /// Ends a flood, if there is one: whatever the thread read is recorded, and it reads no more.
    async fn stop_flood(&mut self) {
        if let Some(mut flood) = self.flood.take() {
            flood.stop().await;
            self.watch();
        }
    }

    /// Has the terminal's readiness wake this task, from now on.
    fn watch(&mut self) {
        self.watched = None;
        match descriptor::watch_shared(Arc::clone(&self.terminal), Interest::READABLE) {
            Ok(watched) => self.watched = Some(watched),
            Err(error) => tracing::debug!(%error, "a terminal cannot be watched now"),
        }
        self.was_closed = false;
    }

    /// The terminal, where its readiness is worth waiting for.
    fn told(&self) -> Option<&AsyncFd<Arc<OwnedFd>>> {
        self.watched.as_ref().filter(|_| !self.was_closed)
    }

    /// Takes some output; waits for it where readiness says when it comes.
    async fn take(&mut self, shared: &Arc<Shared>) -> Outcome {
        let Some(watched) = self.told() else {
            return read_some(&self.terminal, shared);
        };
        let Ok(mut ready) = watched.readable().await else {
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
        if let Some(watched) = self.told()
            && let Ok(mut ready) = watched.readable().await
        {
            let is_closed = ready.ready().is_read_closed();
            ready.clear_ready();
            self.was_closed = is_closed;
            return;
        }
        std::future::pending::<()>().await;
    }

    /// Waits a while and asks for readiness anew.
    async fn register_anew(&mut self) {
        tokio::time::sleep(self.retry).await;
        self.retry = (self.retry * 2).min(LAST_RETRY);
        self.watch();
    }
}

/// Waits while the screen is too far behind, or the journal is full of what it has not drawn; a screen that has to be drawn
/// again is begun for that.
async fn wait_for_screen(shared: &Arc<Shared>) {
    let is_near = |drawn: &Drawn| {
        let journal = shared.journal();
        let behind = journal.end().since(drawn.seen);
        behind < MAX_BEHIND.min(journal.capacity() as u64 / 2) && journal.room(drawn.needs()) >= READ_SIZE
    };
    let drawn = *shared.drawn.borrow();
    if is_near(&drawn) {
        return;
    }
    if !drawn.is_begun {
        shared.hurry();
    }
    // The sender lives in `shared`.
    let _ = shared.drawn.subscribe().wait_for(is_near).await;
}

pub(super) enum Outcome {
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
        match read_once(terminal, shared, &mut buffer) {
            Outcome::Read { bytes, is_all } => {
                taken += bytes;
                if is_all {
                    break;
                }
            }
            other => {
                outcome = other;
                break;
            }
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

/// Takes what one read gives into the journal, without waiting; says nobody so.
pub(super) fn read_once(terminal: &OwnedFd, shared: &Shared, buffer: &mut [u8; READ_SIZE]) -> Outcome {
    let needed = shared.drawn.borrow().needs();
    if shared.journal().room(needed) < READ_SIZE {
        return Outcome::Full;
    }
    loop {
        return match rustix::io::read(terminal, &mut buffer[..]) {
            Ok(0) | Err(Errno::IO) => Outcome::Closed,
            Ok(length) => {
                let output = &buffer[..length];
                let mut journal = shared.journal();
                let time_ms = journal.time_ms();
                // Before anybody can read it.
                lock(&shared.brackets).feed(journal.end(), output, std::time::Instant::now());
                // There was room, and nobody else appends output.
                Outcome::Read {
                    bytes: journal.append(time_ms, output, needed),
                    // It gave all it had: what comes next makes it ready anew. To ask an empty terminal would wait for
                    // the kernel's own thread that fills it (tty_buffer_flush_work), and with it all who share this
                    // one. A flood comes in larger pieces, and is read on.
                    is_all: length < SHORT,
                }
            }
            Err(Errno::INTR) => continue,
            Err(_would_block) => Outcome::Empty,
        };
    }
}

/// Bytes; a read that gives fewer took all there was.
const SHORT: usize = 1024;
/// Bytes taken before others get their turn: a few hundred microseconds' worth, so that no key waits long behind a flood.
const MAX_TURN: usize = 8 * 1024;
/// Bytes that the screen may be behind before reading waits for it.
const MAX_BEHIND: u64 = 1024 * 1024;
/// Turns in a row that left something unread: no picture, but a program that writes as fast as it is read.
const FLOOD: u32 = 4;
