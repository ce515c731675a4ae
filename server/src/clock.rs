//! The one place of the access layer that reads a clock.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use pairing::{Clocks, Latest, UnixMillis};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::io::{Interest, unix::AsyncFd};

/// The time by the wall clock, as people read it: of rows and files.
pub fn now() -> UnixMillis {
    UnixMillis(Timestamp::now().as_millisecond())
}

/// The time by whichever of the wall clock and the time since the machine was started is ahead; it never goes back in this
/// process. Everything that ends by time is made and judged by it, so that a clock which somebody sets lengthens nothing.
pub fn latest() -> UnixMillis {
    static LATEST: Mutex<Latest> = Mutex::new(Latest::new());
    // Read under the lock: no moment is before one that was given out earlier.
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    latest.at(both())
}

/// What the wall clock says at a moment of [`latest`]: for what is kept on disk, and for people.
pub fn on_the_wall(at: UnixMillis) -> UnixMillis {
    UnixMillis(at.0.saturating_sub(ahead()))
}

/// The moment of [`latest`] at which the wall clock says this.
pub(crate) fn by_the_wall(at: UnixMillis) -> UnixMillis {
    UnixMillis(at.0.saturating_add(ahead()))
}

/// By how many milliseconds [`latest`] is ahead of the wall clock: none unless that was set back.
fn ahead() -> i64 {
    let wall = now();
    Some(latest().0.saturating_sub(wall.0))
        .filter(|ahead| *ahead >= SET_BACK)
        .unwrap_or_default()
}

/// Waits by the clock that goes on while the machine sleeps: what is over by then completes as it wakes.
pub(crate) async fn sleep(lasts: Duration) {
    match timer(lasts).and_then(watched) {
        Ok(timer) => drop(timer.readable().await),
        // Without a descriptor for it, by the clock that stands still meanwhile.
        Err(error) => {
            tracing::debug!(%error, "waiting by the clock that stands still while the machine sleeps");
            tokio::time::sleep(lasts).await;
        }
    }
}

#[expect(
    deprecated,
    reason = "it is unsound for what gives away another descriptor later, which an owned one does not; the other way is unsafe"
)]
fn watched(timer: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(timer, Interest::READABLE)
}

/// Readable once so much time has passed (timerfd_create(2)).
fn timer(lasts: Duration) -> io::Result<OwnedFd> {
    let timer = timerfd_create(
        TimerfdClockId::Boottime,
        TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
    )?;
    // Nothing at all would be no time to wait for.
    let lasts = lasts.max(Duration::from_nanos(1));
    let value = Itimerspec {
        it_interval: Timespec::default(),
        it_value: Timespec::try_from(lasts).map_err(io::Error::other)?,
    };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &value)?;
    Ok(timer)
}

fn both() -> Clocks {
    let boot = clock_gettime(ClockId::Boottime);
    Clocks {
        wall: now(),
        boot: Duration::try_from(boot).expect("the boot clock counts from zero on"),
    }
}

/// A moment of [`latest`] as the wire writes it, for people: what the wall clock says then.
pub fn shown(at: UnixMillis) -> Timestamp {
    timestamp(on_the_wall(at))
}

/// A moment as the wire writes it; a moment outside of what a calendar holds becomes the nearest it does.
pub fn timestamp(at: UnixMillis) -> Timestamp {
    let end = if at.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(at.0).unwrap_or(end)
}

/// A moment of the wire, to the millisecond.
pub fn millis(at: Timestamp) -> UnixMillis {
    UnixMillis(at.as_millisecond())
}

/// Milliseconds by which a clock is behind that was set back, and not only read a moment before another.
const SET_BACK: i64 = 1_000;

#[cfg(test)]
mod tests {
    use std::{fs, os::fd::AsRawFd, time::Duration};

    use pairing::UnixMillis;
    use rustix::time::{ClockId, clock_gettime};

    use super::{by_the_wall, latest, now, on_the_wall, sleep, timer, timestamp};

    #[test]
    fn what_is_waited_for_does_not_come_later_because_the_machine_slept() {
        let lasts = Duration::from_secs(3600);
        let began = clock_gettime(ClockId::Boottime);
        let timer = timer(lasts).unwrap();
        let told = fs::read_to_string(format!("/proc/self/fdinfo/{}", timer.as_raw_fd())).unwrap();
        // CLOCK_BOOTTIME, by the kernel's own number.
        assert!(told.contains("clockid: 7\n"), "{told}");
        let left = told
            .split_once("it_value: (")
            .and_then(|(_, value)| value.split_once(','));
        let left: i64 = left.unwrap().0.parse().unwrap();
        let gone = clock_gettime(ClockId::Boottime).tv_sec - began.tv_sec;
        assert!((3599 - gone..=3600).contains(&left), "{told}");
    }

    #[tokio::test]
    async fn a_wait_ends_also_one_for_no_time_at_all() {
        for lasts in [Duration::ZERO, Duration::from_millis(2)] {
            let began = latest();
            sleep(lasts).await;
            assert!(latest().since(began) >= lasts);
        }
    }

    #[test]
    fn where_nobody_sets_a_clock_all_of_them_say_the_same() {
        let at = latest();
        assert!(latest() >= at && at.0.abs_diff(now().0) < 1_000);
        assert_eq!(on_the_wall(at), at);
        assert_eq!(by_the_wall(at), at);
    }

    #[test]
    fn a_moment_is_written_with_its_zone() {
        assert_eq!(timestamp(UnixMillis(1_500)).to_string(), "1970-01-01T00:00:01.5Z");
    }

    #[test]
    fn a_moment_beyond_the_calendar_is_its_end() {
        assert!(
            timestamp(UnixMillis(i64::MAX))
                .to_string()
                .starts_with("9999-12-30")
        );
        assert!(
            timestamp(UnixMillis(i64::MIN))
                .to_string()
                .starts_with("-009999-01-02")
        );
    }
}
