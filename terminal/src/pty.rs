//! Pseudo-terminals.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{InputModes, LocalModes, OptionalActions, QueueSelector, Winsize};
use rustix::termios::{tcflush, tcgetattr, tcsetattr, tcsetwinsize};

use crate::size::Size;

/// Opens a terminal of the given size: its master, which does not block, and its slave. Both are closed on exec.
pub(crate) fn open(size: Size) -> io::Result<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(
        &master,
        OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC,
    )?;
    // Erasing a character of several bytes in a line erases all of them.
    let mut modes = tcgetattr(&slave)?;
    modes.input_modes |= InputModes::IUTF8;
    tcsetattr(&slave, OptionalActions::Now, &modes)?;
    resize(&master, size)?;
    let flags = rustix::fs::fcntl_getfl(&master)?;
    rustix::fs::fcntl_setfl(&master, flags | OFlags::NONBLOCK)?;
    Ok((master, slave))
}

/// Gives the terminal another size; its foreground processes get SIGWINCH if it is another.
pub(crate) fn resize(master: impl AsFd, size: Size) -> io::Result<()> {
    let size = Winsize {
        ws_row: size.rows(),
        ws_col: size.columns(),
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(master, size)?)
}

/// Does what the terminal does when an interrupt character reaches it (termios(3), ISIG), which one that is full of
/// unread input cannot: drops what was typed before, unless NOFLSH is set, and sends SIGINT to its foreground processes.
///
/// # Errors
/// `WouldBlock` where the terminal makes no signals now.
pub(crate) fn interrupt(master: &OwnedFd) -> io::Result<()> {
    let modes = tcgetattr(master)?.local_modes;
    if !modes.contains(LocalModes::ISIG) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    if !modes.contains(LocalModes::NOFLSH) {
        tcflush(master, QueueSelector::OFlush)?;
    }
    signal(master)
}

#[expect(unsafe_code, reason = "rustix has no TIOCSIG")]
fn signal(master: &OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is open, and TIOCSIG takes a number, no pointer (ioctl_tty(2)).
    let result = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSIG, libc::SIGINT) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Bytes; the most that one read of a terminal returns.
pub(crate) const READ_SIZE: usize = 4 * 1024;
/// Waits for a terminal that nobody has open, doubled each time.
pub(crate) const FIRST_RETRY: Duration = Duration::from_millis(50);
pub(crate) const LAST_RETRY: Duration = Duration::from_secs(1);
