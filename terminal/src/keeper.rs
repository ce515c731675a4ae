//! The keeper: the small process that holds every session's PTY and journal, so that no end of a daemon ends a session.
//!
//! `transom keep` is [`keep`]: one thread, no runtime, one loop over poll(2). It is started by the daemon with the first session
//! and serves one daemon at a time over a socket of its own; while none is connected, it reads the terminals into the journals.
//! For each session it forks a reaper, which starts the program and holds everything that descends from it. [`Keeper`] is the
//! daemon's end of the socket.
//!
//! **Signals.** The keeper has no terminal: SIGHUP, SIGINT and SIGQUIT are ignored. SIGTERM ends it at once and, as each reaper
//! then kills what it holds, every session: that is what somebody wants who ends it by name. A reaper ignores all of them.

pub(crate) mod cgroup;
mod client;
mod daemon;
mod kept;
mod message;
mod packet;
mod plan;
mod reaper;
mod serve;
mod start;
mod system;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::net::SocketType;
use rustix::net::sockopt::{socket_acceptconn, socket_type};
use rustix::process::DumpableBehavior;

pub use client::{Held, Keeper, KeeperError, Listed, Listing, Origin};
pub use start::KeeperOptions;

use cgroup::Cgroups;
use message::{Malformed, Reply, Request, Versions};
use reaper::News;
use serve::Service;
use system::Forked;

/// Runs the keeper, to its end: of this process, which must have begun with this and have no other thread. Standard input is the
/// socket that it serves. `arguments` are those behind `keep`: a name, by which it is known in the list of processes and after which the
/// directory of the sessions' cgroups is called, `--no-cgroups` where there shall be none, `--speak VERSION` where it shall
/// be as one that speaks no newer version of its messages, and `--activated` where a service manager has the socket, and starts it
/// as a service of its own whenever somebody connects: then it stays the process that was started, and leaves the socket in place.
pub fn keep(arguments: impl IntoIterator<Item = OsString>) -> ! {
    keep_as(Versions::OURS, arguments)
}

/// See [`fuzzing::keeper`](crate::fuzzing::keeper).
pub(crate) fn read_any(bytes: &[u8]) {
    match Request::decode(bytes) {
        // A size is clamped as it is read: the one field that may come back as another.
        Ok(wish @ Request::Spawn { .. }) => assert_eq!(Request::decode(wish.encode().bytes()), Ok(wish)),
        Ok(wish) => assert_eq!(wish.encode().bytes(), bytes),
        Err(Malformed) => {}
    }
    if let Ok(reply) = Reply::decode(bytes) {
        assert_eq!(reply.encode().bytes(), bytes);
    }
    if let Ok(news) = News::decode(bytes) {
        assert_eq!(news.encode().bytes(), bytes);
    }
    if let Some(length) = plan::length(bytes) {
        assert_eq!(length, bytes.len());
    }
}

fn keep_as(versions: Versions, arguments: impl IntoIterator<Item = OsString>) -> ! {
    let code = match begin(versions, arguments) {
        Ok(Some(service)) => service.run().map_or(1, |()| 0),
        Ok(None) => 0,
        Err(error) => {
            eprintln!("the keeper is started by the daemon, and by nobody else: {error}");
            64
        }
    };
    std::process::exit(code)
}

/// Leaves whoever started it; none in the process that was only started for that.
fn begin(versions: Versions, arguments: impl IntoIterator<Item = OsString>) -> io::Result<Option<Service>> {
    let listener = listener()?;
    let Wish {
        name,
        versions,
        is_activated,
    } = Wish::of(versions, arguments)?;
    // Output of sessions passes through: nobody's to read, nor a core file's.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    rustix::process::setsid().ok();
    if !is_activated && let Forked::Parent(_) = system::fork()? {
        return Ok(None);
    }
    rustix::process::chdir("/")?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    drop(null);
    system::close_all_but(&[&listener])?;
    rustix::thread::set_name(c"transom-keeper")?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    system::ignore(&[libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE]);
    let cgroups = name.and_then(|name| Cgroups::make(&name));
    let mut service = Service::new(listener, versions, cgroups)?;
    service.owns_socket = !is_activated;
    Ok(Some(service))
}

/// Standard input, if it is what the daemon makes it.
fn listener() -> io::Result<OwnedFd> {
    let stdin = rustix::stdio::stdin();
    let is_ours = socket_type(stdin)? == SocketType::SEQPACKET && socket_acceptconn(stdin)?;
    if !is_ours {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let listener = stdin.as_fd().try_clone_to_owned()?;
    let flags = rustix::fs::fcntl_getfl(&listener)?;
    rustix::fs::fcntl_setfl(&listener, flags | OFlags::NONBLOCK)?;
    Ok(listener)
}

/// What a keeper is started with.
struct Wish {
    /// The name for the sessions' cgroups; none where there are to be none.
    name: Option<String>,
    versions: Versions,
    is_activated: bool,
}

impl Wish {
    fn of(versions: Versions, arguments: impl IntoIterator<Item = OsString>) -> io::Result<Self> {
        let malformed = || io::Error::from(io::ErrorKind::InvalidInput);
        let words = arguments.into_iter().map(OsString::into_string);
        let mut words = words.map(|word| word.map_err(|_| malformed()));
        let name = words.next().ok_or_else(malformed)??;
        let mut wish = Self {
            name: Some(name),
            versions,
            is_activated: false,
        };
        while let Some(flag) = words.next().transpose()? {
            match flag.as_str() {
                "--no-cgroups" => wish.name = None,
                "--activated" => wish.is_activated = true,
                "--speak" => {
                    let newest = words.next().ok_or_else(malformed)??;
                    wish.versions.max = newest.parse().map_err(|_| malformed())?;
                }
                _ => return Err(malformed()),
            }
        }
        Ok(wish)
    }
}

#[cfg(test)]
pub(crate) mod tests;
