//! The one thread that writes: two lanes of jobs, each job a transaction.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::StoreError;

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
}

#[derive(Default)]
struct Lanes {
    priority: VecDeque<Job>,
    ordinary: VecDeque<Job>,
    /// Set when the handle is gone or the thread has ended; no job is taken afterwards.
    closed: bool,
}

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

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

    /// Does `work` in a transaction of its own and commits it, synced, unless it fails.
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
        self.with_connection(lane, move |connection| in_transaction(connection, work))
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
        self.with_connection(lane, move |connection| {
            in_transaction(connection, work).inspect(then)
        })
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
        let job: Job = Box::new(move |connection| {
            // Nobody waiting is no failure: the work is done all the same.
            let _ = reply.send(work(connection));
        });
        let queued = self.shared.queue(lane, job);
        async move {
            if queued {
                answer.await.unwrap_or(Err(StoreError::Closed))
            } else {
                Err(StoreError::Closed)
            }
        }
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

    fn next(&self) -> Option<Job> {
        let mut lanes = self.lock();
        loop {
            let job = lanes.priority.pop_front().or_else(|| lanes.ordinary.pop_front());
            if job.is_some() || lanes.closed {
                return job;
            }
            lanes = self.changed.wait(lanes).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

struct Worker {
    shared: Arc<Shared>,
}

impl Worker {
    fn work(&self, mut connection: Connection) {
        while let Some(job) = self.shared.next() {
            job(&mut connection);
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

fn in_transaction<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier, Mutex};

    use rusqlite::Connection;

    use super::{Lane, Writer};
    use crate::store::StoreError;

    fn writer() -> Writer {
        Writer::start(Connection::open_in_memory().unwrap()).unwrap()
    }

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
