//! The local terminal: raw while a session is shown in it, and as it was afterwards, whatever happens.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    stdio::{stdin, stdout},
    termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr},
};

use super::modes::Modes;
use crate::{failure::Failure, output, panics};

/// The local terminal in raw mode; dropping it restores what it was.
#[derive(Debug)]
pub(super) struct LocalTerminal(());

/// What has to be restored, if anything: written by [`LocalTerminal::enter`], taken by whoever restores first.
static SAVED: Mutex<Option<Saved>> = Mutex::new(None);

/// Whether panics give the terminal back first.
static ON_PANIC: Once = Once::new();

struct Saved {
    attributes: Termios,
    modes: Arc<Mutex<Modes>>,
}

impl LocalTerminal {
    /// Makes the terminal raw. What the session turns on is noted in `modes` before it is written.
    pub(super) fn enter(modes: Arc<Mutex<Modes>>) -> Result<Self, Failure> {
        let attributes = tcgetattr(stdin()).map_err(io::Error::from)?;
        let mut raw = attributes.clone();
        raw.make_raw();
        *locked(&SAVED) = Some(Saved { attributes, modes });
        panics::restore_before(&ON_PANIC, restore);
        let terminal = Self(());
        tcsetattr(stdin(), OptionalActions::Now, &raw).map_err(io::Error::from)?;
        write_all(PUSH_TITLE)?;
        Ok(terminal)
    }

    /// Columns and rows now.
    #[expect(
        clippy::unused_self,
        reason = "the size is that of the terminal which this stands for"
    )]
    pub(super) fn size(&self) -> (u16, u16) {
        output::size().unwrap_or(FALLBACK)
    }
}

impl Drop for LocalTerminal {
    fn drop(&mut self) {
        restore();
    }
}

/// The local terminal as a place to write to, past the standard library's line buffer and its lock.
pub(super) struct Screen;

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(stdout(), bytes) {
                // Somebody who shares the terminal made it non-blocking.
                Err(Errno::AGAIN) => drop(poll(
                    &mut [PollFd::from_borrowed_fd(stdout(), PollFlags::OUT)],
                    None,
                )),
                Err(Errno::INTR) => {}
                other => return other.map_err(io::Error::from),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn restore() {
    let Some(Saved { attributes, modes }) = locked(&SAVED).take() else {
        return;
    };
    let modes = locked(&modes);
    let mut bytes = SEQUENCE_END.to_vec();
    bytes.extend(modes.restore());
    bytes.extend_from_slice(ALWAYS);
    // Where the terminal is gone there is nothing left to restore, and one that takes nothing must not keep us.
    if poll(
        &mut [PollFd::from_borrowed_fd(stdout(), PollFlags::OUT)],
        Some(&PATIENCE),
    )
    .is_ok_and(|ready| ready > 0)
    {
        write_all(&bytes).ok();
    }
    if modes.reports() {
        // Reports on their way would be typed into the shell.
        tcflush(stdin(), QueueSelector::IFlush).ok();
    }
    tcsetattr(stdin(), OptionalActions::Now, &attributes).ok();
}

fn write_all(bytes: &[u8]) -> io::Result<()> {
    Screen.write_all(bytes)
}

/// A panic while the lock was held leaves nothing half done here: each holder replaces values whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const PUSH_TITLE: &[u8] = b"\x1b[22;0t";
/// Ends whatever sequence was cut off (ST ends strings, and abandons what is no string).
const SEQUENCE_END: &[u8] = b"\x1b\\";
/// Ends a synchronized update, shows the cursor, pops the title.
const ALWAYS: &[u8] = b"\x1b[?2026l\x1b[?25h\x1b[23;0t";
/// How long the terminal may take until it takes anything at all.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
/// For a terminal that does not know its size.
const FALLBACK: (u16, u16) = (80, 24);
