//! What all lanes share: the daemon as they reach it, the model, and what is happening to the daemon.

use std::{
    any::Any,
    collections::{BTreeMap, VecDeque},
    fmt::Display,
    net::SocketAddr,
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use harness::{Answer, Owner};
use pairing::{DeviceId, Role};
use protocol::access::DeviceRecord;
use serde::Serialize;
use tokio::sync::{RwLock, watch};

/// Why an act came to nothing.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Something that must be true is not, whatever happened to the daemon meanwhile.
    Broken(String),
    /// It did not go as it goes on a daemon that is left alone.
    Unexpected(String),
    /// It did not go, and something happened to the daemon meanwhile.
    Disturbed,
}

/// What came of an act.
pub(crate) type Outcome<T> = Result<T, Fault>;

/// What the list must say of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Its program runs.
    Running,
    /// It is listed, and not lost.
    Kept,
    /// It is being changed: nothing is known until that is over.
    Unsettled,
}

/// What the list must say of a device: its label and role; nothing while it is being changed.
pub(crate) type Paired = Option<(String, Role)>;

/// A row that the audit trail must have: action and target.
pub(crate) type Row = (&'static str, String);

/// The daemon, the model, and the state of the storm.
pub(crate) struct World {
    pub(crate) owner: Owner,
    pub(crate) address: SocketAddr,
    pub(crate) folder: PathBuf,
    pub(crate) sessions: Mutex<BTreeMap<String, Expected>>,
    pub(crate) devices: Mutex<BTreeMap<DeviceId, Paired>>,
    pub(crate) rows: Mutex<Vec<Row>>,
    /// Held to read by each act, and to write by what only a daemon without any shall go through.
    pub(crate) turns: RwLock<()>,
    /// Odd while something happens to the daemon; it is never the same number twice.
    troubles: watch::Sender<u64>,
    /// How many daemons were killed: each takes what it has just read with it, and nothing else does.
    kills: AtomicU64,
    is_over: AtomicBool,
    began: Instant,
    told: Mutex<VecDeque<String>>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl World {
    pub(crate) fn new(owner: Owner, address: SocketAddr, folder: PathBuf) -> Self {
        Self {
            owner,
            address,
            folder,
            sessions: Mutex::default(),
            devices: Mutex::default(),
            rows: Mutex::default(),
            turns: RwLock::default(),
            troubles: watch::Sender::new(0),
            kills: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            began: Instant::now(),
            told: Mutex::default(),
            counts: Mutex::default(),
        }
    }

    /// Does something on a daemon that runs. The harness panics where a daemon does not answer; here that is a [`Fault`], and
    /// forgiven where something happened to the daemon since this began.
    pub(crate) async fn attempt<T>(&self, act: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        let troubles = self.calm().await;
        self.attempt_since(troubles, act).await
    }

    /// The same for something that began earlier.
    pub(crate) async fn attempt_since<T>(
        &self,
        troubles: u64,
        act: impl Future<Output = Outcome<T>>,
    ) -> Outcome<T> {
        let why = match AssertUnwindSafe(act).catch_unwind().await {
            Ok(Err(Fault::Unexpected(why))) => why,
            Ok(done) => return done,
            Err(panic) => words(panic.as_ref()),
        };
        if *self.troubles.borrow() == troubles {
            Err(Fault::Broken(why))
        } else {
            self.count("acts that a trouble of the daemon cut short");
            Err(Fault::Disturbed)
        }
    }

    /// Does something again until nothing disturbs it.
    pub(crate) async fn persist<T, F: Future<Output = Outcome<T>>>(&self, act: impl Fn() -> F) -> Outcome<T> {
        loop {
            match self.attempt(act()).await {
                Err(Fault::Disturbed) => {}
                done => return done,
            }
        }
    }

    /// Waits until nothing happens to the daemon, and gives the number of its troubles.
    pub(crate) async fn calm(&self) -> u64 {
        let mut troubles = self.troubles.subscribe();
        let calm = troubles.wait_for(|number| number % 2 == 0).await;
        *calm.expect("the world has the sender")
    }

    /// How many daemons were killed so far.
    pub(crate) fn kills(&self) -> u64 {
        self.kills.load(Ordering::Relaxed)
    }

    /// A daemon is to be killed.
    pub(crate) fn kill(&self) {
        self.kills.fetch_add(1, Ordering::Relaxed);
    }

    /// Something happens to the daemon from now on, until it is said to be over.
    pub(crate) fn trouble(&self, is_over: bool) {
        self.troubles.send_modify(|number| *number += 1);
        assert_eq!(
            self.troubles.borrow().is_multiple_of(2),
            is_over,
            "one trouble at a time"
        );
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Counts something that was done or checked.
    pub(crate) fn count(&self, what: &'static str) {
        self.count_by(what, 1);
    }

    pub(crate) fn count_by(&self, what: &'static str, by: u64) {
        *held(&self.counts).entry(what).or_default() += by;
    }

    /// Remembers the highest of a figure.
    pub(crate) fn peak(&self, what: &'static str, value: u64) {
        let mut counts = held(&self.counts);
        let highest = counts.entry(what).or_default();
        *highest = value.max(*highest);
    }

    pub(crate) fn counts(&self) -> Vec<(&'static str, u64)> {
        held(&self.counts)
            .iter()
            .map(|(what, count)| (*what, *count))
            .collect()
    }

    /// Remembers an act, for whoever has to find out.
    pub(crate) fn tell(&self, who: &str, what: impl Display) {
        let mut told = held(&self.told);
        if told.len() == TOLD {
            told.pop_front();
        }
        told.push_back(format!(
            "{:9.3} s  {who}: {what}",
            self.began.elapsed().as_secs_f64()
        ));
    }

    pub(crate) fn told(&self) -> Vec<String> {
        held(&self.told).iter().cloned().collect()
    }

    /// The trail must have this row from now on.
    pub(crate) fn row(&self, action: &'static str, target: impl Display) {
        held(&self.rows).push((action, target.to_string()));
    }

    pub(crate) fn expect_session(&self, id: &str, expected: Expected) {
        held(&self.sessions).insert(id.to_owned(), expected);
    }

    pub(crate) fn forget_session(&self, id: &str) {
        held(&self.sessions).remove(id);
    }

    pub(crate) fn expect_device(&self, id: DeviceId, paired: Paired) {
        held(&self.devices).insert(id, paired);
    }

    /// The device must not be listed from now on.
    pub(crate) fn forget_device(&self, id: DeviceId) {
        held(&self.devices).remove(&id);
    }

    /// Asks as the owner, whose requests are answered with a success here.
    pub(crate) async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Outcome<T> {
        let answer = self.owner.request(method, path, body).await;
        let answer = good(answer, path)?;
        Ok(answer.ok())
    }

    pub(crate) async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Outcome<T> {
        self.ask("GET", path, None::<&()>).await
    }

    /// The device as it is listed, if it is.
    pub(crate) async fn listed(&self, id: DeviceId) -> Outcome<Option<DeviceRecord>> {
        self.persist(|| async {
            let all: Vec<DeviceRecord> = self.get("/v1/devices").await?;
            Ok(all.into_iter().find(|one| one.id == id))
        })
        .await
    }
}

/// The answer, if it is a success.
pub(crate) fn good(answer: Answer, what: &str) -> Outcome<Answer> {
    if (200..300).contains(&answer.status) {
        return Ok(answer);
    }
    Err(Fault::Unexpected(format!(
        "{what}: {} {}",
        answer.status, answer.body
    )))
}

/// Broken where it is not so.
pub(crate) fn must(is_so: bool, what: impl FnOnce() -> String) -> Outcome<()> {
    if is_so { Ok(()) } else { Err(Fault::Broken(what())) }
}

/// Lets time pass: the storm has a rhythm of its own, where tests have events.
pub(crate) async fn pause(milliseconds: u64) {
    let forever = std::future::pending::<()>();
    tokio::time::timeout(Duration::from_millis(milliseconds), forever)
        .await
        .ok();
}

/// Whoever panicked while it held this had written nothing by halves.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "it panicked without words".to_owned())
}

/// Acts that are remembered.
const TOLD: usize = 60;
