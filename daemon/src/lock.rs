//! Who is the daemon of a state directory: a kernel lock says it, a pid file never does.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{FlockOperation, OFlags, flock},
    io::Errno,
};

/// Held for the daemon's life; the kernel lets it go with the process, unless that [passes it on](Self::to_pass_on).
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Who holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Nobody: no daemon runs.
    Nobody,
    /// This process.
    Process(u32),
    /// Somebody whom the kernel does not name here, as from within another container.
    Unseen,
}

/// Why this process is not the daemon.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds the lock.
    #[error("a daemon already runs with the state directory {0}")]
    AlreadyRunning(String),
    /// The system said no.
    #[error("{path} cannot be used: {source}")]
    Io {
        /// The file.
        path: String,
        /// The system's words.
        source: io::Error,
    },
}

impl LockError {
    /// What to do now.
    pub fn hint(&self) -> String {
        match self {
            Self::AlreadyRunning(_) => {
                "`transom status` shows it; set TRANSOM_DIR to run another beside it".to_owned()
            }
            Self::Io { .. } => "check the path, its owner and the free space".to_owned(),
        }
    }
}

impl Lock {
    /// Takes the lock for a daemon: the one that this process was [passed](Self::to_pass_on), if it was. Waits for a moment where
    /// no daemon serves and it is held all the same: whoever did something to the store while none was there is done at once.
    ///
    /// # Errors
    /// As [`Lock::take`].
    pub fn take_to_serve(path: &Path, socket: &Path) -> Result<Self, LockError> {
        if let Some(passed) = Self::passed_on(path) {
            return Ok(passed);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            match Self::take(path) {
                Err(LockError::AlreadyRunning(_)) if !socket.exists() && Instant::now() < deadline => {
                    thread::sleep(LOOK);
                }
                taken => return taken,
            }
        }
    }

    /// Takes the lock, without waiting.
    ///
    /// # Errors
    /// [`LockError::AlreadyRunning`] where another process holds it.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Io {
            path: path.display().to_string(),
            source,
        };
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(PLAIN.bits().cast_signed())
            .open(path)
            .map_err(failed)?;
        let take = || flock(&file, FlockOperation::NonBlockingLockExclusive);
        // Whoever only looks whether it is held has it for microseconds.
        let taken = take().or_else(|_| {
            thread::sleep(LOOK);
            take()
        });
        match taken {
            // Whoever had it may have removed its file, in whose place there may be another one: that is not the lock.
            Ok(()) if !is_at(&file, path).map_err(failed)? => Self::take(path),
            Ok(()) => Ok(Self { file }),
            Err(Errno::WOULDBLOCK) => Err(LockError::AlreadyRunning(
                path.parent().unwrap_or(path).display().to_string(),
            )),
            Err(errno) => Err(failed(errno.into())),
        }
    }

    /// Who holds the lock, without making its file.
    ///
    /// # Errors
    /// Where the file cannot be looked at.
    pub fn holder(path: &Path) -> io::Result<Holder> {
        let flags = PLAIN.bits().cast_signed();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Holder::Nobody),
            Err(error) => return Err(error),
        };
        // Shared, and for microseconds: nobody else who looks is in the way of that.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(Holder::Nobody),
            Err(Errno::WOULDBLOCK) => {
                let there = file.metadata()?;
                let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
                Ok(holder_in(&locks, there.dev(), there.ino()).map_or(Holder::Unseen, Holder::Process))
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// The lock as the standard input of what this process executes in its own place: it is free at no moment between. A lock is
    /// of the open file, not of the process (flock(2)).
    ///
    /// # Errors
    /// Where there is no descriptor left.
    pub(crate) fn to_pass_on(&self) -> io::Result<Stdio> {
        Ok(self.file.try_clone()?.into())
    }

    /// The lock that this process has in place of its standard input, which is empty from then on.
    fn passed_on(path: &Path) -> Option<Self> {
        let file = File::from(rustix::stdio::stdin().try_clone_to_owned().ok()?);
        if !is_at(&file, path).ok()? {
            return None;
        }
        // Of an open file that has the lock already, that changes nothing.
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        if let Ok(empty) = File::open("/dev/null") {
            rustix::stdio::dup2_stdin(&empty).ok();
        }
        Some(Self { file })
    }
}

/// Whether a path still names an open file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        there => there?,
    };
    let open = file.metadata()?;
    Ok((open.dev(), open.ino()) == (there.dev(), there.ino()))
}

/// The process that has such a lock on a file, as the kernel lists them (proc_locks(5)).
fn holder_in(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let device = format!(
        "{:02x}:{:02x}",
        rustix::fs::major(device),
        rustix::fs::minor(device)
    );
    let holders = locks.lines().filter_map(|line| {
        // `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`; one with an arrow behind its number waits.
        let [_, "FLOCK", _, _, pid, file, ..] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return None;
        };
        let (at, number) = file.rsplit_once(':')?;
        let is_it = number.parse() == Ok(inode);
        Some((at == device, pid.parse().ok().filter(|pid| *pid > 0)?)).filter(|_| is_it)
    });
    // Some file systems tell another device than the kernel goes by.
    holders.max_by_key(|(is_at, _)| *is_at).map(|(_, pid)| pid)
}

/// How long something may take that is done to the store without a daemon.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);
/// Opens no link, and waits for nobody where a pipe is in the file's place.
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK);

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::{Holder, Lock, LockError, holder_in};

    #[test]
    fn who_holds_the_lock_is_seen_and_nothing_is_made_by_looking() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transom.lock");
        assert_eq!(Lock::holder(&path).unwrap(), Holder::Nobody);
        assert!(!path.exists());
        let held = Lock::take(&path).unwrap();
        assert_eq!(Lock::holder(&path).unwrap(), Holder::Process(std::process::id()));
        drop(held);
        assert_eq!(Lock::holder(&path).unwrap(), Holder::Nobody);
    }

    #[test]
    fn the_lock_of_another_file_is_not_taken_for_it() {
        let locks = "1: FLOCK  ADVISORY  WRITE 4 08:01:77 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 5 08:02:77 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 6 08:02:77 0 EOF\n\
                     3: -> FLOCK  ADVISORY  WRITE 7 08:02:77 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 8 08:02:78 0 EOF\n";
        let device = rustix::fs::makedev(8, 2);
        assert_eq!(holder_in(locks, device, 77), Some(6));
        assert_eq!(holder_in(locks, device, 78), Some(8));
        assert_eq!(holder_in(locks, device, 79), None);
    }

    #[test]
    fn a_pipe_in_the_place_of_the_lock_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transom.lock");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(matches!(Lock::take(&path), Err(LockError::Io { .. })));
    }

    #[test]
    fn only_one_holds_the_lock_and_the_next_gets_it_after() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transom.lock");
        let first = Lock::take(&path).unwrap();
        assert!(matches!(Lock::take(&path), Err(LockError::AlreadyRunning(_))));
        drop(first);
        Lock::take(&path).unwrap();
    }

    #[test]
    fn a_daemon_waits_for_who_does_without_one_and_not_for_another_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let (path, socket) = (folder.path().join("transom.lock"), folder.path().join("socket"));
        let held = Lock::take(&path).unwrap();
        let waiting = {
            let (path, socket) = (path.clone(), socket.clone());
            std::thread::spawn(move || Lock::take_to_serve(&path, &socket).map(drop))
        };
        assert!(matches!(Lock::take(&path), Err(LockError::AlreadyRunning(_))));
        drop(held);
        waiting.join().unwrap().unwrap();
        std::fs::write(&socket, "").unwrap();
        let _held = Lock::take(&path).unwrap();
        let refused = Lock::take_to_serve(&path, &socket);
        assert!(matches!(refused, Err(LockError::AlreadyRunning(_))));
    }
}
