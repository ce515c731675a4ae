//! What a program's process does before it becomes the program.

use std::io;

use rustix::process::{Resource, Rlimit};

/// The limit on open descriptors (`RLIMIT_NOFILE`); `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptorLimit {
    /// The limit that counts.
    pub soft: Option<u64>,
    /// How far the program may raise it.
    pub hard: Option<u64>,
}

impl DescriptorLimit {
    /// This process's limit now.
    #[must_use]
    pub fn current() -> Self {
        let limit = rustix::process::getrlimit(Resource::Nofile);
        Self {
            soft: limit.current,
            hard: limit.maximum,
        }
    }

    /// Makes it this process's limit.
    ///
    /// # Errors
    /// When it is above what the process may have.
    pub fn apply(self) -> io::Result<()> {
        let Self { soft, hard } = self;
        let limit = Rlimit {
            current: soft,
            maximum: hard,
        };
        Ok(rustix::process::setrlimit(Resource::Nofile, limit)?)
    }
}

/// Undoes what this process does with signals, as exec keeps both what is ignored and what is blocked.
#[expect(unsafe_code, reason = "no safe wrapper sets a disposition or a mask")]
pub(crate) fn default_signals() {
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: SIG_DFL installs no handler. It fails for SIGKILL, SIGSTOP and the two that the C library keeps, which cannot be
        // ignored either.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: the set is a plain bit field, for which zeroes are a value, and sigemptyset fills it.
    let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `none` lives, and a null pointer asks for no former mask. Unblocking signals whose action is the default runs no code.
    unsafe {
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Marks every descriptor but the standard three.
#[expect(unsafe_code, reason = "no safe wrapper has this system call")]
pub(crate) fn close_on_exec() -> io::Result<()> {
    // SAFETY: with CLOSE_RANGE_CLOEXEC the call closes nothing and touches no memory.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// SIGRTMAX on Linux.
const LAST_SIGNAL: libc::c_int = 64;
