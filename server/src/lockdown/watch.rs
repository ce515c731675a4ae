//! Whether a lock-down was written down by somebody else than this daemon, as it is for one that hangs.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use tokio::sync::{Notify, futures::OwnedNotified};

use super::LockdownFile;

/// Looks for the file while remote bytes move, before they do: a daemon that wakes serves none that came since.
///
/// Each look is on a thread that may block, and is waited for where the last one is older than [`EVERY`]. Where the file system hangs
/// nothing remote is served, and everything else goes on.
pub(crate) struct Watch {
    file: LockdownFile,
    began: Instant,
    /// When the last look began that did not find it, in milliseconds since `began`.
    looked: AtomicU64,
    /// Whether a look is under way. Unset before `done` is told.
    is_looking: AtomicBool,
    /// Woken at the end of each look.
    done: Arc<Notify>,
    /// Whether the file would be news: not while this daemon is locked down, or locks down, by itself.
    is_on: AtomicBool,
    /// How often that has changed: what a look saw before counts no more.
    changes: AtomicU64,
    is_found: AtomicBool,
    found: Notify,
    /// Looks take as long as a test holds this.
    #[cfg(test)]
    pub(crate) hung: tokio::sync::Mutex<()>,
}

/// Who waits for a look: none while it does not.
pub(crate) type Waiting = Option<Pin<Box<OwnedNotified>>>;

impl Watch {
    pub(super) fn new(file: LockdownFile, is_on: bool) -> Self {
        Self {
            file,
            // The first look is due at once.
            began: Instant::now().checked_sub(EVERY).unwrap_or_else(Instant::now),
            looked: AtomicU64::new(0),
            is_looking: AtomicBool::new(false),
            done: Arc::default(),
            is_on: AtomicBool::new(is_on),
            changes: AtomicU64::new(0),
            is_found: AtomicBool::new(false),
            found: Notify::new(),
            #[cfg(test)]
            hung: tokio::sync::Mutex::default(),
        }
    }

    /// Whether it was found by the last look, however old that is.
    pub(super) fn has_found(&self) -> bool {
        self.is_on.load(Ordering::Acquire) && self.is_found.load(Ordering::Acquire)
    }

    /// Whether it is there, by a look that is younger than [`EVERY`].
    pub(crate) async fn look(self: &Arc<Self>) -> bool {
        let mut waiting = None;
        poll_fn(|context| self.poll_look(&mut waiting, context)).await
    }

    /// The same, for who is polled.
    pub(crate) fn poll_look(
        self: &Arc<Self>,
        waiting: &mut Waiting,
        context: &mut Context<'_>,
    ) -> Poll<bool> {
        loop {
            if let Some(is_there) = self.known() {
                *waiting = None;
                return Poll::Ready(is_there);
            }
            // Waited for before it begins, so that its end is not missed.
            let done = waiting.get_or_insert_with(|| Box::pin(Arc::clone(&self.done).notified_owned()));
            if done.as_mut().poll(context).is_pending() {
                self.begin();
                return Poll::Pending;
            }
            *waiting = None;
        }
    }

    /// What is known without a further look; nothing where the last one is too old.
    fn known(self: &Arc<Self>) -> Option<bool> {
        if !self.is_on.load(Ordering::Acquire) {
            return Some(false);
        }
        if self.is_found.load(Ordering::Acquire) {
            return Some(true);
        }
        let age = self.now().saturating_sub(self.looked.load(Ordering::Acquire));
        if age >= millis(EVERY) {
            return None;
        }
        if age >= millis(EVERY) / 2 {
            // While bytes keep moving none of them waits.
            self.begin();
        }
        Some(false)
    }

    /// Begins a look, unless one is under way.
    fn begin(self: &Arc<Self>) {
        if !self.is_looking.swap(true, Ordering::AcqRel) {
            let watch = Arc::clone(self);
            tokio::task::spawn_blocking(move || watch.see());
        }
    }

    fn see(&self) {
        let (now, changes) = (self.now(), self.changes.load(Ordering::Acquire));
        #[cfg(test)]
        let _hung = self.hung.blocking_lock();
        let is_there = self.file.is_locked();
        if changes == self.changes.load(Ordering::Acquire) {
            match is_there {
                true => {
                    self.is_found.store(true, Ordering::Release);
                    self.found.notify_one();
                }
                false => self.looked.store(now, Ordering::Release),
            }
        }
        self.is_looking.store(false, Ordering::Release);
        self.done.notify_waiters();
    }

    fn now(&self) -> u64 {
        millis(self.began.elapsed())
    }

    /// Completes once it is found.
    pub(super) async fn found(&self) {
        self.found.notified().await;
    }

    /// From now on the file says what this daemon knows.
    pub(super) fn pause(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.is_on.store(false, Ordering::Release);
    }

    /// From now on the file would be news.
    pub(super) fn resume(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.is_found.store(false, Ordering::Release);
        self.is_on.store(true, Ordering::Release);
    }

    /// Whether somebody waits for a look that is under way.
    #[cfg(test)]
    pub(crate) fn is_looking(&self) -> bool {
        self.is_looking.load(Ordering::Acquire)
    }

    /// As if time had passed since the last look. One that is under way ends before, as it would be young.
    #[cfg(test)]
    pub(crate) fn make_look_old(&self) {
        while self.is_looking() {
            std::thread::yield_now();
        }
        self.looked.store(0, Ordering::Release);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How old a look may be by which remote bytes move. Whoever writes the file instead of a daemon has waited for it for longer.
const EVERY: Duration = Duration::from_secs(1);
