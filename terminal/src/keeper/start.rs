//! Starting a keeper, and finding one that runs.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

/// Where a keeper is, and how one is started.
#[derive(Debug, Clone)]
pub struct KeeperOptions {
    /// Its socket, in a directory that only its owner can enter.
    pub socket: PathBuf,
    /// The executable whose `main` calls [`keep`](super::keep).
    pub program: PathBuf,
    /// The arguments with which it does.
    pub arguments: Vec<OsString>,
}

/// Connects; none where nobody listens.
pub(super) fn connect_to(path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) => Ok(Some(socket)),
        Err(Errno::NOENT | Errno::CONNREFUSED) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Starts a keeper that listens at the socket; returns once it has left this process. Blocks.
///
/// # Errors
/// When something else than a dead socket of this user's is in the way, or the system says no.
pub(super) fn start(options: &KeeperOptions) -> io::Result<()> {
    let listener = listen_at(&options.socket)?;
    let status = Command::new(&options.program)
        .arg0("transom")
        .args(&options.arguments)
        .env_clear()
        .stdin(Stdio::from(listener))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("the keeper did not start: {status}"))),
    }
}

fn listen_at(path: &Path) -> io::Result<OwnedFd> {
    remove_dead(path)?;
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::fs::chmod(path, Mode::RUSR | Mode::WUSR)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Removes our own socket that nobody listens on. Only ECONNREFUSED proves that.
fn remove_dead(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    let is_ours = found.file_type().is_socket() && found.uid() == rustix::process::geteuid().as_raw();
    if is_ours && connect_to(path)?.is_none() {
        return fs::remove_file(path);
    }
    Err(io::Error::new(
        io::ErrorKind::AddrInUse,
        format!("{} is in the way", path.display()),
    ))
}

/// Connections that wait while one is served.
const BACKLOG: i32 = 128;

#[cfg(test)]
mod tests {
    use super::{connect_to, fs, io, listen, listen_at, remove_dead};

    #[test]
    fn a_keeper_that_is_too_busy_to_take_anybody_is_not_dead() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keeper.sock");
        let live = listen_at(&path).unwrap();
        listen(&live, 0).unwrap();
        let mut waiting = Vec::new();
        let full = loop {
            match connect_to(&path) {
                Ok(socket) => waiting.push(socket.unwrap()),
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        assert!(listen_at(&path).is_err());
        rustix::net::accept(&live).unwrap();
        assert!(connect_to(&path).unwrap().is_some());
    }

    #[test]
    fn only_a_socket_that_nobody_listens_on_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keeper.sock");
        fs::write(&path, "mine").unwrap();
        assert_eq!(remove_dead(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        fs::remove_file(&path).unwrap();
        drop(listen_at(&path).unwrap());
        remove_dead(&path).unwrap();
        assert!(!path.exists());
    }
}
