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

#[cfg(test)]
mod tests {
    use super::UnixMillis;
    use core::time::Duration;

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
