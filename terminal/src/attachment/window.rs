//! How much may be on the way to a viewer: what it draws in a quarter of a second.

use std::time::{Duration, Instant};

/// A viewer's pace, by its acknowledgements.
///
/// The rate is measured while there is something to send; what is measured while there was nothing more can only
/// raise it, since the viewer might have drawn more.
#[derive(Debug)]
pub(super) struct Window {
    /// Bytes in a second; none before the first measurement.
    rate: Option<f64>,
    /// When the measurement began that is being made, and what was acknowledged since.
    since: Instant,
    bytes: u64,
    /// Whether the viewer had all there was at some time in it.
    is_dry: bool,
}

impl Window {
    /// The window of a viewer of which nothing is known.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            rate: None,
            since: now,
            bytes: 0,
            is_dry: true,
        }
    }

    /// Notes that something is sent, `is_idle` if nothing else was on the way.
    pub(super) fn sent(&mut self, is_idle: bool, now: Instant) {
        if self.is_dry && is_idle {
            self.is_dry = false;
            self.begin(now);
        }
    }

    /// Notes that there is nothing more to send.
    pub(super) fn ran_dry(&mut self) {
        self.is_dry = true;
    }

    /// Notes that so many bytes were drawn.
    pub(super) fn acked(&mut self, bytes: u64, now: Instant) {
        self.bytes += bytes;
        let took = now.saturating_duration_since(self.since);
        if took < MEASURED {
            return;
        }
        let sample = self.bytes as f64 / took.as_secs_f64();
        let rate = match self.rate {
            None if self.is_dry && self.bytes < TELLING => return,
            None => sample,
            // Not more than twice: what a slow link held up comes all at once, and says nothing of its pace.
            Some(rate) if sample >= rate => sample.min(2.0 * rate),
            Some(rate) if self.is_dry => rate,
            // A long measurement counts for more than a short one.
            Some(rate) => sample + (rate - sample) * (-took.as_secs_f64() / FALL.as_secs_f64()).exp(),
        };
        self.rate = Some(rate);
        self.begin(now);
    }

    /// Bytes that may be on the way.
    pub(super) fn size(&self) -> usize {
        (self.ahead(SMALLEST as u64) as usize).clamp(SMALLEST, LARGEST)
    }

    /// Bytes that the viewer may be behind in all: more than it draws in the time is not worth sending.
    pub(super) fn backlog(&self) -> u64 {
        self.ahead(MAX_BEHIND).clamp(SMALLEST as u64, MAX_BEHIND)
    }

    fn ahead(&self, unknown: u64) -> u64 {
        self.rate
            .map_or(unknown, |rate| (rate * AHEAD.as_secs_f64()) as u64)
    }

    fn begin(&mut self, now: Instant) {
        self.since = now;
        self.bytes = 0;
    }
}

/// The time whose worth of drawing may be on the way.
const AHEAD: Duration = Duration::from_millis(250);
/// How fast a measurement that is slower than those before makes them forgotten.
const FALL: Duration = Duration::from_millis(50);
/// A shorter measurement says nothing.
const MEASURED: Duration = Duration::from_millis(10);
/// Bytes; the drawing of fewer, with nothing behind them, says nothing of the pace.
const TELLING: u64 = 4 * 1024;
/// Bytes of a window.
pub(super) const SMALLEST: usize = 16 * 1024;
pub(super) const LARGEST: usize = 512 * 1024;
/// Bytes; whoever is further behind gets a snapshot however fast it is.
pub(super) const MAX_BEHIND: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LARGEST, MAX_BEHIND, SMALLEST, Window};

    /// A link of so many bytes in a second with this round trip, always full; the window after `for_ms`.
    fn window(rate: u64, round_trip: Duration, for_ms: u64) -> Window {
        let begin = Instant::now();
        let mut now = begin;
        let mut window = Window::new(now);
        window.sent(true, now);
        while now < begin + Duration::from_millis(for_ms) {
            let size = window.size() as u64;
            now += round_trip + Duration::from_secs_f64(size as f64 / rate as f64);
            window.acked(size, now);
            window.sent(true, now);
        }
        window
    }

    #[test]
    fn an_unknown_viewer_has_the_smallest_window_and_every_chance() {
        let window = Window::new(Instant::now());
        assert_eq!((window.size(), window.backlog()), (SMALLEST, MAX_BEHIND));
    }

    #[test]
    fn a_fast_viewer_has_the_largest_within_half_a_second() {
        let fast = window(50_000_000, Duration::from_micros(200), 50);
        assert_eq!((fast.size(), fast.backlog()), (LARGEST, MAX_BEHIND));
        let far = window(50_000_000, Duration::from_millis(60), 500);
        assert_eq!(far.size(), LARGEST);
    }

    #[test]
    fn a_viewer_has_what_it_draws_in_a_quarter_of_a_second() {
        let middling = window(400_000, Duration::from_millis(1), 3_000);
        assert!(
            (95_000..=101_000).contains(&middling.size()),
            "{}",
            middling.size()
        );
        let slow = window(10_000, Duration::from_millis(50), 5_000);
        assert_eq!((slow.size(), slow.backlog()), (SMALLEST, SMALLEST as u64));
    }

    #[test]
    fn a_link_that_becomes_slow_is_known_as_slow_within_a_second() {
        let mut window = window(50_000_000, Duration::from_micros(200), 50);
        let mut now = Instant::now() + Duration::from_secs(1);
        window.begin(now);
        for _ in 0..20 {
            now += Duration::from_millis(50);
            window.acked(1_000, now);
        }
        assert!(window.size() < 64 * 1024, "{}", window.size());
    }

    #[test]
    fn what_a_slow_link_held_up_and_gives_at_once_does_not_make_it_fast() {
        let mut window = Window::new(Instant::now());
        let mut now = Instant::now();
        window.sent(true, now);
        for _ in 0..20 {
            // A second's worth, held up for most of it.
            now += Duration::from_millis(900);
            for _ in 0..4 {
                now += Duration::from_millis(12);
                window.acked(2_500, now);
                assert_eq!(window.size(), SMALLEST);
            }
            now += Duration::from_millis(52);
            window.acked(10, now);
        }
    }

    #[test]
    fn a_key_now_and_then_does_not_make_a_viewer_slow() {
        let mut window = window(50_000_000, Duration::from_micros(200), 50);
        let mut now = Instant::now() + Duration::from_secs(1);
        for _ in 0..100 {
            window.ran_dry();
            window.sent(true, now);
            window.ran_dry();
            now += Duration::from_millis(100);
            window.acked(1, now);
        }
        assert_eq!(window.size(), LARGEST);
    }
}
