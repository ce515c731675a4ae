//! Time as an argument: nothing in this crate reads a clock.

use core::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since 1970-01-01T00:00:00Z. Arithmetic saturates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// The moment `after` later.
    #[must_use]
    pub fn plus(self, after: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// How long after `earlier` this is; zero if it is before, as after a clock that was set back.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// One reading of both clocks by which something can be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// What people and other machines go by; anybody may set it forward or back.
    pub wall: UnixMillis,
    /// Since the machine was started, its sleep included; nobody can set it.
    pub boot: Duration,
}

/// The later of both clocks: it passes at least as fast as either, and goes never back. So what is made and judged by it is
/// over as soon as either clock says so, and stays over. Whoever embeds this crate has one of them, and every `now` here
/// comes of it.
#[derive(Debug, Default)]
pub struct Latest {
    last: Option<(UnixMillis, Duration)>,
}

impl Latest {
    /// One that begins with its first reading, at what the wall clock says then.
    #[must_use]
    pub const fn new() -> Self {
        Self { last: None }
    }

    /// The moment of a reading. One that was taken before another and comes after it is as late as that.
    pub fn at(&mut self, now: Clocks) -> UnixMillis {
        let Some((last, boot)) = self.last else {
            self.last = Some((now.wall, now.boot));
            return now.wall;
        };
        let latest = now.wall.max(last.plus(now.boot.saturating_sub(boot)));
        self.last = Some((latest, boot.max(now.boot)));
        latest
    }
}

#[cfg(test)]
mod tests {
    use super::{Clocks, Latest, UnixMillis};
    use core::time::Duration;

    #[test]
    fn the_latest_follows_whichever_clock_is_ahead_and_never_goes_back() {
        let mut latest = Latest::new();
        let mut at = |wall: i64, boot: u64| {
            latest
                .at(Clocks {
                    wall: UnixMillis(wall),
                    boot: Duration::from_millis(boot),
                })
                .0
        };
        assert_eq!(at(1_000, 10), 1_000);
        assert_eq!(at(1_500, 510), 1_500);
        assert_eq!(
            at(600, 1_510),
            2_500,
            "set back: the boot clock says how long it was"
        );
        assert_eq!(at(9_000, 1_520), 9_000, "set forward: the wall clock says");
        assert_eq!(at(2_520, 1_530), 9_010, "what was over stays over");
        assert_eq!(at(2_000, 1_000), 9_010, "an old reading changes nothing");
        assert_eq!(at(2_530, 1_540), 9_020);
    }

    #[test]
    fn plus_and_since_are_inverse() {
        let start = UnixMillis(1_000);
        let later = start.plus(Duration::from_secs(2));
        assert_eq!(later, UnixMillis(3_000));
        assert_eq!(later.since(start), Duration::from_secs(2));
    }

    #[test]
    fn a_clock_set_back_gives_no_time_instead_of_a_huge_one() {
        assert_eq!(UnixMillis(5).since(UnixMillis(9)), Duration::ZERO);
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(UnixMillis(7).plus(Duration::MAX), UnixMillis(i64::MAX));
        assert_eq!(UnixMillis(i64::MIN).since(UnixMillis(i64::MAX)), Duration::ZERO);
    }
}
