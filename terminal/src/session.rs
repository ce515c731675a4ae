//! The session: one program on a PTY, what it wrote, and who follows it.

use std::fmt;
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Instant;

use tokio::io::unix::AsyncFd;
use tokio::sync::{Notify, Semaphore, mpsc, watch};

use crate::attachment::{Attachment, Brackets, Drawn, Mode, Start};
use crate::journal::{Journal, UnixMs};
use crate::keeper::Held;
use crate::offset::Offset;
use crate::process::{Exit, Tree};
use crate::pty;
use crate::said::Said;
use crate::screen::{Emulator, Screen, Snapshot};
use crate::size::Size;

mod draw;
mod flood;
mod look;
mod patience;
mod reader;
mod rebuild;
mod recording;
mod run;
mod spawned;
mod store;
mod stored;
mod writer;

pub(crate) use patience::Patience;
use rebuild::Rebuild;
use run::Watched;
use store::Store;

pub use recording::{Event, Recorded, Recording};
pub use store::Output;
pub(crate) use store::Records;
pub use stored::{Ended, Last, stored_last};
pub use writer::{ClientKey, Input, InputError, Writer};

/// A running or ended program with its output and its screen. A clone is another handle on the same session;
/// the session goes on when the last handle is dropped, until its program ends.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) shared: Arc<Shared>,
}

/// What a session may use.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes of records kept in memory; at least a megabyte, so that the screen can be behind.
    pub scrollback_memory: usize,
    /// Where its output and its screen are kept on disk, if they are: a directory of its own, made when it is needed.
    pub directory: Option<std::path::PathBuf>,
    /// Bytes of output kept on disk.
    pub scrollback_disk: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scrollback_memory: 2 * 1024 * 1024,
            directory: None,
            scrollback_disk: 32 * 1024 * 1024,
        }
    }
}

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// The program was started and not yet seen to end.
    Running,
    /// The program ended, and every byte it wrote before is in the session.
    Exited(Exit),
    /// The program cannot be reached any more, and how it ended is not known: its keeper or its reaper was killed.
    Lost,
}

impl SessionState {
    /// Whether the program may still be there.
    #[must_use]
    pub fn is_running(self) -> bool {
        matches!(self, Self::Running)
    }

    /// How the program ended, if it did.
    #[must_use]
    pub fn exit(self) -> Option<Exit> {
        match self {
            Self::Running | Self::Lost => None,
            Self::Exited(exit) => Some(exit),
        }
    }
}

impl Session {
    /// Takes over a program that a keeper holds, and what it wrote before. Output and input are served at once; a
    /// screen that was drawn before is [rebuilt](Self::rebuilt). Must be called on a tokio runtime with time and IO.
    ///
    /// # Errors
    /// When its terminal cannot be watched.
    pub fn adopt(held: Held, options: Options) -> std::io::Result<Self> {
        let watched = Watched::of(&held)?;
        // A size is recorded before it is set: who did may have ended between the two.
        if let Err(error) = pty::resize(&held.master, held.journal.size()) {
            tracing::warn!(%error, "the terminal did not take its size");
        }
        Ok(Self::begin(held, watched, options))
    }

    fn begin(held: Held, watched: Watched, options: Options) -> Self {
        let Held {
            id: _,
            master: _,
            journal,
            tree,
            end,
        } = held;
        let Watched { reader, control } = watched;
        let (input, queue) = mpsc::channel(writer::QUEUE);
        let rebuild = Rebuild::of(&journal, false);
        let capacity = journal.capacity();
        let shared = Arc::new(Shared::new(Parts {
            journal,
            control: Some(Arc::clone(&control)),
            input,
            tree: Some(Arc::new(tree)),
            store: options
                .directory
                .map(|directory| Store::new(directory, options.scrollback_disk, capacity)),
            rebuild,
        }));
        if !shared.is_rebuilt() {
            // What the disk does not have yet.
            shared.appended(1);
        }
        let drawing = Arc::new(Mutex::new(draw::Drawing::new(&shared)));
        tokio::spawn(draw::draw(Arc::clone(&shared), Arc::clone(&drawing)));
        let reader = reader::Master::new(reader, drawing);
        tokio::spawn(run::run(Arc::clone(&shared), reader, control, queue, end));
        Self { shared }
    }

    /// Follows the session.
    #[must_use]
    pub fn attach(&self, mode: Mode, start: Start) -> Attachment {
        Attachment::new(Arc::clone(&self.shared), mode, start)
    }

    /// Somebody who types. Input that the gate refuses when its turn comes is dropped.
    #[must_use]
    pub fn writer(&self, gate: Arc<dyn crate::Gate>) -> Writer {
        Writer::new(Arc::clone(&self.shared), gate, None)
    }

    /// Gives the terminal another size and tells the program (SIGWINCH); what that writes now is drawn for the size, and no
    /// work. Returns whether it had another one and the program was there to be told.
    pub fn resize(&self, size: Size) -> bool {
        let control = lock(&self.shared.control);
        let Some(master) = control.as_ref() else {
            return false;
        };
        {
            let mut journal = self.shared.journal();
            if journal.size() == size {
                return false;
            }
            // Recorded first: what the program writes because of it stands behind it.
            let time_ms = journal.time_ms();
            journal.resize(time_ms, size);
            journal.set_disturbed(time_ms);
        }
        if let Err(error) = pty::resize(master.get_ref(), size) {
            tracing::warn!(%error, "the terminal did not take its new size");
        }
        self.shared.appended(1);
        self.shared.output.send_replace(());
        self.shared.undrawn.notify_one();
        true
    }

    /// The terminal's size.
    #[must_use]
    pub fn size(&self) -> Size {
        self.shared.journal().size()
    }

    /// The offset of the next byte that the program will write.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.shared.journal().end()
    }

    /// When the program last wrote anything, in milliseconds since the session began; none if it never did.
    #[must_use]
    pub fn last_output_ms(&self) -> Option<u64> {
        self.shared.journal().last_output_ms()
    }

    /// When the session began.
    #[must_use]
    pub fn began(&self) -> UnixMs {
        self.shared.journal().began()
    }

    /// The oldest offset in memory; what is older may be on disk.
    #[must_use]
    pub fn start(&self) -> Offset {
        self.shared.journal().start()
    }

    /// The program's process, whose id is also that of its group and of its terminal session; none of a session that
    /// was read from the disk.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.shared.tree.as_ref().map(|tree| tree.leader())
    }

    /// Running or exited, now and at each change.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<SessionState> {
        self.shared.state.subscribe()
    }

    /// Tells when the screen may look different: its title, its last line.
    #[must_use]
    pub fn changes(&self) -> Changes {
        Changes {
            drawn: self.shared.drawn.subscribe(),
        }
    }

    /// The title that the program gave its terminal; empty if none.
    #[must_use]
    pub fn title(&self) -> String {
        self.shared.screen().title().to_owned()
    }

    /// The lowest line on the screen that is not blank, without blanks at its end.
    #[must_use]
    pub fn last_line(&self) -> String {
        look::last_line(self.shared.screen().as_ref())
    }

    /// The visible screen as text, a line per row, without blanks at the ends.
    #[must_use]
    pub fn text_lines(&self) -> Vec<String> {
        self.shared.screen().text_lines()
    }

    /// A repaint of the screen's upper left part for a terminal of another size; see [`Screen::draw`].
    #[must_use]
    pub fn draw(&self, size: Size) -> Vec<u8> {
        self.shared.screen().draw(size)
    }

    /// The screen as it is now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.shared.snapshot().0
    }

    /// Ends the program and all that it started: SIGHUP and SIGTERM, SIGKILL to what is left after 5 s. Returns
    /// when all of it is gone and, where the program still ran, its end is published; going on whether or not the
    /// future is polled to its end.
    ///
    /// What it started is whoever descends from the session's reaper, also what left its group and terminal and lost
    /// its parents. What became another user's (`sudo`) can be ended only where the session has a cgroup, and is not
    /// waited for elsewhere: false is returned then.
    pub async fn stop(&self) -> bool {
        let shared = Arc::clone(&self.shared);
        let mut stopping = Box::pin(async move {
            let Some(tree) = &shared.tree else { return true };
            if !tree.stop().await {
                tracing::warn!("a session holds processes of another user, which were not ended");
                return false;
            }
            shared.until_over().await;
            true
        });
        // Begun here and now: a task of its own would begin when it is its turn, and who asked may have lost the right by then.
        let begun = poll_fn(|context| Poll::Ready(stopping.as_mut().poll(context))).await;
        if let Poll::Ready(done) = begun {
            return done;
        }
        tokio::spawn(stopping).await.unwrap_or_else(|error| {
            tracing::error!(%error, "stopping a session failed");
            false
        })
    }

    /// Kills the program and all that it started, at once; otherwise as [`stop`](Self::stop). For sessions whose keeper
    /// is gone.
    pub async fn kill(&self) {
        if let Some(tree) = &self.shared.tree {
            tree.kill().await;
        }
        self.shared.until_over().await;
    }
}

/// Wakes when a session's screen was drawn on. Several changes between two calls are one.
#[derive(Debug, Clone)]
pub struct Changes {
    drawn: watch::Receiver<Drawn>,
}

impl Changes {
    /// Waits for the next change. Never returns when the session is gone. Cancel safe.
    pub async fn changed(&mut self) {
        if self.drawn.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// What a session's tasks and handles share. No lock is held across an await, and `journal` is never locked
/// while `screen` is waited for.
pub(crate) struct Shared {
    journal: Mutex<Journal>,
    screen: Mutex<Box<dyn Screen>>,
    /// Wakes who waits for a record.
    pub(crate) output: watch::Sender<()>,
    /// Wakes who draws, behind those who wait for a record: nobody's echo waits for the screen.
    undrawn: Notify,
    pub(crate) drawn: watch::Sender<Drawn>,
    pub(crate) state: watch::Sender<SessionState>,
    /// The master's writing side; gone once the program has ended.
    control: Mutex<Option<Arc<AsyncFd<OwnedFd>>>>,
    input: mpsc::Sender<writer::Chunk>,
    input_room: Arc<Semaphore>,
    /// Answers of the screen to the program's queries, not yet written.
    replies: Mutex<Vec<u8>>,
    /// Wakes who writes to the terminal: an answer, an interrupt or a discard came.
    replied: Notify,
    /// Held from before progress of numbered input is stored until it is true; taken before `journal`.
    typing: Mutex<()>,
    /// Input that goes ahead of all other.
    interrupts: Mutex<Vec<writer::Chunk>>,
    brackets: Mutex<Brackets>,
    /// What the program said about itself last; taken before `journal`.
    said: Mutex<Said>,
    /// The last stretch of output, by the session's time; taken before `journal`.
    burst: Mutex<Option<(u64, u64)>>,
    /// None of a session that was read from the disk.
    tree: Option<Arc<Tree>>,
    store: Option<Store>,
    rebuild: Rebuild,
    /// Whether all that is kept of an ended session is on disk.
    settled: watch::Sender<bool>,
}

/// What sessions differ in when they begin here.
struct Parts {
    journal: Journal,
    control: Option<Arc<AsyncFd<OwnedFd>>>,
    input: mpsc::Sender<writer::Chunk>,
    tree: Option<Arc<Tree>>,
    store: Option<Store>,
    rebuild: Rebuild,
}

impl Shared {
    fn new(parts: Parts) -> Self {
        let Parts {
            journal,
            control,
            input,
            tree,
            store,
            rebuild,
        } = parts;
        // Before a screen is rebuilt it counts as drawn, so that what comes meanwhile is read.
        let drawn = Drawn {
            seen: journal.end(),
            ground: journal.end(),
            sizes: journal.first_size_from(Offset(u64::MAX)),
            is_begun: rebuild.is_done(),
        };
        // One that has to be drawn again is begun when it is.
        let size = match rebuild.is_done() {
            true => journal.size(),
            false => Size::new(1, 1),
        };
        let (burst, (_, said)) = (look::worked(&journal), journal.said());
        Self {
            screen: Mutex::new(Box::new(Emulator::new(size))),
            journal: Mutex::new(journal),
            output: watch::Sender::new(()),
            undrawn: Notify::new(),
            drawn: watch::Sender::new(drawn),
            state: watch::Sender::new(SessionState::Running),
            control: Mutex::new(control),
            input,
            input_room: Arc::new(Semaphore::new(writer::ROOM as usize)),
            replies: Mutex::default(),
            replied: Notify::new(),
            typing: Mutex::default(),
            interrupts: Mutex::default(),
            brackets: Mutex::default(),
            said: Mutex::new(said),
            burst: Mutex::new(burst),
            tree,
            store,
            rebuild,
            settled: watch::Sender::new(false),
        }
    }

    pub(crate) fn journal(&self) -> MutexGuard<'_, Journal> {
        lock(&self.journal)
    }

    fn screen(&self) -> MutexGuard<'_, Box<dyn Screen>> {
        lock(&self.screen)
    }

    /// The screen as it is now and how many size changes are in it.
    pub(crate) fn snapshot(&self) -> (Snapshot, u64) {
        let mut screen = self.screen();
        // Published under the screen's lock, so it belongs to what the screen shows.
        let Drawn { ground, sizes, .. } = *self.drawn.borrow();
        (
            Snapshot {
                ground,
                size: screen.size(),
                bytes: screen.snapshot(),
            },
            sizes,
        )
    }

    /// Up to where viewers may be sent output at `now`, and when the rest may go at the latest: the program is in the
    /// middle of a synchronized update.
    pub(crate) fn held(&self, now: Instant) -> Option<(Offset, Instant)> {
        lock(&self.brackets).held(now)
    }

    fn has_store(&self) -> bool {
        self.store.is_some()
    }

    fn is_settled(&self) -> bool {
        *self.settled.borrow()
    }

    /// Milliseconds since the session began.
    fn time_ms(&self) -> u64 {
        self.journal().time_ms()
    }

    /// Waits until the program's end is published, or that nobody can know it.
    async fn until_over(&self) {
        let mut state = self.state.subscribe();
        let _ = state.wait_for(|state| !state.is_running()).await;
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("process_id", &self.tree.as_ref().map(|tree| tree.leader()))
            .finish_non_exhaustive()
    }
}

/// A task that panicked leaves no half-made state behind any of these locks: each section is a few assignments.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of a journal; the reader stays within half of it of the screen.
const SMALLEST: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
