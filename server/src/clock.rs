//! The one place of the access layer that reads a clock.

use std::{sync::OnceLock, time::Duration};

use jiff::Timestamp;
use pairing::{Clocks, UnixMillis};
use rustix::time::{ClockId, clock_gettime};

/// The time by both clocks.
pub(crate) fn both() -> Clocks {
    let boot = clock_gettime(ClockId::Boottime);
    Clocks {
        wall: now(),
        boot: Duration::try_from(boot).expect("the boot clock counts from zero on"),
    }
}

/// The time by the wall clock.
pub fn now() -> UnixMillis {
    UnixMillis(Timestamp::now().as_millisecond())
}

/// The later of two: the wall clock, and what it said first in this process plus the time since then, the machine's sleep
/// included. For what must end in time also where somebody sets the clock back.
pub fn latest() -> UnixMillis {
    static FIRST: OnceLock<Clocks> = OnceLock::new();
    let now = both();
    let first = FIRST.get_or_init(|| now);
    let passed = now.boot.saturating_sub(first.boot).as_millis();
    later(now.wall, first.wall, i64::try_from(passed).unwrap_or(i64::MAX))
}

fn later(wall: UnixMillis, first: UnixMillis, passed_ms: i64) -> UnixMillis {
    wall.max(UnixMillis(first.0.saturating_add(passed_ms)))
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

#[cfg(test)]
mod tests {
    use pairing::UnixMillis;

    use super::{later, timestamp};

    #[test]
    fn a_wall_clock_that_was_set_back_wins_no_time_and_one_that_was_set_forth_is_believed() {
        assert_eq!(later(UnixMillis(1_000), UnixMillis(5_000), 60), UnixMillis(5_060));
        assert_eq!(later(UnixMillis(9_000), UnixMillis(5_000), 60), UnixMillis(9_000));
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
