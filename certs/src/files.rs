//! Files that only their owner may touch: 0600 from the moment they exist, opened without following links.
//!
//! The umask can only take rights away at creation; what it took is given back to the owner on the open descriptor, so
//! there is no moment at which the group or the world could open one of these files.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
    process::geteuid,
};
use zeroize::Zeroizing;

/// Why a private file or directory was refused.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is a link, a socket or anything else than the plain file or directory that it must be.
    #[error("{} is not a plain {expected}; move it away", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// `file` or `directory`.
        expected: &'static str,
    },
    /// It belongs to another user.
    #[error("{} belongs to uid {owner}, not to this user", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Its mode is not the one that it was made with.
    #[error("{} has mode {mode:04o}; it must be {wanted:04o}: chmod {wanted:o} it after finding out who could read it", path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// The mode it has.
        mode: u32,
        /// The mode it must have.
        wanted: u32,
    },
    /// Others than its owner and its group can read or change it.
    #[error("{} holds a key that every user of this machine can open: chmod o= it", path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// It is far larger than what it should hold.
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
}

/// Reads a private file whole; `None` where there is none.
///
/// # Errors
/// When it is a link, has another owner or mode, is larger than 64 KiB, or cannot be read.
pub fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, FileError> {
    let Some(file) = open(path, OFlags::RDONLY)? else {
        return Ok(None);
    };
    read_whole(path, file).map(Some)
}

/// Reads a file that somebody else keeps, such as a certificate of the user's own, by links too; of one that holds a key it is
/// refused that everybody may open it.
///
/// # Errors
/// When it is not there, no plain file, larger than 64 KiB, or open to everybody though it holds a key.
pub fn read_foreign(path: &Path, has_key: bool) -> Result<Zeroizing<Vec<u8>>, FileError> {
    // NONBLOCK: a FIFO must not wait for a writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| failed(path, errno.into()))?;
    let stat = rustix::fs::fstat(&file).map_err(|errno| failed(path, errno.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(FileError::Kind {
            path: path.to_owned(),
            expected: "file",
        });
    }
    if has_key && Mode::from_raw_mode(stat.st_mode).intersects(Mode::RWXO) {
        return Err(FileError::Open {
            path: path.to_owned(),
        });
    }
    read_whole(path, file)
}

/// Checks that a private file is what it must be; `false` where there is none.
///
/// # Errors
/// When it is a link, or has another owner or mode.
pub fn check(path: &Path) -> Result<bool, FileError> {
    // PATH: a file that this process has locked stays so, though closing any other of its descriptors unlocks it (fcntl(2)).
    Ok(open(path, OFlags::PATH)?.is_some())
}

/// Writes a new private file whole: it appears under its name complete and synced, or not at all.
///
/// # Errors
/// When something is there already, or the system says no.
pub fn create(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    publish(&filled(path, bytes)?, path)
}

/// Writes a private file whole in the place of what was there, in one step: after a crash it is the former or the new one.
///
/// # Errors
/// When what is there is a link or has another owner or mode, or the system says no.
pub fn overwrite(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    check(path)?;
    let partial = filled(path, bytes)?;
    rustix::fs::rename(&partial, path).map_err(|errno| failed(path, errno.into()))?;
    sync_directory(folder_of(path))
}

/// Gives a private file the name of another, which is no more, in one step.
///
/// # Errors
/// When one of them is a link or has another owner or mode, or the system says no.
pub fn supersede(file: &Path, path: &Path) -> Result<(), FileError> {
    check(file)?;
    check(path)?;
    rustix::fs::rename(file, path).map_err(|errno| failed(path, errno.into()))?;
    sync_directory(folder_of(path))
}

/// Removes a file for good, whatever it is; where there is none, nothing is done.
///
/// # Errors
/// When the system says no.
pub fn remove(path: &Path) -> Result<(), FileError> {
    match rustix::fs::unlink(path) {
        Ok(()) => sync_directory(folder_of(path)),
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(failed(path, errno.into())),
    }
}

/// Has a file or directory that is there already last under its name, whatever it is and whoever made it: whoever did may have
/// failed after it had the name.
///
/// # Errors
/// When the system says no, also where there is nothing.
pub fn sync(path: &Path) -> Result<(), FileError> {
    let found = path.symlink_metadata().map_err(|source| failed(path, source))?;
    // Of anything else there is nothing but the name.
    if found.is_file() {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        rustix::fs::open(path, flags, Mode::empty())
            .and_then(rustix::fs::fsync)
            .map_err(|errno| failed(path, errno.into()))?;
    }
    sync_directory(folder_of(path))
}

/// Opens a new, empty private file to be filled and then given its name by [`publish`]; a leftover of a crash is removed.
///
/// # Errors
/// When the system says no.
pub fn create_partial(path: &Path) -> Result<File, FileError> {
    match rustix::fs::unlink(path) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(failed(path, errno.into())),
    }
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, FILE_MODE).map_err(|errno| failed(path, errno.into()))?;
    rustix::fs::fchmod(&file, FILE_MODE).map_err(|errno| failed(path, errno.into()))?;
    Ok(File::from(file))
}

/// Gives a synced file its final name, never replacing anything, and syncs the directory.
///
/// # Errors
/// When something has that name already, or the system says no.
pub fn publish(partial: &Path, path: &Path) -> Result<(), FileError> {
    match rustix::fs::renameat_with(CWD, partial, CWD, path, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        // A file system without that flag: a hard link refuses to replace as well.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::link(partial, path).map_err(|errno| failed(path, errno.into()))?;
            rustix::fs::unlink(partial).map_err(|errno| failed(partial, errno.into()))?;
        }
        Err(errno) => return Err(failed(path, errno.into())),
    }
    sync_directory(folder_of(path))
}

/// Where a file is: a bare name is in the working directory.
fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// The name under which a file is filled before [`publish`].
pub fn partial(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    path.with_file_name(name)
}

/// Makes a directory that only its owner may enter, or checks one that is there: 0700, ours, no link.
///
/// # Errors
/// When it is anything else, or the system says no.
pub fn directory(path: &Path) -> Result<(), FileError> {
    let made = match rustix::fs::mkdir(path, DIRECTORY_MODE) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(failed(path, errno.into())),
    };
    if made {
        // The umask may have taken the owner's own rights, without which the directory could not even be opened.
        rustix::fs::chmod(path, DIRECTORY_MODE).map_err(|errno| failed(path, errno.into()))?;
        sync_directory(folder_of(path))?;
    }
    match check_directory(path)? {
        true => Ok(()),
        false => Err(failed(path, Errno::NOENT.into())),
    }
}

/// Checks that a directory is what [`directory`] makes; `false` where there is none.
///
/// # Errors
/// When it is anything else, or the system says no.
pub fn check_directory(path: &Path) -> Result<bool, FileError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Ok(false),
        Err(Errno::LOOP | Errno::NOTDIR) => {
            return Err(FileError::Kind {
                path: path.to_owned(),
                expected: "directory",
            });
        }
        Err(errno) => return Err(failed(path, errno.into())),
    };
    let stat = rustix::fs::fstat(&directory).map_err(|errno| failed(path, errno.into()))?;
    ours(path, &stat, DIRECTORY_MODE).map(|()| true)
}

/// Fills and syncs the file that becomes `path`.
fn filled(path: &Path, bytes: &[u8]) -> Result<PathBuf, FileError> {
    let partial = partial(path);
    let mut file = create_partial(&partial)?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(|source| failed(&partial, source))?;
    Ok(partial)
}

fn read_whole(path: &Path, file: OwnedFd) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(READ_LIMIT as usize));
    File::from(file)
        .take(READ_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| failed(path, source))?;
    if bytes.len() as u64 > READ_LIMIT {
        return Err(FileError::TooLarge {
            path: path.to_owned(),
            limit: READ_LIMIT,
        });
    }
    Ok(bytes)
}

fn open(path: &Path, flags: OFlags) -> Result<Option<OwnedFd>, FileError> {
    // NONBLOCK: opening a FIFO that somebody put there must not wait for a writer.
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::NXIO) => {
            return Err(FileError::Kind {
                path: path.to_owned(),
                expected: "file",
            });
        }
        Err(errno) => return Err(failed(path, errno.into())),
    };
    let stat = rustix::fs::fstat(&file).map_err(|errno| failed(path, errno.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(FileError::Kind {
            path: path.to_owned(),
            expected: "file",
        });
    }
    ours(path, &stat, FILE_MODE)?;
    Ok(Some(file))
}

fn ours(path: &Path, stat: &Stat, wanted: Mode) -> Result<(), FileError> {
    if stat.st_uid != geteuid().as_raw() {
        return Err(FileError::Owner {
            path: path.to_owned(),
            owner: stat.st_uid,
        });
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if mode != wanted {
        return Err(FileError::Mode {
            path: path.to_owned(),
            mode: mode.as_raw_mode(),
            wanted: wanted.as_raw_mode(),
        });
    }
    Ok(())
}

fn sync_directory(path: &Path) -> Result<(), FileError> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| failed(path, source))
}

fn failed(path: &Path, source: io::Error) -> FileError {
    FileError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Bytes: a key or a small certificate chain takes a few hundred.
const READ_LIMIT: u64 = 64 * 1024;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
const DIRECTORY_MODE: Mode = Mode::RWXU;

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    };

    use super::{
        FileError, check, check_directory, create, create_partial, directory, overwrite, partial, read, sync,
    };

    fn mode(path: &std::path::Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_new_file_is_private_and_reads_back() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        create(&path, b"secret").unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(read(&path).unwrap().unwrap().as_slice(), b"secret");
        assert!(!partial(&path).exists());
    }

    #[test]
    fn an_absent_file_is_absent_and_no_error() {
        let home = tempfile::tempdir().unwrap();
        assert!(read(&home.path().join("key")).unwrap().is_none());
        assert!(!check(&home.path().join("key")).unwrap());
    }

    #[test]
    fn a_file_that_is_there_is_never_replaced() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        create(&path, b"first").unwrap();
        assert!(matches!(create(&path, b"second"), Err(FileError::Io { .. })));
        assert_eq!(read(&path).unwrap().unwrap().as_slice(), b"first");
    }

    #[test]
    fn a_removed_file_is_gone_and_removing_it_again_is_no_error() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("lockdown");
        create(&path, b"").unwrap();
        super::remove(&path).unwrap();
        assert!(!path.exists());
        super::remove(&path).unwrap();
    }

    #[test]
    fn what_is_there_is_synced_whatever_it_is_and_what_is_not_or_cannot_be_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let (file, link, folder) = (
            home.path().join("file"),
            home.path().join("link"),
            home.path().join("folder"),
        );
        fs::write(&file, "").unwrap();
        symlink("nowhere", &link).unwrap();
        fs::create_dir(&folder).unwrap();
        for path in [&file, &link, &folder] {
            sync(path).unwrap();
        }
        assert!(sync(&home.path().join("nothing")).is_err());
        // A file system that lasts for nobody: fsync(2) is EINVAL there.
        assert!(matches!(
            sync(std::path::Path::new("/proc/self/status")),
            Err(FileError::Io { .. })
        ));
    }

    #[test]
    fn the_leftover_of_a_crash_does_not_stop_a_new_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        fs::write(partial(&path), b"half").unwrap();
        create(&path, b"whole").unwrap();
        assert_eq!(read(&path).unwrap().unwrap().as_slice(), b"whole");
    }

    #[test]
    fn a_file_is_overwritten_whole_and_stays_private() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        create(&path, b"former").unwrap();
        overwrite(&path, b"new").unwrap();
        assert_eq!(read(&path).unwrap().unwrap().as_slice(), b"new");
        assert_eq!(mode(&path), 0o600);
        assert!(!partial(&path).exists());
    }

    #[test]
    fn a_crash_while_a_file_is_overwritten_leaves_the_former_one() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        create(&path, b"former").unwrap();
        // What stands there when the writer is killed before it gives the file its name.
        let mut half = create_partial(&partial(&path)).unwrap();
        std::io::Write::write_all(&mut half, b"ne").unwrap();
        assert_eq!(read(&path).unwrap().unwrap().as_slice(), b"former");
        overwrite(&path, b"new").unwrap();
        assert_eq!(read(&path).unwrap().unwrap().as_slice(), b"new");
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        create(&path, b"secret").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(read(&path), Err(FileError::Mode { mode: 0o640, .. })));
    }

    #[test]
    fn a_link_is_refused_even_to_a_good_file() {
        let home = tempfile::tempdir().unwrap();
        create(&home.path().join("key"), b"secret").unwrap();
        symlink(home.path().join("key"), home.path().join("link")).unwrap();
        assert!(matches!(
            read(&home.path().join("link")),
            Err(FileError::Kind { .. })
        ));
    }

    #[test]
    fn a_file_of_another_owner_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        create(&path, b"secret").unwrap();
        // Only root can give a file away: elsewhere the same check is seen on a file of root's.
        if chown(&path, Some(12_345), None).is_ok() {
            assert!(matches!(read(&path), Err(FileError::Owner { owner: 12_345, .. })));
        } else {
            assert!(matches!(
                read(std::path::Path::new("/etc/passwd")),
                Err(FileError::Owner { owner: 0, .. })
            ));
        }
    }

    #[test]
    fn a_directory_is_private_and_an_open_one_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("keys");
        directory(&path).unwrap();
        directory(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(directory(&path), Err(FileError::Mode { .. })));
    }

    #[test]
    fn a_directory_that_is_only_looked_at_is_not_made() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("keys");
        assert!(!check_directory(&path).unwrap() && !path.exists());
        directory(&path).unwrap();
        assert!(check_directory(&path).unwrap());
        fs::write(home.path().join("file"), "").unwrap();
        assert!(matches!(
            check_directory(&home.path().join("file")),
            Err(FileError::Kind { .. })
        ));
    }

    #[test]
    fn a_link_to_a_directory_is_refused() {
        let home = tempfile::tempdir().unwrap();
        directory(&home.path().join("keys")).unwrap();
        symlink(home.path().join("keys"), home.path().join("link")).unwrap();
        assert!(matches!(
            directory(&home.path().join("link")),
            Err(FileError::Kind { .. })
        ));
    }
}
