//! Showing a session on the local terminal.
//!
//! A writer whose terminal has the session's size gets the session's own bytes, less queries: nothing is faster or
//! truer. Everybody else gets pictures of the screen that these bytes draw, cropped, with a status line.
//!
//! Pictures are drawn in the local terminal's alternate screen, always: what was there before comes back. The
//! session's own bytes go to one of two [`Stage`]s. Who attaches to a session that goes on sees it in the alternate
//! screen, as in tmux: switches of screens by the program do not pass then (see [`Filter`]), and the painter draws what
//! they would have shown. Who runs a program sees it on the primary screen, where its output stays and scrolls as if it
//! ran without us; what was there before is scrolled away first, never overwritten.

mod hearing;
mod keys;
mod leaving;
mod overlay;
mod painting;
mod status;

use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use protocol::{
    attach::{ClientMessage, Hello, Mode, ServerMessage},
    sessions,
};
use terminal::{Screen, Size};
use tokio::sync::{mpsc::UnboundedSender, oneshot};

pub(super) use self::painting::Painting;
use self::{
    painting::Pace,
    status::{line, status},
};
use super::{filter::Filter, modes::Modes};

/// What the painter is asked to do, in order.
#[derive(Debug)]
pub(super) enum Job {
    /// To show what the session sent.
    Server(ServerMessage),
    /// To go on in a terminal of this size, columns and rows.
    Local((u16, u16)),
    /// The connection is lost, and is being made anew.
    Away,
    /// The connection is there again.
    Back(Box<Hello>),
    /// So many keys were not confirmed, and are not sent again.
    Unconfirmed(usize),
    /// The person has typed, hence read what was said over the screen.
    Typed,
    /// To leave the terminal as it was before, or with what stays there; cursor below it.
    End {
        /// Whether the program ended: then its last words are shown where they would not stay.
        of_program: bool,
    },
}

/// Where the session's own bytes are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The primary screen.
    Primary,
    /// The alternate screen.
    Alternate,
}

/// What is shown where.
#[derive(Debug)]
pub(super) struct Place {
    name: String,
    mode: Mode,
    session: Size,
    local: Size,
    stage: Stage,
    /// Viewers and writers.
    present: (u32, u32),
}

impl Place {
    /// The session that was attached to, in a local terminal of so many columns and rows.
    pub(super) fn of(hello: &Hello, (columns, rows): (u16, u16), stage: Stage) -> Self {
        let session = size(hello.size);
        Self {
            name: hello.name.clone(),
            mode: hello.mode,
            session,
            local: Size::new(columns, rows),
            stage,
            present: (hello.viewers, hello.writers),
        }
    }
}

/// The painter: it alone writes to the local terminal while a session is shown.
pub(super) struct Painter<W> {
    out: W,
    place: Place,
    /// What the session's bytes turned on in the local terminal; noted before they are written.
    modes: Arc<Mutex<Modes>>,
    acks: UnboundedSender<ClientMessage>,
    filter: Filter,
    /// What the session's bytes draw, always as far as they have come.
    screen: Box<dyn Screen>,
    /// The bytes that the screen has taken in and not drawn yet: a snapshot of it needs them behind it.
    pending: Vec<u8>,
    face: Face,
    /// What of the program's modes of keys is on while pictures are shown.
    key_modes: Vec<u8>,
    /// Whether the primary screen is the session's by now: what was there before is in the scrollback.
    is_cleared: bool,
    /// Whether the notice lies over the last row of the session's own bytes.
    has_overlay: bool,
    /// Who holds the size, where it is not us.
    sized_by: Option<String>,
    /// Viewers and writers, as last told.
    present: (u32, u32),
    /// Whether the connection is lost at the moment.
    is_away: bool,
    /// Words over the screen, and until when.
    notice: Option<(String, Instant)>,
    /// Up to where the output is taken in, where that is not acknowledged yet.
    taken: Option<u64>,
    drawn_at: Option<Instant>,
    stale: bool,
    /// Whether the face must begin anew, though it stays the same.
    anew: bool,
    pace: Pace,
}

/// What the local terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Face {
    /// Still what it showed before.
    Untouched,
    /// The session's own bytes.
    Direct,
    /// Pictures of the screen.
    Pictures,
}

impl<W: Write + Send + 'static> Painter<W> {
    /// A painter that has shown nothing; acks go to `acks`.
    pub(super) fn new(
        out: W,
        modes: Arc<Mutex<Modes>>,
        place: Place,
        acks: UnboundedSender<ClientMessage>,
    ) -> Self {
        let (screen, present) = (terminal::screen(place.session), place.present);
        Self {
            out,
            place,
            modes,
            acks,
            filter: Filter::default(),
            screen,
            pending: Vec::new(),
            face: Face::Untouched,
            key_modes: Vec::new(),
            is_cleared: false,
            has_overlay: false,
            sized_by: None,
            present,
            is_away: false,
            notice: None,
            taken: None,
            drawn_at: None,
            stale: false,
            anew: false,
            pace: Pace::default(),
        }
    }

    /// Paints in a thread of its own, so that a slow terminal never holds up what is typed.
    pub(super) fn spawn(mut self, notice: String) -> (Sender<Job>, Painting) {
        self.notice = Some((notice, Instant::now() + NOTICE));
        let (jobs, queue) = mpsc::channel();
        let (done, end) = oneshot::channel();
        let pace = self.pace.clone();
        thread::spawn(move || {
            // Where the terminal is gone the jobs' channel closes, and whoever sends learns it.
            self.work(&queue).ok();
            drop(queue);
            done.send(()).ok();
        });
        (jobs, Painting::new(end, pace))
    }

    fn work(&mut self, queue: &Receiver<Job>) -> io::Result<()> {
        loop {
            let job = match self.patience() {
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(patience) => queue.recv_timeout(patience),
            };
            match job {
                Ok(Job::End { of_program }) => return self.leave(of_program),
                Err(RecvTimeoutError::Disconnected) => return self.leave(false),
                Ok(job) => self.take(job)?,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.settle()?;
        }
    }

    fn take(&mut self, job: Job) -> io::Result<()> {
        match job {
            Job::Server(ServerMessage::Output { offset, bytes }) => {
                self.taken = Some(offset + bytes.len() as u64);
                if self.face == Face::Direct {
                    self.lift_overlay()?;
                    self.write_through(&bytes)?;
                    self.anew |= self.filter.take_lack();
                }
                self.feed(&bytes);
            }
            Job::Server(ServerMessage::Snapshot {
                ground,
                size: shown,
                bytes,
            }) => {
                self.taken = Some(ground);
                self.screen = terminal::screen(size(shown));
                self.pending.clear();
                self.feed(&bytes);
                self.repaint_all();
            }
            Job::Server(ServerMessage::Size { size: new, claim, .. }) => {
                self.claimed(claim);
                if size(new) != self.screen.size() {
                    self.screen.resize(size(new));
                    self.repaint_all();
                }
                self.stale = true;
            }
            Job::Server(
                message @ (ServerMessage::Hello(_)
                | ServerMessage::Presence(_)
                | ServerMessage::Exit(_)
                | ServerMessage::InputApplied { .. }
                | ServerMessage::Pong { .. }),
            ) => self.hear(&message),
            Job::End { .. } => {}
            Job::Away => self.away(),
            Job::Back(hello) => self.back(&hello),
            Job::Unconfirmed(keys) => self.given_up(keys),
            Job::Local((columns, rows)) => {
                self.place.local = Size::new(columns, rows);
                self.repaint_all();
            }
            Job::Typed => self.unsay(),
        }
        Ok(())
    }

    /// Makes the terminal show what it should, as often as an eye can tell, and acknowledges what it shows.
    fn settle(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if self.notice.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.unsay();
        }
        let face = self.wanted();
        let begins = self.face != face || self.anew;
        match face {
            Face::Direct => {
                if begins {
                    self.begin_direct()?;
                }
                self.settle_overlay()?;
            }
            Face::Pictures if begins => {
                self.begin_pictures()?;
                self.picture(now)?;
            }
            Face::Pictures if self.stale => {
                if self.drawn_at.is_some_and(|drawn| now < drawn + FRAME) {
                    return Ok(());
                }
                self.picture(now)?;
            }
            Face::Pictures | Face::Untouched => {}
        }
        if let Some(offset) = self.taken.take() {
            self.acks.send(ClientMessage::Ack { offset }).ok();
        }
        Ok(())
    }

    fn wanted(&self) -> Face {
        let fits = self.place.mode == Mode::Write && self.place.local == self.screen.size() && !self.is_away;
        if fits && (self.notice.is_none() || self.place.stage == Stage::Primary) {
            Face::Direct
        } else {
            Face::Pictures
        }
    }

    /// How long until something has to be done without a job.
    fn patience(&self) -> Option<Duration> {
        let notice = self.notice.as_ref().map(|(_, until)| *until);
        let frame = self
            .drawn_at
            .filter(|_| self.stale && self.face == Face::Pictures)
            .map(|drawn| drawn + FRAME);
        let next = notice.into_iter().chain(frame).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.screen.feed(bytes);
        // The daemon's screen answers the program.
        drop(self.screen.take_replies());
        self.pending.extend_from_slice(bytes);
        let settled = self.pending.len().saturating_sub(self.screen.pending());
        self.pending.drain(..settled);
        self.stale = true;
    }

    /// Has the face begin anew at the next occasion.
    fn repaint_all(&mut self) {
        self.anew = true;
        self.drawn_at = None;
    }

    fn begin_direct(&mut self) -> io::Result<()> {
        self.clear(self.place.stage)?;
        let snapshot = self.screen.snapshot();
        let pending = std::mem::take(&mut self.pending);
        self.filter = Filter::default();
        self.face = Face::Direct;
        self.write_through(&snapshot)?;
        // It draws what its own switches leave out.
        self.filter.take_lack();
        self.write(END_UPDATE)?;
        self.write_through(&pending)?;
        self.anew |= self.filter.take_lack();
        self.pending = pending;
        self.stale = false;
        Ok(())
    }

    fn begin_pictures(&mut self) -> io::Result<()> {
        self.clear(Stage::Alternate)?;
        self.face = Face::Pictures;
        self.key_modes.clear();
        self.stale = true;
        self.out.write_all(END_UPDATE)
    }

    /// An empty terminal without modes, within an update that the caller ends; of the primary screen, what was there
    /// before the session goes to the scrollback.
    fn clear(&mut self, stage: Stage) -> io::Result<()> {
        let mut modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = BEGIN_UPDATE.to_vec();
        if stage == Stage::Alternate {
            bytes.extend(modes.begin_anew());
            if !modes.is_ours() {
                bytes.extend_from_slice(modes.enter());
            }
        } else {
            bytes.extend(modes.restore());
            *modes = Modes::default();
            if !self.is_cleared {
                bytes.extend(std::iter::repeat_n(b'\n', usize::from(self.place.local.rows())));
            }
            self.is_cleared = true;
        }
        drop(modes);
        // The cursor that a session saved before is none that this one saved.
        bytes.extend_from_slice(b"\x1b[r\x1b[H\x1b7\x1b[J");
        self.anew = false;
        self.has_overlay = false;
        self.out.write_all(&bytes)
    }

    /// Writes in pieces, so that a slow terminal's backlog can be given up for the last screen.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(PIECE) {
            if self.pace.is_stopped() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if self.pace.is_hurried() {
                self.anew = true;
                return Ok(());
            }
            self.out.write_all(piece)?;
        }
        Ok(())
    }

    fn reset(&mut self) -> Vec<u8> {
        let mut modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = modes.restore();
        *modes = Modes::default();
        bytes
    }

    fn write_through(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut passed = Vec::with_capacity(bytes.len());
        let mut modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        self.filter.pass(bytes, &mut modes, &mut passed);
        drop(modes);
        self.write(&passed)
    }

    fn picture(&mut self, now: Instant) -> io::Result<()> {
        if self.screen.is_held() && self.drawn_at.is_some_and(|drawn| now >= drawn + HELD) {
            self.screen.release();
        }
        let notice = self.notice.as_ref().map(|(words, _)| words.as_str());
        let status = if self.is_away {
            line(&self.place, AWAY)
        } else {
            status(&self.place, self.screen.size(), self.sized_by.as_deref(), notice)
        };
        let local = self.place.local;
        let mut frame = [BEGIN_UPDATE, b"\x1b[?25l"].concat();
        frame.extend(self.take_key_modes());
        frame.extend(self.screen.draw(self.picture_size()));
        if local.rows() > 1 {
            frame.extend(format!("\x1b7\x1b[{};1H\x1b[0;7m{status}\x1b[0m\x1b8", local.rows()).bytes());
        }
        frame.extend_from_slice(END_UPDATE);
        self.out.write_all(&frame)?;
        self.stale = false;
        self.drawn_at = Some(now);
        Ok(())
    }

    /// The local terminal less the status line.
    fn picture_size(&self) -> Size {
        let local = self.place.local;
        Size::new(local.columns(), local.rows().saturating_sub(1))
    }
}

fn size(size: sessions::Size) -> Size {
    Size::new(size.columns, size.rows)
}

/// What is said while the connection is lost.
const AWAY: &str = "reconnecting…; Ctrl-\\ then d detaches";
/// Between two pictures: 30 in a second look alive, and leave a slow link to the keys.
const FRAME: Duration = Duration::from_millis(33);
/// How long a synchronized update may hold a picture back.
const HELD: Duration = Duration::from_millis(200);
/// How long the words over the first screen stay if nothing is typed.
const NOTICE: Duration = Duration::from_secs(2);
/// A synchronized update: the terminal shows what is drawn meanwhile at its end.
const BEGIN_UPDATE: &[u8] = b"\x1b[?2026h";
const END_UPDATE: &[u8] = b"\x1b[?2026l";
/// Bytes written at once: what a slow terminal takes in a moment.
const PIECE: usize = 4096;

#[cfg(test)]
mod tests;
