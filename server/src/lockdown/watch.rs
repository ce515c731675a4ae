//! Whether a lock-down was written down by somebody else than this daemon, as it is for one that hangs.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use super::LockdownFile;

/// Looks for the file while remote bytes move, before they do: a daemon that wakes serves none that came since.
///
/// The look blocks its thread. It costs about a microsecond, at most once in [`EVERY`]; where the file system hangs, nothing
/// remote is served.
pub(crate) struct Watch {
    file: LockdownFile,
    began: Instant,
    /// When the last look began that did not find it, in milliseconds since `began`.
    looked: AtomicU64,
    /// Whether the file would be news: not while this daemon is locked down, or locks down, by itself.
    is_on: AtomicBool,
    is_found: AtomicBool,
    found: Notify,
}

impl Watch {
    pub(super) fn new(file: LockdownFile, is_on: bool) -> Self {
        Self {
            file,
            // The first look is due at once.
            began: Instant::now().checked_sub(EVERY).unwrap_or_else(Instant::now),
            looked: AtomicU64::new(0),
            is_on: AtomicBool::new(is_on),
            is_found: AtomicBool::new(false),
            found: Notify::new(),
        }
    }

    /// Whether it is there, by a look that is younger than [`EVERY`].
    pub(crate) fn has_found(&self) -> bool {
        if !self.is_on.load(Ordering::Acquire) {
            return false;
        }
        if self.is_found.load(Ordering::Acquire) {
            return true;
        }
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let every = u64::try_from(EVERY.as_millis()).unwrap_or(u64::MAX);
        if now.saturating_sub(self.looked.load(Ordering::Acquire)) < every {
            return false;
        }
        // Others who come meanwhile look too: none of them goes on by a look that it did not wait for.
        if self.file.is_locked() {
            self.is_found.store(true, Ordering::Release);
            self.found.notify_one();
            return true;
        }
        self.looked.store(now, Ordering::Release);
        false
    }

    /// Completes once it is found.
    pub(super) async fn found(&self) {
        self.found.notified().await;
    }

    /// From now on the file says what this daemon knows.
    pub(super) fn pause(&self) {
        self.is_on.store(false, Ordering::Release);
    }

    /// From now on the file would be news.
    pub(super) fn resume(&self) {
        self.is_found.store(false, Ordering::Release);
        self.is_on.store(true, Ordering::Release);
    }

    /// As if time had passed since the last look.
    #[cfg(test)]
    pub(crate) fn make_look_old(&self) {
        self.looked.store(0, Ordering::Release);
    }
}

/// How old a look may be by which remote bytes move. Whoever writes the file instead of a daemon has waited for it for longer.
const EVERY: Duration = Duration::from_secs(1);
