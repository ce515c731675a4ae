//! The polls of pairing requests that are held back: one of each request, however often its secret is shown.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pairing::RequestId;
use tokio::sync::Notify;

/// Those that are held now. Only who has shown a request's secret gets into it.
#[derive(Default)]
pub(crate) struct HeldPolls(Mutex<HashMap<RequestId, Arc<Notify>>>);

impl HeldPolls {
    /// Holds a poll until what is returned is dropped, in the place of the one that is held for the same request.
    pub(crate) fn hold(&self, id: RequestId) -> HeldPoll<'_> {
        let displaced = Arc::new(Notify::new());
        if let Some(former) = self.all().insert(id, Arc::clone(&displaced)) {
            former.notify_one();
        }
        HeldPoll {
            polls: self,
            id,
            displaced,
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.all().len()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<RequestId, Arc<Notify>>> {
        // No code that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A poll that is held back.
pub(crate) struct HeldPoll<'a> {
    polls: &'a HeldPolls,
    id: RequestId,
    displaced: Arc<Notify>,
}

impl HeldPoll<'_> {
    /// Completes once a newer one has taken its place.
    pub(crate) async fn displaced(&self) {
        self.displaced.notified().await;
    }
}

impl Drop for HeldPoll<'_> {
    fn drop(&mut self) {
        let mut all = self.polls.all();
        if all
            .get(&self.id)
            .is_some_and(|held| Arc::ptr_eq(held, &self.displaced))
        {
            all.remove(&self.id);
        }
    }
}
