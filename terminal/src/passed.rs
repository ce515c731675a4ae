//! Sockets that this process was started with (sd_listen_fds(3)).

use std::env;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The sockets that whoever started this process passed to it, closed on exec, in their order. Only the first call gives them, and
/// it must come before this process opens anything of its own that stays open. None where they were passed to another.
///
/// # Errors
/// The variables that tell of them cannot be read, or one of them is not open or no socket.
#[expect(
    unsafe_code,
    reason = "a descriptor that is known by its number has no owner yet"
)]
pub fn passed_sockets() -> io::Result<Vec<OwnedFd>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let count = passed(
        env::var("LISTEN_PID").ok().as_deref(),
        env::var("LISTEN_FDS").ok().as_deref(),
        std::process::id(),
    )?;
    if count == 0 || TAKEN.swap(true, Ordering::AcqRel) {
        return Ok(Vec::new());
    }
    let numbers: Vec<RawFd> = (FIRST..FIRST + count).collect();
    // All of them before the first has an owner: where one is missing, none is touched.
    for number in &numbers {
        check(*number)?;
    }
    let own = |number: RawFd| {
        // SAFETY: `check` has seen it open, and a socket. By sd_listen_fds(3) it is this process's own since it began, and nothing here
        // has opened one before, so it has no other owner; `TAKEN` lets this be done once.
        unsafe { OwnedFd::from_raw_fd(number) }
    };
    Ok(numbers.into_iter().map(own).collect())
}

/// Whether it is an open socket; no program that this process starts gets it.
#[expect(
    unsafe_code,
    reason = "the safe calls want a descriptor that is known to be open"
)]
fn check(number: RawFd) -> io::Result<()> {
    // SAFETY: both calls take any number, and only look at or mark what it stands for; the result is plain data, for which zeroes
    // are a value.
    let (marked, looked, kind) = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        let marked = libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
        let looked = libc::fstat(number, &raw mut status);
        (marked, looked, status.st_mode & libc::S_IFMT)
    };
    if marked != 0 || looked != 0 {
        return Err(io::Error::last_os_error());
    }
    match kind == libc::S_IFSOCK {
        true => Ok(()),
        false => Err(io::Error::other("what was passed is no socket")),
    }
}

/// How many sockets were passed to the process with this id.
fn passed(pid: Option<&str>, count: Option<&str>, own: u32) -> io::Result<RawFd> {
    let (Some(pid), Some(count)) = (pid, count) else {
        return Ok(0);
    };
    let malformed = |name| io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is no number"));
    if pid.parse::<u32>().map_err(|_| malformed("LISTEN_PID"))? != own {
        return Ok(0);
    }
    let count = count.parse().map_err(|_| malformed("LISTEN_FDS"))?;
    match (0..=MOST).contains(&count) {
        true => Ok(count),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("LISTEN_FDS is {count}, and at most {MOST} make sense"),
        )),
    }
}

/// `SD_LISTEN_FDS_START`.
const FIRST: RawFd = 3;
const MOST: RawFd = 64;

#[cfg(test)]
mod tests {
    use super::passed;

    #[test]
    fn sockets_are_taken_by_the_process_that_they_were_passed_to() {
        assert_eq!(passed(Some("7"), Some("2"), 7).unwrap(), 2);
        assert_eq!(passed(Some("7"), Some("2"), 8).unwrap(), 0);
        assert_eq!(passed(None, Some("2"), 8).unwrap(), 0);
        assert_eq!(passed(Some("7"), None, 7).unwrap(), 0);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for (pid, count) in [("", "1"), ("x", "1"), ("7", ""), ("7", "-1"), ("7", "65")] {
            assert!(passed(Some(pid), Some(count), 7).is_err(), "{pid} {count}");
        }
    }
}
