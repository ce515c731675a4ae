//! System calls without a safe wrapper, for processes of one thread.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::Pid;

use super::plan::Plan;

/// Whether a wait that failed is to be begun again, which it is at once where a signal came, and after a moment where the
/// system is short of memory: a session does not end for that.
pub(super) fn is_passing(error: Errno) -> bool {
    if error == Errno::NOMEM {
        thread::sleep(SHORTAGE);
    }
    matches!(error, Errno::INTR | Errno::NOMEM)
}

/// Which side of a fork this is.
pub(super) enum Forked {
    Parent(Pid),
    Child,
}

/// Copies this process, which must have one thread.
#[expect(unsafe_code, reason = "there is no safe fork")]
pub(super) fn fork() -> io::Result<Forked> {
    // SAFETY: the child goes on in this very program without exec. That is sound because a keeper, and a reaper, have exactly one
    // thread: no other one can hold a lock (of the allocator, say) or be half-way through a change that the child would see for
    // ever. `keep` begins before anything starts a thread, and nothing in this module does.
    match unsafe { libc::fork() } {
        0 => Ok(Forked::Child),
        id => Pid::from_raw(id.max(0))
            .map(Forked::Parent)
            .ok_or_else(io::Error::last_os_error),
    }
}

/// Becomes the planned program; returns only what went wrong.
#[expect(
    unsafe_code,
    reason = "there is no safe execve that takes its arguments as they are"
)]
pub(super) fn execute(plan: &Plan) -> io::Error {
    let pointers = |texts: &[CString]| {
        let ends = std::iter::once(std::ptr::null());
        texts
            .iter()
            .map(|text| text.as_ptr())
            .chain(ends)
            .collect::<Vec<_>>()
    };
    let (args, env) = (pointers(&plan.args), pointers(&plan.env));
    // SAFETY: path, arguments and environment are NUL-terminated texts that outlive the call, and both arrays end with a null
    // pointer.
    unsafe { libc::execve(plan.path.as_ptr(), args.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// A descriptor that is readable when a child has ended; the signal itself is blocked.
#[expect(
    unsafe_code,
    reason = "no safe wrapper has signal masks or signal descriptors"
)]
pub(super) fn child_events() -> io::Result<OwnedFd> {
    // SAFETY: the set is a plain bit field, for which zeroes are a value; the calls below fill and read it while it lives, and a
    // null pointer asks for no former mask.
    let descriptor = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    match descriptor {
        // SAFETY: the kernel has just made this descriptor, and nobody else has it.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ignores these signals from now on.
#[expect(unsafe_code, reason = "no safe wrapper sets a disposition")]
pub(super) fn ignore(signals: &[libc::c_int]) {
    for signal in signals {
        // SAFETY: SIG_IGN installs no handler.
        unsafe { libc::signal(*signal, libc::SIG_IGN) };
    }
}

/// Closes every descriptor but the standard three and these.
#[expect(unsafe_code, reason = "no safe wrapper has this system call")]
pub(super) fn close_all_but(kept: &[&OwnedFd]) -> io::Result<()> {
    let mut kept: Vec<u32> = kept.iter().map(|fd| fd.as_raw_fd().unsigned_abs()).collect();
    kept.sort_unstable();
    let mut from = 3;
    for number in kept.into_iter().chain([u32::MAX]) {
        if let Some(last) = number.checked_sub(1).filter(|last| *last >= from) {
            // SAFETY: it is called where this process has just been forked or begun, and goes on with the kept descriptors alone: the
            // owners of the others are never used or dropped again, as that copy of the stack is never returned to.
            let result = unsafe { libc::syscall(libc::SYS_close_range, from, last, 0_u32) };
            if result != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        from = from.max(number.saturating_add(1));
    }
    Ok(())
}

/// Between two waits where the system is short of memory.
const SHORTAGE: Duration = Duration::from_millis(50);
