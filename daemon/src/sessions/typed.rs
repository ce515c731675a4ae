//! The audit trail of input that comes by requests: one row per principal, session and ten seconds; how much, never what.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pairing::Principal;
use server::{clock, peer::Peer, store::Store};
use tokio::time::timeout;

use super::{SessionError, record::Record};
use crate::{
    actor,
    tally::{Pace, Tally},
};

/// What was typed into one session and is not written down yet. Whoever is in here stays until everything is, so that all that
/// comes by one name finds whether more of it may.
#[derive(Default)]
pub(super) struct Typed {
    tallies: Mutex<HashMap<Principal, Tally>>,
}

impl Typed {
    /// Notes input, and gives the tally where there was none before: its rows are to be written.
    ///
    /// # Errors
    /// [`SessionError::StoreFailed`] where the rows of earlier input cannot be written.
    async fn count(
        &self,
        principal: &Principal,
        bytes: usize,
        begin: impl FnOnce() -> Tally,
    ) -> Result<Option<Tally>, SessionError> {
        let stuck = self
            .tallies()
            .get(principal)
            .filter(|tally| tally.is_stuck())
            .cloned();
        if let Some(tally) = stuck
            && !timeout(MOST_WAIT, tally.flush()).await.unwrap_or(false)
        {
            return Err(SessionError::StoreFailed);
        }
        let mut tallies = self.tallies();
        if let Some(tally) = tallies.get(principal) {
            tally.count(bytes, clock::now());
            return Ok(None);
        }
        let tally = begin();
        tally.count(bytes, clock::now());
        tallies.insert(principal.clone(), tally.clone());
        Ok(Some(tally))
    }

    /// Writes the rows of a tally until there is nothing more to be written.
    async fn write_down(&self, principal: &Principal, tally: &Tally) {
        loop {
            let is_done = tally.write_period().await;
            let mut tallies = self.tallies();
            if is_done && tally.is_written() {
                tallies.remove(principal);
                return;
            }
        }
    }

    fn tallies(&self) -> MutexGuard<'_, HashMap<Principal, Tally>> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes input that is about to be typed; a row follows within ten seconds.
///
/// # Errors
/// [`SessionError::StoreFailed`] where the rows of earlier input cannot be written.
pub(super) async fn count(
    record: &Arc<Record>,
    store: &Store,
    principal: &Principal,
    peer: &Peer,
    bytes: usize,
) -> Result<(), SessionError> {
    let begin = || tally(record, store, principal, peer);
    if let Some(tally) = record.typed.count(principal, bytes, begin).await? {
        let (record, principal) = (Arc::clone(record), principal.clone());
        tokio::spawn(async move { record.typed.write_down(&principal, &tally).await });
    }
    Ok(())
}

/// Writes what is counted of a session, for the daemon's own end.
pub(super) async fn flush_all(record: &Record) {
    let tallies: Vec<Tally> = record.typed.tallies().values().cloned().collect();
    for tally in tallies {
        tally.flush().await;
    }
}

fn tally(record: &Record, store: &Store, principal: &Principal, peer: &Peer) -> Tally {
    let (session, store) = (record.resource.clone(), store.clone());
    let (principal, peer) = (principal.clone(), peer.clone());
    Tally::new(Pace::DEFAULT, move |counted| {
        let row = actor::input_row(&principal, &peer, &session, counted);
        let store = store.clone();
        async move { store.append_audit(row).await.is_ok() }
    })
}

/// How long a request waits for the rows of what came before it.
const MOST_WAIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use pairing::Principal;

    use super::Typed;
    use crate::{
        sessions::SessionError,
        tally::{
            Tally,
            tests::{Says, TestStore},
        },
    };

    fn stuck(counted: Result<Option<Tally>, SessionError>) -> bool {
        matches!(counted, Err(SessionError::StoreFailed))
    }

    #[tokio::test]
    async fn of_whose_input_there_are_no_rows_no_request_types_not_even_one_of_many_at_once() {
        for says in [Says::Nothing, Says::Failed] {
            let (store, typed, owner) = (TestStore::new(says), Typed::default(), Principal::Owner);
            let count = || typed.count(&owner, 3, || store.tally());
            let tally = count().await.unwrap().expect("it is the first");
            assert!(!tally.write_period().await);
            let (one, other, third) = tokio::join!(count(), count(), count());
            assert!(stuck(one) && stuck(other) && stuck(third));
            store.says(Says::Written);
            let (one, other) = tokio::join!(count(), count());
            assert!(
                one.unwrap().is_none() && other.unwrap().is_none(),
                "it is there still"
            );
            typed.write_down(&Principal::Owner, &tally).await;
            assert_eq!(
                store.rows().iter().sum::<u64>(),
                9,
                "those that were refused count for nothing"
            );
            assert!(typed.tallies().is_empty());
        }
    }

    #[tokio::test]
    async fn what_is_stuck_is_written_once_the_store_goes_on_whether_or_not_somebody_types() {
        let (store, typed) = (TestStore::new(Says::Failed), Typed::default());
        let counted = typed.count(&Principal::Owner, 3, || store.tally()).await;
        let tally = counted.unwrap().expect("it is the first");
        assert!(!tally.write_period().await);
        store.says(Says::Written);
        typed.write_down(&Principal::Owner, &tally).await;
        assert_eq!(store.rows(), [3]);
    }
}
