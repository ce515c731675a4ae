//! The one thread that writes: two lanes of jobs. Changes that wait together are committed together, each whole or not at all.

use std::{
    collections::VecDeque,
    io,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rusqlite::{Connection, Transaction, TransactionBehavior, ffi};
use tokio::sync::oneshot;

use super::{StoreError, schema};
use crate::metrics::{Count, Histogram};

/// The writer's handle. Dropping it lets the jobs that wait be done, then closes the file.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Which jobs go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Revocations: before anything that waits.
    Priority,
    /// Everything else, in order.
    Ordinary,
}

#[derive(Default)]
struct Shared {
    lanes: Mutex<Lanes>,
    changed: Condvar,
    writes: Writes,
}

/// How long changes took from when they were queued, and how many have failed.
#[derive(Default)]
pub(super) struct Writes {
    pub(super) durations: Histogram,
    pub(super) failed: Count,
}

impl Writes {
    fn count(&self, taken: Duration, is_made: bool) {
        self.durations.observe(taken);
        if !is_made {
            self.failed.add();
        }
    }
}

#[derive(Default)]
struct Lanes {
    priority: VecDeque<Job>,
    ordinary: VecDeque<Job>,
    /// Set when the handle is gone or the thread has ended; no job is taken afterwards.
    closed: bool,
}

impl Lanes {
    fn is_empty(&self) -> bool {
        self.priority.is_empty() && self.ordinary.is_empty()
    }
}

enum Job {
    Change(Box<dyn Change>),
    /// What is no part of a transaction.
    #[cfg(test)]
    Alone(Box<dyn FnOnce(&mut Connection) + Send>),
}

/// A change that somebody may wait for.
trait Change: Send {
    /// Makes it, and says whether it is to be kept.
    fn make(&mut self, transaction: &Transaction<'_>) -> bool;

    /// Tells whoever waits what came of it, and counts it; `committed` is what came of the transaction.
    fn tell(self: Box<Self>, committed: Result<(), StoreError>, writes: &Writes);
}

struct Awaited<T, W, F> {
    queued: Instant,
    work: Option<W>,
    made: Option<Result<T, StoreError>>,
    then: F,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W, F> Change for Awaited<T, W, F>
where
    T: Send,
    W: FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send,
    F: FnOnce(&T) + Send,
{
    fn make(&mut self, transaction: &Transaction<'_>) -> bool {
        self.made = self.work.take().map(|work| work(transaction));
        matches!(self.made, Some(Ok(_)))
    }

    fn tell(self: Box<Self>, committed: Result<(), StoreError>, writes: &Writes) {
        let result = match (self.made, committed) {
            (Some(made), Ok(())) => made.inspect(self.then),
            // Its own failure says more than that of all.
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        // Before whoever waits goes on, and may look.
        writes.count(self.queued.elapsed(), result.is_ok());
        // Nobody waiting is no failure: the work is done all the same.
        let _ = self.reply.send(result);
    }
}

impl Writer {
    pub(super) fn start(connection: Connection) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let worker = Worker {
            shared: shared.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || worker.work(connection))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Makes a change whole and commits it, synced, unless it fails.
    ///
    /// The job is queued before the first await: it will be done even if the future is dropped.
    pub(super) fn run<T, W>(
        &self,
        lane: Lane,
        work: W,
    ) -> impl Future<Output = Result<T, StoreError>> + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.run_then(lane, work, |_: &T| ())
    }

    /// The same, and calls `then` with what came of it, on the writer's thread, once it is synced and before anybody is told.
    pub(super) fn run_then<T, W, F>(
        &self,
        lane: Lane,
        work: W,
        then: F,
    ) -> impl Future<Output = Result<T, StoreError>> + use<T, W, F>
    where
        T: Send + 'static,
        W: FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
        F: FnOnce(&T) + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let change = Awaited {
            queued: Instant::now(),
            work: Some(work),
            made: None,
            then,
            reply,
        };
        let queued = self.shared.queue(lane, Job::Change(Box::new(change)));
        told(queued, answer)
    }

    /// How long changes took.
    pub(super) fn writes(&self) -> &Writes {
        &self.shared.writes
    }

    #[cfg(test)]
    pub(super) async fn set_query_only(&self, on: bool) {
        let set = move |sql: &mut Connection| Ok(sql.pragma_update(None, "query_only", on)?);
        self.with_connection(Lane::Priority, set).await.unwrap();
    }

    /// Nothing behind this in the queue is done until what is given is dropped. No transaction, which a store that is broken
    /// would refuse to begin.
    #[cfg(test)]
    pub(super) fn hold(&self) -> std::sync::mpsc::Sender<()> {
        let (held, end) = std::sync::mpsc::channel::<()>();
        let wait = move |_: &mut Connection| {
            end.recv().ok();
            Ok(())
        };
        // It waits in the queue from now on.
        drop(self.with_connection(Lane::Priority, wait));
        held
    }

    /// How many ordinary changes wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.shared.lock().ordinary.len()
    }

    #[cfg(test)]
    fn with_connection<T, W>(
        &self,
        lane: Lane,
        work: W,
    ) -> impl Future<Output = Result<T, StoreError>> + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let alone = move |connection: &mut Connection| {
            let _ = reply.send(work(connection));
        };
        let queued = self.shared.queue(lane, Job::Alone(Box::new(alone)));
        told(queued, answer)
    }
}

async fn told<T>(is_queued: bool, answer: oneshot::Receiver<Result<T, StoreError>>) -> Result<T, StoreError> {
    if is_queued {
        answer.await.unwrap_or(Err(StoreError::Closed))
    } else {
        Err(StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by the panic hook, and every caller was told.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Waits for so long at most, and says whether nothing came.
    fn is_idle_for(&self, rest: Duration) -> bool {
        let nothing_comes = |lanes: &mut Lanes| lanes.is_empty() && !lanes.closed;
        let waited = self.changed.wait_timeout_while(self.lock(), rest, nothing_comes);
        let (lanes, _) = waited.unwrap_or_else(PoisonError::into_inner);
        lanes.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Lanes> {
        // No code that can panic runs under this lock.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self, lane: Lane, job: Job) -> bool {
        let mut lanes = self.lock();
        if lanes.closed {
            return false;
        }
        match lane {
            Lane::Priority => lanes.priority.push_back(job),
            Lane::Ordinary => lanes.ordinary.push_back(job),
        }
        self.changed.notify_one();
        true
    }

    /// What is to be done next: a few changes that wait in the same lane, or what is none. `None` at the end.
    fn next(&self) -> Option<Next> {
        let mut lanes = self.lock();
        loop {
            let lane = match lanes.priority.is_empty() {
                true => &mut lanes.ordinary,
                false => &mut lanes.priority,
            };
            if let Some(next) = taken(lane) {
                return Some(next);
            }
            if lanes.closed {
                return None;
            }
            lanes = self.changed.wait(lanes).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

enum Next {
    Changes(Vec<Box<dyn Change>>),
    #[cfg(test)]
    Alone(Box<dyn FnOnce(&mut Connection) + Send>),
}

fn taken(lane: &mut VecDeque<Job>) -> Option<Next> {
    let mut changes = match lane.pop_front()? {
        #[cfg(test)]
        Job::Alone(work) => return Some(Next::Alone(work)),
        Job::Change(change) => vec![change],
    };
    while changes.len() < TOGETHER {
        match lane.pop_front_if(|job| matches!(job, Job::Change(_))) {
            Some(Job::Change(change)) => changes.push(change),
            _ => break,
        }
    }
    Some(Next::Changes(changes))
}

struct Worker {
    shared: Arc<Shared>,
}

impl Worker {
    fn work(&self, mut connection: Connection) {
        if let Err(error) = connection.pragma_update(None, "wal_autocheckpoint", MOST_UNMOVED) {
            tracing::warn!(%error, "the store's journal is moved into its file by jobs that somebody waits for");
        }
        let damage = damage(&connection);
        let mut unmoved = 0;
        while let Some(next) = self.shared.next() {
            match next {
                Next::Changes(changes) if let Some((path, reason)) = &damage => {
                    for change in changes {
                        let refused = Err(StoreError::corrupt(path, reason));
                        change.tell(refused, &self.shared.writes);
                    }
                }
                Next::Changes(changes) => make_all(&mut connection, changes, &self.shared.writes),
                #[cfg(test)]
                Next::Alone(work) => work(&mut connection),
            }
            unmoved += 1;
            // A revocation that waited for this as well would take several times as long.
            let rest = if unmoved < MOVED_SOON {
                REST
            } else {
                Duration::ZERO
            };
            if unmoved >= MOVED_AT && self.shared.is_idle_for(rest) {
                move_journal(&connection);
                unmoved = 0;
            }
        }
    }
}

impl Drop for Worker {
    /// Also after a panic: whoever waits is told, since dropping a job drops its reply.
    fn drop(&mut self) {
        let mut lanes = self.shared.lock();
        lanes.closed = true;
        let waiting = (
            std::mem::take(&mut lanes.priority),
            std::mem::take(&mut lanes.ordinary),
        );
        drop(lanes);
        drop(waiting);
    }
}

/// What is damaged, and in which file: nothing is written to it then, as that may damage more.
fn damage(connection: &Connection) -> Option<(PathBuf, String)> {
    let reason = schema::damage(connection).unwrap_or_else(|error| Some(error.to_string()))?;
    let path = PathBuf::from(connection.path().unwrap_or_default());
    let error = StoreError::corrupt(&path, &reason);
    tracing::error!(%error, "nothing is written to the store, and whatever has to be is refused");
    Some((path, reason))
}

/// Moves what the journal has into the file, and syncs it, as far as no reader is in the way (SQLite, "Write-Ahead Logging").
fn move_journal(connection: &Connection) {
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        tracing::warn!(%error, "the store's journal could not be moved into its file, and grows");
    }
}

/// Makes changes in one transaction, and tells everybody what came of theirs. One that fails takes nothing along.
fn make_all(connection: &mut Connection, mut changes: Vec<Box<dyn Change>>, writes: &Writes) {
    let committed = make_and_commit(connection, &mut changes);
    for change in changes {
        let committed = match &committed {
            Ok(()) => Ok(()),
            Err(error) => Err(StoreError::Sql(copy_of(error))),
        };
        change.tell(committed, writes);
    }
}

fn make_and_commit(connection: &mut Connection, changes: &mut [Box<dyn Change>]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match changes {
        [only] => {
            if !only.make(&transaction) {
                return Ok(());
            }
        }
        several => {
            for change in several {
                transaction.execute_batch("SAVEPOINT change")?;
                if !change.make(&transaction) {
                    // Where it was the disk, SQLite may have undone them all; then this fails, and all are told so.
                    transaction.execute_batch("ROLLBACK TO change")?;
                }
                transaction.execute_batch("RELEASE change")?;
            }
        }
    }
    transaction.commit()
}

/// The same failure, for another who waits.
fn copy_of(error: &rusqlite::Error) -> rusqlite::Error {
    let code = error.sqlite_error().copied();
    let code = code.unwrap_or_else(|| ffi::Error::new(ffi::SQLITE_ERROR));
    rusqlite::Error::SqliteFailure(code, Some(error.to_string()))
}

/// Changes of one transaction at most: a revocation that comes meanwhile waits for them.
const TOGETHER: usize = 16;
/// Transactions after which the journal is moved in a rest: where jobs come every few milliseconds, the next would wait for that.
const MOVED_AT: u32 = 100;
/// Without a job.
const REST: Duration = Duration::from_millis(100);
/// Transactions after which it is moved as soon as nobody waits.
const MOVED_SOON: u32 = 5 * MOVED_AT;
/// Pages of the journal at which the next commit moves it, whoever waits: it would grow without end where there is always a job.
const MOST_UNMOVED: u32 = 8_000;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier, Mutex};

    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::{Lane, Writer};
    use crate::store::StoreError;

    fn writer() -> Writer {
        Writer::start(Connection::open_in_memory().unwrap()).unwrap()
    }

    /// One with a table, in a file with a journal as the store's is.
    fn in_folder() -> (Writer, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let sql = Connection::open(folder.path().join("db")).unwrap();
        sql.pragma_update(None, "journal_mode", "wal").unwrap();
        sql.execute_batch("CREATE TABLE t (x)").unwrap();
        (Writer::start(sql).unwrap(), folder)
    }

    fn journal(folder: &TempDir) -> u64 {
        std::fs::metadata(folder.path().join("db-wal")).unwrap().len()
    }

    /// A page of the journal, with its head.
    const FRAME: u64 = 24 + 4096;

    #[tokio::test]
    async fn the_priority_lane_overtakes_everything_that_waits() {
        let (writer, order) = (writer(), Arc::new(Mutex::new(Vec::new())));
        let (busy, go) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let gates = (busy.clone(), go.clone());
        let first = writer.run(Lane::Ordinary, move |_| {
            gates.0.wait();
            gates.1.wait();
            Ok(())
        });
        busy.wait();
        let note = |what: &'static str| {
            let order = order.clone();
            move |_: &rusqlite::Transaction<'_>| {
                order.lock().unwrap().push(what);
                Ok(())
            }
        };
        let jobs = [
            writer.run(Lane::Ordinary, note("audit")),
            writer.run(Lane::Ordinary, note("seen")),
        ];
        let revocation = writer.run(Lane::Priority, note("revocation"));
        go.wait();
        first.await.unwrap();
        revocation.await.unwrap();
        for job in jobs {
            job.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["revocation", "audit", "seen"]);
    }

    #[tokio::test]
    async fn a_failed_job_leaves_nothing_and_the_next_one_works() {
        let writer = writer();
        writer
            .run(Lane::Ordinary, |sql| Ok(sql.execute_batch("CREATE TABLE t (x)")?))
            .await
            .unwrap();
        let failed = writer.run(Lane::Ordinary, |sql| {
            sql.execute("INSERT INTO t VALUES (1)", [])?;
            Err::<(), _>(StoreError::Closed)
        });
        assert!(failed.await.is_err());
        let count = |sql: &rusqlite::Transaction<'_>| -> Result<i64, StoreError> {
            Ok(sql.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?)
        };
        assert_eq!(writer.run(Lane::Ordinary, count).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn changes_that_wait_together_are_committed_together_and_one_that_fails_takes_nothing_along() {
        let (writer, folder) = in_folder();
        let before = journal(&folder);
        let held = writer.hold();
        let changes: Vec<_> = (0..5)
            .map(|n| {
                writer.run(Lane::Ordinary, move |sql| {
                    sql.execute("INSERT INTO t VALUES (?1)", [n])?;
                    if n == 2 { Err(StoreError::Closed) } else { Ok(()) }
                })
            })
            .collect();
        drop(held);
        for (n, change) in changes.into_iter().enumerate() {
            assert_eq!(change.await.is_ok(), n != 2, "{n}");
        }
        assert_eq!(journal(&folder) - before, FRAME, "one page was written once");
        let all = |sql: &rusqlite::Transaction<'_>| -> Result<String, StoreError> {
            Ok(sql.query_row("SELECT group_concat(x) FROM t", [], |row| row.get(0))?)
        };
        assert_eq!(writer.run(Lane::Ordinary, all).await.unwrap(), "0,1,3,4");
    }

    #[tokio::test]
    async fn a_commit_that_fails_is_told_to_everybody_who_waits_for_it() {
        let (writer, _folder) = in_folder();
        // Of what is deferred only the commit says that it is wrong.
        let tables = "PRAGMA foreign_keys = on; CREATE TABLE a (x INTEGER PRIMARY KEY); \
                      CREATE TABLE b (x REFERENCES a DEFERRABLE INITIALLY DEFERRED)";
        let made = writer.with_connection(Lane::Ordinary, |sql| Ok(sql.execute_batch(tables)?));
        made.await.unwrap();
        let held = writer.hold();
        let changes = ["INSERT INTO t VALUES (1)", "INSERT INTO b VALUES (1)"]
            .map(|insert| writer.run(Lane::Ordinary, move |sql| Ok(sql.execute(insert, [])?)));
        drop(held);
        for change in changes {
            let told = change.await;
            assert!(matches!(told, Err(StoreError::Sql(_))), "{told:?}");
        }
        let count = |sql: &rusqlite::Transaction<'_>| -> Result<i64, StoreError> {
            Ok(sql.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?)
        };
        assert_eq!(writer.run(Lane::Ordinary, count).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn the_journal_does_not_grow_with_what_was_written() {
        let (writer, folder) = in_folder();
        for _ in 0..30 * super::MOVED_AT {
            let insert = |sql: &rusqlite::Transaction<'_>| Ok(sql.execute("INSERT INTO t VALUES (1)", [])?);
            writer.run(Lane::Ordinary, insert).await.unwrap();
        }
        // When it is moved is up to who waits when; that is far more often than never.
        let (grown, most) = (journal(&folder), 10 * u64::from(super::MOVED_AT) * FRAME);
        assert!(grown < most, "{grown} bytes");
    }

    #[tokio::test]
    async fn a_job_is_done_even_if_nobody_waits_for_it() {
        let writer = writer();
        drop(writer.run(Lane::Ordinary, |sql| Ok(sql.execute_batch("CREATE TABLE t (x)")?)));
        writer
            .run(Lane::Ordinary, |sql| {
                Ok(sql.execute_batch("INSERT INTO t VALUES (1)")?)
            })
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn everybody_is_told_when_the_thread_has_ended() {
        let writer = writer();
        let panics = writer.run(Lane::Ordinary, |_| -> Result<(), StoreError> {
            panic!("on purpose")
        });
        let waits = writer.run(Lane::Ordinary, |_| Ok(()));
        assert!(matches!(panics.await, Err(StoreError::Closed)));
        assert!(matches!(waits.await, Err(StoreError::Closed)));
        assert!(matches!(
            writer.run(Lane::Ordinary, |_| Ok(())).await,
            Err(StoreError::Closed)
        ));
    }
}
