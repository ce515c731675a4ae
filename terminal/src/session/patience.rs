//! Bearing with a disk that gives nothing for a while, as where descriptors are short.

use std::time::Duration;

/// How often in a row something failed.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    failures: u32,
}

impl Patience {
    /// How long to wait until what failed just now is tried again, longer each time; none where it did not fail, or has failed
    /// for so long that it is given up.
    pub(crate) fn pause(&mut self, has_failed: bool) -> Option<Duration> {
        if !has_failed {
            self.failures = 0;
            return None;
        }
        let pause = FIRST * 2_u32.saturating_pow(self.failures);
        self.failures = (self.failures + 1).min(MOST);
        (self.failures < MOST).then(|| pause.min(LONGEST))
    }
}

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// Failures in a row after which nobody waits any more: half a minute, which a shortage mostly does not last.
const MOST: u32 = 11;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Patience;

    #[test]
    fn what_fails_is_tried_again_for_half_a_minute_and_anew_once_it_did_not_fail() {
        let mut patience = Patience::default();
        for _ in 0..2 {
            assert_eq!(patience.pause(false), None);
            let pauses: Vec<Duration> = std::iter::from_fn(|| patience.pause(true)).collect();
            assert_eq!(pauses[..2], [100, 200].map(Duration::from_millis));
            let all: Duration = pauses.iter().sum();
            assert!((25..35).contains(&all.as_secs()), "{pauses:?}");
            assert_eq!(patience.pause(true), None);
        }
    }
}
