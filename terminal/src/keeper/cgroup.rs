//! A cgroup for each session, where the keeper's own cgroup is its user's to divide (cgroups(7), "Cgroups v2 delegation").

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags, access, open, openat, unlinkat};

use crate::id::SessionId;

/// The directory in which the sessions' cgroups are.
#[derive(Debug)]
pub(super) struct Cgroups {
    /// `transom-<instance>`, in the keeper's own cgroup.
    path: PathBuf,
}

/// One session's, removed when it is dropped; what still lives in it stays there.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
    directory: OwnedFd,
}

impl Cgroups {
    /// Makes the directory of that name, if the keeper may. What a former keeper left empty in it is removed.
    pub(super) fn make(name: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty() || !name.bytes().all(is_plain) {
            return None;
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = own_cgroup(&mounts, &fs::read_to_string("/proc/self/cgroup").ok()?)?;
        // Whoever moves a process writes to the cgroup.procs of the nearest one above both, which is this one.
        access(own.join("cgroup.procs"), Access::WRITE_OK).ok()?;
        let path = own.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return None,
            _ => {}
        }
        // Below a threaded one no process can be moved (cgroups(7)).
        if fs::read_to_string(path.join("cgroup.type")).ok()?.trim_end() != "domain" {
            return None;
        }
        let former = fs::read_dir(&path).ok()?.flatten();
        former.for_each(|entry| {
            // One with processes in it cannot be removed.
            let path = entry.path();
            if let Ok(directory) = open(&path, DIRECTORY, Mode::empty()) {
                drop(Cgroup { path, directory });
            }
        });
        Some(Self { path })
    }

    /// Makes a session's.
    pub(super) fn session(&self, id: SessionId) -> io::Result<Cgroup> {
        let path = self.path.join(id.to_string());
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let directory = open(&path, DIRECTORY, Mode::empty())?;
        Ok(Cgroup { path, directory })
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        fs::remove_dir(&self.path).ok();
    }
}

impl Cgroup {
    /// The directory.
    pub(super) fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    /// `cgroup.procs`, for whoever enters.
    pub(super) fn procs(&self) -> io::Result<OwnedFd> {
        Ok(openat(
            &self.directory,
            "cgroup.procs",
            OFlags::WRONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?)
    }

    /// Kills everything in it.
    pub(super) fn kill(&self) {
        kill(&self.directory).ok();
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if remove_below(&self.directory).is_ok() {
            fs::remove_dir(&self.path).ok();
        }
    }
}

/// Kills every process in the cgroup and below, whoever's they are (`cgroup.kill`, Linux 5.14 and newer).
pub(crate) fn kill(directory: &OwnedFd) -> io::Result<()> {
    let file = openat(
        directory,
        "cgroup.kill",
        OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    rustix::io::write(&file, b"1")?;
    Ok(())
}

/// Whether a process is in the cgroup or below it.
pub(crate) fn is_populated(directory: &OwnedFd) -> bool {
    let Ok(file) = openat(
        directory,
        "cgroup.events",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    ) else {
        return false;
    };
    let mut text = [0; 128];
    let length = rustix::io::read(&file, &mut text).unwrap_or(0);
    text[..length].windows(11).any(|window| window == b"populated 1")
}

/// Removes the cgroups that a session's own programs made below theirs, one level deep: whoever made more keeps them.
fn remove_below(directory: &OwnedFd) -> io::Result<()> {
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        if entry.file_type() == rustix::fs::FileType::Directory
            && !entry.file_name().to_bytes().starts_with(b".")
        {
            unlinkat(directory, entry.file_name(), AtFlags::REMOVEDIR)?;
        }
    }
    Ok(())
}

/// Where this process's cgroup of the unified hierarchy is mounted.
fn own_cgroup(mounts: &str, cgroups: &str) -> Option<PathBuf> {
    let own = cgroups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        // proc_pid_mountinfo(5): the mount's root and point are the fourth and fifth field; the type follows the lone hyphen.
        let (fields, kind) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = Path::new(own).strip_prefix(root).ok()?;
        // A path with blanks is written with escapes; nobody mounts cgroups at one.
        (kind.starts_with("cgroup2 ") && !point.contains('\\')).then(|| Path::new(point).join(below))
    })
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Cgroups, own_cgroup};

    const HYBRID: &str = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_own_cgroup_is_found_below_the_unified_mount() {
        let found = own_cgroup(HYBRID, "9:memory:/x\n0::/user.slice/a.scope\n");
        assert_eq!(
            found.as_deref(),
            Some(Path::new("/sys/fs/cgroup/unified/user.slice/a.scope"))
        );
    }

    #[test]
    fn a_mount_of_a_part_begins_at_its_root() {
        let part = "41 31 0:38 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
        assert_eq!(
            own_cgroup(part, "0::/docker/x/y\n").as_deref(),
            Some(Path::new("/sys/fs/cgroup/y"))
        );
        assert_eq!(own_cgroup(part, "0::/elsewhere\n"), None);
    }

    #[test]
    fn without_the_unified_hierarchy_there_is_none() {
        assert_eq!(own_cgroup("", "0::/\n"), None);
        assert_eq!(own_cgroup(HYBRID, "9:memory:/x\n"), None);
    }

    #[test]
    fn a_name_that_leads_elsewhere_makes_none() {
        assert!(Cgroups::make("../transom").is_none());
        assert!(Cgroups::make("").is_none());
    }
}
