//! The terminal while one screen of ours is shown on it, and as it was afterwards, whatever happens.

mod keys;
mod signals;
mod turn;

use std::{
    io::{self, IsTerminal, Write},
    sync::{Mutex, Once, PoisonError},
};

use rustix::{
    process::{Signal, getpid, kill_process},
    stdio::stdin,
    termios::{OptionalActions, Termios, tcgetattr, tcsetattr},
};
use tokio::{io::Stdin, time::Instant};

use self::signals::Signals;
pub(crate) use self::{keys::keys, turn::Turn};
use crate::{failure::Failure, frame::Frame, output, panics};

/// The terminal with the alternate screen, without a cursor, and with keys that come one by one; dropping it restores
/// what it was.
pub(crate) struct FullScreen {
    /// What it shows.
    drawn: Option<Frame>,
    input: Stdin,
    /// Whether standard input may still say something.
    has_keys: bool,
    signals: Signals,
    /// When it is drawn next.
    due: Instant,
}

/// What has to be restored: nothing, or the modes of a keyboard if standard input is one. Taken by who restores first.
static SAVED: Mutex<Option<Option<Termios>>> = Mutex::new(None);

/// Whether panics give the terminal back first.
static ON_PANIC: Once = Once::new();

impl FullScreen {
    /// Takes the terminal, and listens to its keys, if it is to, and to signals.
    ///
    /// # Errors
    /// It cannot be set up.
    pub(crate) fn enter(has_keys: bool) -> Result<Self, Failure> {
        let signals = Signals::new()?;
        panics::restore_before(&ON_PANIC, restore);
        let screen = Self {
            drawn: None,
            input: tokio::io::stdin(),
            has_keys,
            signals,
            due: Instant::now(),
        };
        begin()?;
        Ok(screen)
    }

    /// Columns and rows now.
    #[expect(
        clippy::unused_self,
        reason = "the size is that of the terminal which this stands for"
    )]
    pub(crate) fn size(&self) -> (usize, usize) {
        let (columns, rows) = output::size().unwrap_or(FALLBACK);
        (columns.into(), rows.into())
    }

    /// Shows the frame instead of the one before.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn draw(&mut self, frame: Frame, has_colour: bool) -> io::Result<()> {
        let bytes = frame.draw_over(self.drawn.as_ref(), has_colour);
        self.drawn = Some(frame);
        if bytes.is_empty() {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(&bytes)?;
        stdout.flush()
    }

    /// Gives the terminal back until this process is continued (Ctrl-Z); everything is drawn anew then.
    ///
    /// # Errors
    /// It cannot be set up again.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        self.drawn = None;
        restore();
        kill_process(getpid(), Signal::STOP)?;
        begin()
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore();
    }
}

fn begin() -> io::Result<()> {
    let attributes = if io::stdin().is_terminal() {
        Some(tcgetattr(stdin())?)
    } else {
        None
    };
    let raw = attributes.clone().map(|mut raw| {
        raw.make_raw();
        raw
    });
    *SAVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(attributes);
    if let Some(raw) = raw {
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(ENTER)?;
    stdout.flush()
}

fn restore() {
    let Some(attributes) = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take() else {
        return;
    };
    // Where the terminal is gone there is nothing left to restore.
    let mut stdout = io::stdout().lock();
    stdout.write_all(LEAVE).and_then(|()| stdout.flush()).ok();
    if let Some(attributes) = attributes {
        tcsetattr(stdin(), OptionalActions::Now, &attributes).ok();
    }
}

/// Takes the alternate screen and hides the cursor; lines do not wrap.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?7l";
/// Ends a synchronized update and colours, and undoes what was taken.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[m\x1b[?7h\x1b[?25h\x1b[?1049l";
/// For a terminal that does not know its size.
const FALLBACK: (u16, u16) = (80, 24);
