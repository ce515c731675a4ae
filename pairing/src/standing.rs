//! Whether a principal still lives, shared by everything that acts for it.

use alloc::sync::Arc;
use core::fmt;
#[cfg(not(test))]
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering;

#[cfg(test)]
use self::checked::AtomicU64;

/// The liveness of one principal: an epoch that ends everything authenticated before it, and a count of writes under
/// way.
///
/// Both stand in one word, the epoch in the upper 32 bits and the count in the lower, because a hold must be counted
/// and the epoch compared in one step: with two words a revocation could fall in between.
#[derive(Default)]
pub struct Standing {
    word: AtomicU64,
}

/// The number of times that a principal's authentications were ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(u32);

impl Standing {
    /// The standing of a principal that begins to live.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The present epoch.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        epoch_of(self.word.load(Ordering::Acquire))
    }

    /// Ends all that was authenticated so far. No hold of a former epoch is given afterwards; those that are out stay
    /// out until dropped: see [`Standing::is_quiet`].
    pub fn end(&self) {
        // The upper half wraps without touching the count.
        self.word.fetch_add(ONE_EPOCH, Ordering::AcqRel);
    }

    /// Whether no write is under way. After [`Standing::end`] this becomes and stays true, unless the principal is
    /// authenticated anew.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        holds_of(self.word.load(Ordering::Acquire)) == 0
    }

    /// A hold, if `epoch` is the present one.
    pub(crate) fn hold(self: &Arc<Self>, epoch: Epoch) -> Option<Hold> {
        self.word
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
                (epoch_of(word) == epoch && holds_of(word) < u32::MAX).then(|| word + 1)
            })
            .ok()
            .map(|_| Hold {
                standing: Arc::clone(self),
            })
    }
}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Ordering::Relaxed);
        f.debug_struct("Standing")
            .field("epoch", &epoch_of(word).0)
            .field("holds", &holds_of(word))
            .finish()
    }
}

/// The right to write into a program now. Keep it for the one write: a revocation waits until it is dropped.
#[derive(Debug)]
#[must_use = "bytes may be written only while the hold lives"]
pub struct Hold {
    standing: Arc<Standing>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Never below zero: each hold was counted once, when it was made.
        self.standing.word.fetch_sub(1, Ordering::Release);
    }
}

const fn epoch_of(word: u64) -> Epoch {
    Epoch((word >> 32) as u32)
}

const fn holds_of(word: u64) -> u32 {
    word as u32
}

/// One more in the upper half.
const ONE_EPOCH: u64 = 1 << 32;

#[cfg(test)]
mod checked;
#[cfg(test)]
mod model;

#[cfg(test)]
mod tests {
    use super::{AtomicU64, Epoch, Standing};
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use core::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn a_hold_is_given_in_the_present_epoch_only() {
        let standing = Standing::new();
        let before = standing.epoch();
        assert!(standing.hold(before).is_some());
        standing.end();
        assert!(standing.hold(before).is_none());
        assert!(standing.hold(standing.epoch()).is_some());
    }

    #[test]
    fn it_is_quiet_when_every_hold_was_dropped() {
        let standing = Standing::new();
        let first = standing.hold(standing.epoch());
        let second = standing.hold(standing.epoch());
        standing.end();
        assert!(!standing.is_quiet());
        drop(first);
        assert!(!standing.is_quiet());
        drop(second);
        assert!(standing.is_quiet());
    }

    #[test]
    fn a_refused_hold_is_not_counted() {
        let standing = Standing::new();
        let stale = standing.epoch();
        standing.end();
        drop(standing.hold(stale));
        assert!(standing.is_quiet());
    }

    #[test]
    fn the_epoch_wraps_without_touching_the_count() {
        let standing = Standing {
            word: AtomicU64::new(u64::from(u32::MAX) << 32),
        };
        let standing = Arc::new(standing);
        let hold = standing.hold(Epoch(u32::MAX));
        standing.end();
        assert_eq!(standing.epoch(), Epoch(0));
        assert!(!standing.is_quiet());
        drop(hold);
        assert!(standing.is_quiet());
    }

    #[test]
    fn a_full_count_refuses_a_hold_and_does_not_spill_into_the_epoch() {
        let standing = Arc::new(Standing {
            word: AtomicU64::new(u64::from(u32::MAX)),
        });
        assert!(standing.hold(Epoch(0)).is_none());
        assert_eq!(standing.epoch(), Epoch(0));
    }

    #[test]
    fn no_write_happens_after_the_end_was_waited_for() {
        let standing = Standing::new();
        let epoch = standing.epoch();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        while let Some(_hold) = standing.hold(epoch) {
                            assert!(!over.load(Ordering::SeqCst));
                        }
                    })
                })
                .collect();
            standing.end();
            while !standing.is_quiet() {
                thread::yield_now();
            }
            over.store(true, Ordering::SeqCst);
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
    }
}
