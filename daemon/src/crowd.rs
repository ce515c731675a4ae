//! Telling many the same, so that others get their turn in between.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::sleep};

/// Many who wait for a value's changes. Whoever wakes a thousand tasks at once has everybody else wait behind them, so they are
/// told in rows.
#[derive(Debug)]
pub(crate) struct Crowd<T> {
    rows: Mutex<Vec<watch::Sender<T>>>,
}

impl<T: Clone> Crowd<T> {
    /// Nobody yet; the value is what the first ones see before they are told anything.
    pub(crate) fn new(value: T) -> Self {
        Self {
            rows: Mutex::new(vec![watch::Sender::new(value)]),
        }
    }

    /// Joins them.
    pub(crate) fn subscribe(&self) -> watch::Receiver<T> {
        let mut rows = self.rows();
        if let Some(row) = rows.iter().find(|row| row.receiver_count() < ROW) {
            return row.subscribe();
        }
        // The last row is told last: who comes while it is told misses nothing, and hears nothing twice.
        let row = watch::Sender::new(rows[rows.len() - 1].borrow().clone());
        let place = row.subscribe();
        rows.push(row);
        place
    }

    /// Tells everybody. One at a time does this.
    pub(crate) async fn tell(&self, value: T) {
        for index in 0.. {
            let (is_last, is_told) = {
                let mut rows = self.rows();
                // Of a crowd that has left no row is waited for.
                while index + 1 < rows.len() && rows.last().is_some_and(|row| row.receiver_count() == 0) {
                    rows.pop();
                }
                let is_told = rows[index].receiver_count() > 0;
                rows[index].send_replace(value.clone());
                (index + 1 == rows.len(), is_told)
            };
            if is_last {
                return;
            }
            if is_told {
                sleep(REST).await;
            }
        }
    }

    fn rows(&self) -> MutexGuard<'_, Vec<watch::Sender<T>>> {
        // No code that can panic runs under this lock.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many are woken together.
const ROW: usize = 16;
/// Between two rows: what comes meanwhile, a revocation above all, finds the processors idle.
const REST: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::{Crowd, ROW};

    #[tokio::test]
    async fn everybody_is_told_however_many_there_are_and_others_get_their_turn() {
        let crowd = Crowd::new(0);
        let mut everybody: Vec<_> = (0..3 * ROW).map(|_| crowd.subscribe()).collect();
        let (mut turns, mut told) = (0, std::pin::pin!(crowd.tell(1)));
        loop {
            tokio::select! {
                biased;
                () = &mut told => break,
                () = std::future::ready(()) => turns += 1,
            }
            tokio::task::yield_now().await;
        }
        assert!(turns >= 2, "{turns}");
        for one in &mut everybody {
            one.changed().await.unwrap();
            assert_eq!(*one.borrow(), 1);
        }
    }

    #[test]
    fn who_comes_takes_the_place_of_who_left() {
        let crowd = Crowd::new(());
        for _ in 0..10 * ROW {
            drop(crowd.subscribe());
        }
        assert_eq!(crowd.rows().len(), 1);
    }
}
