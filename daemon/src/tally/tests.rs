use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use pairing::UnixMillis;
use tokio::{sync::watch, time::timeout};

use super::{Counted, Pace, Tally};

/// A store that answers as it is told to, or not at all.
#[derive(Clone)]
pub(crate) struct TestStore {
    says: watch::Sender<Says>,
    rows: Arc<Mutex<Vec<Counted>>>,
    /// How many rows it was given.
    pub(crate) asked: watch::Sender<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    Nothing,
    Written,
    Failed,
}

impl TestStore {
    pub(crate) fn new(says: Says) -> Self {
        Self {
            says: watch::Sender::new(says),
            rows: Arc::default(),
            asked: watch::Sender::new(0),
        }
    }

    pub(crate) fn says(&self, says: Says) {
        self.says.send_replace(says);
    }

    /// How many bytes its rows name, each of them.
    pub(crate) fn rows(&self) -> Vec<u64> {
        let rows = self.rows.lock().unwrap();
        rows.iter().map(|counted| counted.bytes).collect()
    }

    pub(crate) fn tally(&self) -> Tally {
        let store = self.clone();
        Tally::new(PACE, move |counted| {
            let store = store.clone();
            store.asked.send_modify(|asked| *asked += 1);
            async move {
                let mut says = store.says.subscribe();
                let said = *says.wait_for(|says| *says != Says::Nothing).await.unwrap();
                if said == Says::Written {
                    store.rows.lock().unwrap().push(counted);
                }
                said == Says::Written
            }
        })
    }
}

fn at(time: i64) -> UnixMillis {
    UnixMillis(time)
}

async fn in_time<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), what)
        .await
        .expect("it does not wait for the store")
}

#[tokio::test]
async fn the_input_of_a_period_is_one_row() {
    let store = TestStore::new(Says::Written);
    let tally = store.tally();
    assert!(tally.count(3, at(1)), "a period begins");
    assert!(!tally.count(4, at(2)));
    assert!(tally.write_period().await);
    assert_eq!(store.rows(), [7]);
    let row = store.rows.lock().unwrap()[0];
    assert_eq!((row.first, row.last), (at(1), at(2)));
    assert!(tally.flush().await && tally.is_written());
    assert_eq!(store.rows().len(), 1, "nothing more was typed");
}

#[tokio::test]
async fn a_store_that_says_nothing_is_as_one_that_fails() {
    for says in [Says::Nothing, Says::Failed] {
        let tally = TestStore::new(says).tally();
        tally.count(3, at(1));
        assert!(!in_time(tally.write_period()).await);
        assert!(tally.is_stuck());
    }
}

#[tokio::test]
async fn what_a_store_was_given_before_it_hung_is_neither_lost_nor_written_twice() {
    for says in [Says::Written, Says::Failed] {
        let store = TestStore::new(Says::Nothing);
        let tally = store.tally();
        tally.count(3, at(1));
        assert!(!in_time(tally.write_period()).await);
        tally.count(4, at(2));
        for _ in 0..3 {
            let again = timeout(PACE.retry, tally.flush()).await;
            assert!(again.is_err(), "{again:?}");
        }
        assert_eq!(
            *store.asked.borrow(),
            1,
            "it is not asked again before it has answered"
        );
        store.says(says);
        let settled = tally.flush().await;
        assert_eq!(settled, says == Says::Written);
        store.says(Says::Written);
        assert!(tally.flush().await && tally.is_written() && !tally.is_stuck());
        assert_eq!(store.rows().iter().sum::<u64>(), 7, "{:?}", store.rows());
    }
}

#[tokio::test]
async fn who_stops_waiting_for_a_row_takes_nothing_of_it_away() {
    let store = TestStore::new(Says::Nothing);
    let tally = store.tally();
    tally.count(3, at(1));
    assert!(timeout(PACE.retry, tally.flush()).await.is_err());
    store.says(Says::Failed);
    // Nobody waits for this answer.
    while tally.state().writing.is_some() {
        tokio::task::yield_now().await;
    }
    assert!(!tally.is_written());
    store.says(Says::Written);
    assert!(tally.flush().await);
    assert_eq!(store.rows(), [3]);
}

const PACE: Pace = Pace {
    period: Duration::from_millis(20),
    retry: Duration::from_millis(5),
};
