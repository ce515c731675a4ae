//! Ends that wait for the disk: whoever asks for one of them again waits for its outcome, and is not told that there is nobody.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pairing::{Fault, Principal};
use tokio::sync::watch;

use crate::error::Failure;

/// Those that are under way, by who ends. Clones are the same.
pub(crate) struct Endings<I, T>(Arc<Mutex<HashMap<I, UnderWay<T>>>>);

struct UnderWay<T> {
    /// Only the owner may end this one.
    is_owners_alone: bool,
    outcome: Arc<Told<T>>,
}

type Told<T> = watch::Sender<Option<Result<T, Failure>>>;

impl<I: Copy + Eq + Hash, T: Clone> Endings<I, T> {
    /// Notes that somebody ends, until what is given is dropped. To be called under the lock under which they do: whoever finds
    /// nobody to end there finds this.
    pub(crate) fn begin(&self, id: I, is_owners_alone: bool) -> Ending<I, T> {
        let told = Arc::new(watch::Sender::new(None));
        let under_way = UnderWay {
            is_owners_alone,
            outcome: Arc::clone(&told),
        };
        self.all().insert(id, under_way);
        Ending {
            id,
            of: Self(Arc::clone(&self.0)),
            told,
        }
    }

    /// What comes of an end that is under way, for who was refused to end somebody; none where that was not because they are dead,
    /// or where there is no such end that `by` might have asked for.
    pub(crate) async fn outcome(
        &self,
        id: I,
        by: &Principal,
        refused: &Failure,
    ) -> Option<Result<T, Failure>> {
        if !matches!(
            refused,
            Failure::Pairing {
                fault: Fault::Unknown,
                ..
            }
        ) {
            return None;
        }
        let mut outcome = {
            let all = self.all();
            let under_way = all.get(&id)?;
            if under_way.is_owners_alone && *by != Principal::Owner {
                return None;
            }
            under_way.outcome.subscribe()
        };
        let told = outcome.wait_for(Option::is_some).await;
        match told {
            Ok(outcome) => outcome.clone(),
            Err(crash) => Some(Err(Failure::internal(&crash))),
        }
    }

    /// Whether somebody waits for an end that they asked for again.
    #[cfg(test)]
    pub(crate) fn is_waited_for(&self, id: I) -> bool {
        let all = self.all();
        all.get(&id).is_some_and(|one| one.outcome.receiver_count() > 0)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<I, UnderWay<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I, T> Default for Endings<I, T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// An end that is under way, from its beginning until this is dropped.
pub(crate) struct Ending<I: Copy + Eq + Hash, T: Clone> {
    id: I,
    of: Endings<I, T>,
    told: Arc<Told<T>>,
}

impl<I: Copy + Eq + Hash, T: Clone> Ending<I, T> {
    /// Tells what came of it to whoever asked for it again.
    pub(crate) fn tell(self, outcome: &Result<T, Failure>) {
        self.told.send_replace(Some(outcome.clone()));
    }
}

impl<I: Copy + Eq + Hash, T: Clone> Drop for Ending<I, T> {
    fn drop(&mut self) {
        self.of.all().remove(&self.id);
    }
}
