//! How long things take, in buckets.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// How often something took how long. To observe one more is two additions.
#[derive(Debug, Default)]
pub struct Histogram {
    /// How often it took so long at most, and longer than the bound before; in the last, longer than all of them.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

/// What a histogram holds at a moment.
pub(super) struct Snapshot {
    /// How often it took so long at most, by seconds as they are written.
    pub(super) at_most: Vec<(&'static str, u64)>,
    /// How often in all.
    pub(super) count: u64,
    /// How long in all.
    pub(super) sum: Duration,
}

impl Histogram {
    /// Counts one more.
    pub fn observe(&self, taken: Duration) {
        let place = BOUNDS.iter().position(|(bound, _)| taken <= *bound);
        let bucket = &self.buckets[place.unwrap_or(BOUNDS.len())];
        bucket.fetch_add(1, Ordering::Relaxed);
        // It wraps after 584 years of waiting.
        let nanoseconds = u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let mut count = 0;
        let mut up_to = |bucket: &AtomicU64| {
            count += bucket.load(Ordering::Relaxed);
            count
        };
        let bounded = BOUNDS.iter().zip(&self.buckets);
        let at_most = bounded
            .map(|((_, text), bucket)| (*text, up_to(bucket)))
            .collect();
        let count = up_to(&self.buckets[BOUNDS.len()]);
        Snapshot {
            at_most,
            count,
            sum: Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)),
        }
    }
}

/// From what a disk's cache takes to what nobody waits for, each with its text in seconds.
const BOUNDS: [(Duration, &str); 13] = [
    (Duration::from_micros(500), "0.0005"),
    (Duration::from_millis(1), "0.001"),
    (Duration::from_micros(2_500), "0.0025"),
    (Duration::from_millis(5), "0.005"),
    (Duration::from_millis(10), "0.01"),
    (Duration::from_millis(25), "0.025"),
    (Duration::from_millis(50), "0.05"),
    (Duration::from_millis(100), "0.1"),
    (Duration::from_millis(250), "0.25"),
    (Duration::from_millis(500), "0.5"),
    (Duration::from_secs(1), "1"),
    (Duration::from_millis(2_500), "2.5"),
    (Duration::from_secs(10), "10"),
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{BOUNDS, Histogram};

    #[test]
    fn each_time_counts_for_its_own_bound_and_all_above() {
        let histogram = Histogram::default();
        for micros in [1, 500, 501, 30_000, 60_000_000] {
            histogram.observe(Duration::from_micros(micros));
        }
        let snapshot = histogram.snapshot();
        let counts: Vec<u64> = snapshot.at_most.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4]);
        assert_eq!(snapshot.count, 5);
        assert_eq!(snapshot.sum, Duration::from_micros(60_031_002));
    }

    #[test]
    fn the_bounds_are_written_as_what_they_are_and_grow() {
        for (bound, text) in BOUNDS {
            assert_eq!(bound.as_secs_f64().to_string(), text);
        }
        assert!(BOUNDS.is_sorted());
    }
}
