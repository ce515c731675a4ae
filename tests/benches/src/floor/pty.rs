//! A terminal with a program on it, and nothing else.

use std::{
    fs::File,
    io::Write,
    os::fd::OwnedFd,
    process::{Child, Command},
};

use anyhow::{Context, Result};
use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use super::Ready;

/// Starts the program on a terminal of the session's default size.
pub(crate) fn spawn(words: &[String]) -> Result<(OwnedFd, Child)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let slave = open(
        name.as_c_str(),
        OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let size = Winsize {
        ws_row: 30,
        ws_col: 100,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&slave, size)?;
    let (program, arguments) = words.split_first().context("a program has a name")?;
    let child = Command::new(program)
        .args(arguments)
        .env("TERM", "xterm-256color")
        .stdin(slave.try_clone()?)
        .stdout(slave.try_clone()?)
        .stderr(slave)
        .spawn()?;
    Ok((master, child))
}

/// Reads the terminal to its end, throws the bytes away, and says how many they were.
pub(super) fn discard(words: &[String]) -> Result<()> {
    let (master, mut child) = spawn(words)?;
    println!("{}", serde_json::to_string(&Ready::default())?);
    let mut buffer = vec![0; 64 * 1024];
    let mut bytes = 0u64;
    loop {
        match rustix::io::read(&master, &mut buffer) {
            // No process has the terminal open any more.
            Ok(0) | Err(Errno::IO) => break,
            Ok(length) => bytes += length as u64,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    println!("{bytes}");
    child.wait()?;
    Ok(())
}

/// The terminal for reading and writing without waiting.
pub(super) fn nonblocking(master: &OwnedFd) -> Result<()> {
    rustix::io::ioctl_fionbio(master, true)?;
    Ok(())
}

/// Writes what is typed; a terminal that takes no more loses it, which no figure does.
pub(super) fn write(master: &OwnedFd, bytes: &[u8]) -> Result<()> {
    Ok(File::from(master.try_clone()?).write_all(bytes)?)
}
