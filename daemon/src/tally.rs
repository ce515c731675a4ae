//! How much somebody typed into one session that no row of the audit trail says yet; never what.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use pairing::UnixMillis;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

/// What was typed and is not written down yet. Clones are the same.
#[derive(Clone)]
pub(crate) struct Tally(Arc<Inner>);

/// What one row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// How much.
    pub(crate) bytes: u64,
    /// When the first of it came.
    pub(crate) first: UnixMillis,
    /// When the last of it came.
    pub(crate) last: UnixMillis,
}

/// How often rows are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// One row stands for the input of so long, and may be late by as much.
    pub(crate) period: Duration,
    /// Between two tries at a row that could not be written.
    pub(crate) retry: Duration,
}

impl Pace {
    /// That of a daemon; tests take a faster one.
    pub(crate) const DEFAULT: Self = Self {
        period: Duration::from_secs(10),
        retry: Duration::from_secs(1),
    };
}

struct Inner {
    pace: Pace,
    write: Box<Write>,
    state: Mutex<State>,
}

/// Writes a row, and says whether it lasts.
type Write = dyn Fn(Counted) -> BoxFuture<'static, bool> + Send + Sync;

#[derive(Default)]
struct State {
    /// What no row is on its way for.
    counted: Option<Counted>,
    /// The one that is on its way. A store that hangs is given no second: what became of the first nobody knows before it says so.
    writing: Option<Shared<BoxFuture<'static, bool>>>,
    /// Rows could not be written for a whole period: nobody could say who typed, so nobody of this name may.
    is_stuck: bool,
}

impl Tally {
    /// One of which `write` writes the rows.
    pub(crate) fn new<W, F>(pace: Pace, write: W) -> Self
    where
        W: Fn(Counted) -> F + Send + Sync + 'static,
        F: Future<Output = bool> + Send + 'static,
    {
        Self(Arc::new(Inner {
            pace,
            write: Box::new(move |counted| write(counted).boxed()),
            state: Mutex::default(),
        }))
    }

    /// Notes input that is about to be typed, and says whether a period begins by it.
    pub(crate) fn count(&self, bytes: usize, now: UnixMillis) -> bool {
        let mut state = self.state();
        let begins = state.counted.is_none();
        let more = Counted {
            bytes: bytes as u64,
            first: now,
            last: now,
        };
        state.counted = Some(state.counted.map_or(more, |before| before.and(more)));
        begins
    }

    /// Whether rows could not be written for so long that nothing more may be typed.
    pub(crate) fn is_stuck(&self) -> bool {
        self.state().is_stuck
    }

    /// Whether there is nothing that is not written.
    pub(crate) fn is_written(&self) -> bool {
        self.state().is_written()
    }

    /// Writes the row of a period that has just begun, once that is over. Says `false` when that could not be done within
    /// another one, whether the store fails or says nothing: then it is stuck, until a row is written.
    pub(crate) async fn write_period(&self) -> bool {
        let Pace { period, retry } = self.0.pace;
        sleep(period).await;
        let deadline = Instant::now() + period;
        while !timeout_at(deadline, self.flush()).await.unwrap_or(false) {
            if Instant::now() >= deadline {
                let mut state = self.state();
                state.is_stuck = !state.is_written();
                return !state.is_stuck;
            }
            sleep_until((Instant::now() + retry).min(deadline)).await;
        }
        true
    }

    /// Whether everything that was counted when this was called is written. It waits for the store however long that takes.
    /// Cancel safe: a row that is on its way goes on, and what it says is counted again if it was not written.
    pub(crate) async fn flush(&self) -> bool {
        let former = self.state().writing.clone();
        if let Some(former) = former
            && !former.await
        {
            return false;
        }
        match self.begin() {
            Some(writing) => writing.await,
            None => true,
        }
    }

    /// The row that is on its way, or that now is; none where there is nothing to write.
    fn begin(&self) -> Option<Shared<BoxFuture<'static, bool>>> {
        let mut state = self.state();
        if state.writing.is_some() {
            return state.writing.clone();
        }
        let Some(taken) = state.counted.take() else {
            state.is_stuck = false;
            return None;
        };
        let (tally, row) = (self.clone(), (self.0.write)(taken));
        // In a task of its own, which begins after this lock: it is not to end because nobody waits for it any more.
        let task = tokio::spawn(async move {
            let is_written = row.await;
            tally.settle(taken, is_written);
            is_written
        });
        let writing = task.map(|ended| ended.unwrap_or(false)).boxed().shared();
        state.writing = Some(writing.clone());
        Some(writing)
    }

    fn settle(&self, taken: Counted, is_written: bool) {
        let mut state = self.state();
        state.writing = None;
        match is_written {
            true => state.is_stuck = false,
            false => state.counted = Some(state.counted.map_or(taken, |later| taken.and(later))),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_written(&self) -> bool {
        self.counted.is_none() && self.writing.is_none()
    }
}

impl Counted {
    fn and(self, later: Self) -> Self {
        Self {
            bytes: self.bytes + later.bytes,
            last: later.last,
            ..self
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
