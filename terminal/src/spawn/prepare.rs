//! What happens in the child between fork and exec.

use std::io;
use std::os::unix::process::CommandExt;

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
}

/// Lets the child make a session of its own, take its standard input as controlling terminal, and drop what it
/// would inherit: ignored signals, descriptors without close-on-exec, a raised limit. (The standard library
/// itself empties the signal mask.)
#[expect(
    unsafe_code,
    reason = "the standard library has no safe way to run code between fork and exec"
)]
pub(super) fn in_child(command: &mut std::process::Command, limit: Option<DescriptorLimit>) {
    let prepare = move || {
        rustix::process::setsid()?;
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        if let Some(DescriptorLimit { soft, hard }) = limit {
            rustix::process::setrlimit(
                Resource::Nofile,
                Rlimit {
                    current: soft,
                    maximum: hard,
                },
            )?;
        }
        default_signals();
        close_on_exec()
    };
    // SAFETY: the child of a program with several threads may only do what is async-signal-safe. `prepare` makes
    // system calls alone (setsid, ioctl, setrlimit, sigaction, close_range): it allocates nothing, takes no lock
    // and captures one `Copy` value.
    unsafe { command.pre_exec(prepare) };
}

/// Exec resets handlers, but keeps what is ignored.
#[expect(unsafe_code, reason = "no safe wrapper sets a disposition")]
fn default_signals() {
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: `signal` is async-signal-safe, and SIG_DFL installs no handler. It fails for SIGKILL, SIGSTOP
        // and the two that the C library keeps, which cannot be ignored either.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Marks every descriptor but the standard three: the daemon may itself have been given some without the flag.
#[expect(unsafe_code, reason = "no safe wrapper has this system call")]
fn close_on_exec() -> io::Result<()> {
    // SAFETY: with CLOSE_RANGE_CLOEXEC the call closes nothing and touches no memory.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// SIGRTMAX on Linux.
const LAST_SIGNAL: libc::c_int = 64;
