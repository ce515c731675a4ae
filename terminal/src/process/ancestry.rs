//! Where a process comes from: whose descendant the other end of a Unix socket is.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::table::{self, Member};

/// The process at the other end of a Unix socket, held so that its id cannot have passed to another.
#[derive(Debug)]
pub struct PeerProcess {
    id: Pid,
    pidfd: OwnedFd,
}

impl PeerProcess {
    /// The process that connected, or that made the pair; `id` is what the socket's credentials say of it. None where it is gone,
    /// or is of another process namespace.
    #[must_use]
    pub fn of(socket: impl AsFd, id: i32) -> Option<Self> {
        let id = (id > 0).then(|| Pid::from_raw(id)).flatten()?;
        // Without the kernel's own word on who connected, another process may have the id by now: then its age cannot be told
        // either, and a peer that ended right after it connected is taken for one that is gone.
        let pidfd = peer_pidfd(socket).or_else(|| pidfd_open(id, PidfdFlags::NONBLOCK).ok())?;
        let peer = Self { id, pidfd };
        peer.is_alive().then_some(peer)
    }

    /// Its id, good as long as it lives.
    #[must_use]
    pub fn id(&self) -> Pid {
        self.id
    }

    /// Whether it has not ended.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let ended = poll(
            &mut [PollFd::new(&self.pidfd, PollFlags::IN)],
            Some(&Timespec::default()),
        );
        ended == Ok(0)
    }

    /// Itself, its parent, and so on up to the first process. None where it cannot be told: one of them ends just now, or may not be
    /// looked at.
    pub(crate) fn line(&self) -> Option<Vec<Member>> {
        // One of the line may end while it is read: its children then are the nearest subreaper's, and another look finds that.
        let line = (0..LOOKS).find_map(|_| line_of(self.id));
        // While the peer lives, its id is its own.
        line.filter(|_| self.is_alive())
    }

    /// The path of its cgroup in the unified hierarchy (cgroups(7)); none where it cannot be read.
    #[must_use]
    pub fn cgroup(&self) -> Option<String> {
        let text = fs::read_to_string(format!("/proc/{}/cgroup", self.id.as_raw_pid())).ok()?;
        let path = text.lines().find_map(|line| line.strip_prefix("0::"))?.to_owned();
        self.is_alive().then_some(path)
    }
}

fn line_of(from: Pid) -> Option<Vec<Member>> {
    let mut line = Vec::new();
    let mut next = Some(from);
    while let Some(id) = next {
        let process = table::process(id)?;
        line.push(process.member);
        next = process.parent;
        if line.len() > DEEPEST {
            return None;
        }
    }
    Some(line)
}

/// SO_PEERPIDFD, of Linux 6.5 and newer.
#[expect(unsafe_code, reason = "no safe wrapper knows this option")]
fn peer_pidfd(socket: impl AsFd) -> Option<OwnedFd> {
    let mut pidfd: libc::c_int = -1;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option's value is one int, `pidfd` is one, and `length` says so.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut pidfd).cast(),
            &raw mut length,
        )
    };
    // SAFETY: the kernel has just made this descriptor for the caller, and nobody else has it.
    (result == 0 && pidfd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(pidfd) })
}

/// asm-generic/socket.h.
const SO_PEERPIDFD: libc::c_int = 77;
/// How often a line is read that changes meanwhile.
const LOOKS: usize = 4;
/// Generations that are looked at.
const DEEPEST: usize = 4096;
