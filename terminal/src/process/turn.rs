//! How long a thread runs before others have their turn.

use std::io;
use std::time::Duration;

/// Has the kernel look at the calling thread soon after it wakes, whoever else runs: its turns are short, so that it is owed
/// the next one early (sched(7); Linux 6.12 and later, where the fair class takes `sched_runtime` as the length of a turn).
/// It gets no more of the processors than before. Its children are as all others.
///
/// # Errors
/// Where the kernel does not know of it; nothing has changed then.
#[expect(unsafe_code, reason = "no safe wrapper has this system call")]
pub fn take_short_turns() -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: u32::try_from(size_of::<libc::sched_attr>()).unwrap_or_default(),
        sched_policy: libc::SCHED_OTHER.unsigned_abs(),
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: rustix::process::getpriority_process(None)?,
        sched_priority: 0,
        sched_runtime: TURN.as_nanos() as u64,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the pointer is to a live value of the type that the call reads, whose size it says.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0_u32) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The shortest that the kernel gives.
const TURN: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::take_short_turns;

    /// What the kernel says of the calling thread; None where it does not tell (before Linux 6.12, or without statistics).
    fn turn() -> Option<u64> {
        let said = fs::read_to_string("/proc/thread-self/sched").ok()?;
        let line = said.lines().find(|line| line.starts_with("se.slice"))?;
        line.rsplit(' ').next()?.trim().parse().ok()
    }

    #[test]
    fn a_thread_takes_short_turns_and_what_it_starts_takes_usual_ones() {
        let (before, during, child) = thread::spawn(|| {
            let before = turn();
            take_short_turns().expect("the kernel knows the call");
            (
                before,
                turn(),
                thread::spawn(turn).join().expect("the child says its turn"),
            )
        })
        .join()
        .expect("the thread says its turns");
        assert!(during < before || before.is_none(), "{before:?} {during:?}");
        assert_eq!(child, before);
    }
}
