//! Processes: who they are, how they end, and ending a session's with all that it started.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::process::Pid;

mod ancestry;
mod table;
mod tree;
mod turn;

pub use ancestry::PeerProcess;
pub(crate) use table::{Member, children};
pub(crate) use tree::Tree;
pub use turn::take_short_turns;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Milliseconds from its start to its end.
    pub duration_ms: u64,
    /// The most memory that it, or one process it waited for, held at once, in bytes.
    pub peak_memory_bytes: u64,
}

/// A child of this process whose end was taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) id: Pid,
    status: libc::c_int,
    peak_memory_bytes: u64,
}

impl Ended {
    /// The end of a program that began so long ago.
    pub(crate) fn exit(&self, duration: Duration) -> Exit {
        Exit {
            code: libc::WIFEXITED(self.status).then(|| libc::WEXITSTATUS(self.status)),
            signal: libc::WIFSIGNALED(self.status).then(|| libc::WTERMSIG(self.status)),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            peak_memory_bytes: self.peak_memory_bytes,
        }
    }
}

/// Takes the end of any child that has ended, without waiting; none where all of them live.
///
/// # Errors
/// `ECHILD` where there is no child left.
#[expect(unsafe_code, reason = "only wait4 reports the resources of one child")]
pub(crate) fn take_ended() -> io::Result<Option<Ended>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live, writable values of the types that wait4 fills.
        let id = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
        match Pid::from_raw(id.max(0)) {
            Some(id) => {
                // SAFETY: every field of rusage is an integer, for which zeroes are a value, and wait4 has succeeded.
                let usage = unsafe { usage.assume_init() };
                return Ok(Some(Ended {
                    id,
                    status,
                    peak_memory_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
                }));
            }
            None if id == 0 => return Ok(None),
            None => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}
