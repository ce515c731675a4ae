//! How long the output is read of a program that has ended, whoever reads it.

use std::time::{Duration, Instant};

/// The reading of what a program left in its terminal: up to a pause, and no longer than a deadline, as others may write
/// there for ever. What the program wrote is read whatever the time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drain {
    pause: Instant,
    deadline: Instant,
    taken: usize,
}

impl Drain {
    /// The program has ended.
    pub(crate) fn begin(now: Instant) -> Self {
        Self {
            pause: now + MAX_PAUSE,
            deadline: now + MAX_DRAIN,
            taken: 0,
        }
    }

    /// When it is over, unless something is read before.
    pub(crate) fn until(&self) -> Instant {
        self.pause.min(self.deadline)
    }

    /// So many bytes were read; returns whether what comes next is not read any more.
    pub(crate) fn read(&mut self, bytes: usize, now: Instant) -> bool {
        self.taken += bytes;
        self.pause = now + MAX_PAUSE;
        // More than a terminal holds: what the program wrote is among it, and the rest is somebody else's.
        if self.taken > MAX_BUFFERED {
            return self.deadline <= now;
        }
        self.deadline = self.deadline.max(self.pause);
        false
    }

    /// The terminal holds nothing now: what the program wrote is read.
    pub(crate) fn emptied(&mut self) {
        self.taken = self.taken.max(MAX_BUFFERED + 1);
    }
}

/// Bytes, more than a terminal can hold unread.
const MAX_BUFFERED: usize = 256 * 1024;
/// A pause this long after the program's end is the end of the output.
const MAX_PAUSE: Duration = Duration::from_millis(20);
/// What others write is not read longer after the program's end.
const MAX_DRAIN: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Drain, MAX_BUFFERED, MAX_DRAIN, MAX_PAUSE};

    #[test]
    fn a_pause_ends_it_and_output_moves_that() {
        let begun = Instant::now();
        let mut drain = Drain::begin(begun);
        assert_eq!(drain.until(), begun + MAX_PAUSE);
        let later = begun + Duration::from_millis(10);
        assert!(!drain.read(10, later));
        assert_eq!(drain.until(), later + MAX_PAUSE);
    }

    #[test]
    fn what_the_program_wrote_is_read_however_long_that_takes() {
        let begun = Instant::now();
        let mut drain = Drain::begin(begun);
        let late = begun + 10 * MAX_DRAIN;
        assert!(!drain.read(MAX_BUFFERED, late));
        assert_eq!(drain.until(), late + MAX_PAUSE);
        assert!(!drain.read(1, late + MAX_PAUSE / 2));
        assert!(drain.read(1, late + MAX_PAUSE));
    }

    #[test]
    fn what_others_write_is_read_up_to_the_deadline() {
        let begun = Instant::now();
        let mut drain = Drain::begin(begun);
        drain.emptied();
        assert!(!drain.read(1, begun + MAX_DRAIN - Duration::from_millis(1)));
        assert_eq!(drain.until(), begun + MAX_DRAIN);
        assert!(drain.read(1, begun + MAX_DRAIN));
    }
}
