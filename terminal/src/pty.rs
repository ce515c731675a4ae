//! Pseudo-terminals.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, Winsize,
};
use rustix::termios::{tcflush, tcgetattr, tcsetattr, tcsetwinsize};

use crate::size::Size;

/// Opens a terminal of the given size: its master, which does not block, and its slave. Both are closed on exec.
pub(crate) fn open(size: Size) -> io::Result<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = slave(&master)?;
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

/// Does what the terminal does when an interrupt character reaches it (termios(3), ISIG), so many times; false where it is to be
/// written instead. It is not written where it would be of no use or do harm:
///
/// - A terminal that holds as much unread input as it takes (4,095 bytes) looks at what comes behind once the program has read
///   some; `may_be_behind` says whether that can be.
/// - Where nothing is echoed, Linux drops the output on its way and wakes nobody who waits to write more. If the character comes
///   just when all before was read, who writes and does not mind SIGINT sleeps for ever, and keeps the terminal from others.
pub(crate) fn interrupt(master: &OwnedFd, times: usize, may_be_behind: bool) -> io::Result<bool> {
    let modes = tcgetattr(master)?;
    let has = |mode| modes.local_modes.contains(mode);
    if !has(LocalModes::ISIG) || has(LocalModes::EXTPROC) || has(LocalModes::ECHO) && !may_be_behind {
        return Ok(false);
    }
    let slave = slave(master)?;
    if has(LocalModes::ECHO) && !has_input(&slave)? {
        return Ok(false);
    }
    if !has(LocalModes::NOFLSH) {
        // First what did not reach it yet.
        tcflush(master, QueueSelector::OFlush)?;
        tcflush(&slave, QueueSelector::IFlush)?;
    }
    restart(master, &slave, &modes)?;
    for _ in 0..times {
        signal(master)?;
    }
    Ok(true)
}

/// Lets a terminal go on whose output somebody stopped (IXON), as an interrupt character does.
fn restart(master: &OwnedFd, slave: &OwnedFd, modes: &Termios) -> io::Result<()> {
    let start = modes.special_codes[SpecialCodeIndex::VSTART];
    if start == 0 || !modes.input_modes.contains(InputModes::IXON) {
        return Ok(());
    }
    rustix::io::write(master, &[start])?;
    // Before the program can change its modes because of the signal: then it would be input.
    has_input(slave).map(drop)
}

/// Whether there is input that a program could read, with all that was written before.
fn has_input(slave: &OwnedFd) -> io::Result<bool> {
    let mut slave = [PollFd::new(slave, PollFlags::IN)];
    // The kernel passes on what is on its way before it says no (n_tty_poll).
    poll(&mut slave, Some(&Timespec::default()))?;
    Ok(slave[0].revents().contains(PollFlags::IN))
}

/// Opens the side that programs have of a terminal.
fn slave(master: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    Ok(ioctl_tiocgptpeer(master, flags)?)
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

/// Bytes of unread input that a terminal holds (N_TTY_BUF_SIZE, less the one that it keeps free).
pub(crate) const MAX_UNREAD: usize = 4 * 1024 - 1;
/// Bytes; the most that one read of a terminal returns.
pub(crate) const READ_SIZE: usize = 4 * 1024;
/// Waits for a terminal that nobody has open, doubled each time.
pub(crate) const FIRST_RETRY: Duration = Duration::from_millis(50);
pub(crate) const LAST_RETRY: Duration = Duration::from_secs(1);
