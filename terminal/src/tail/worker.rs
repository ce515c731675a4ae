//! The one thread that writes to the disk for all sessions.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

/// What is to be done for a session.
pub(crate) trait Work: Send + Sync {
    /// Does a part of what waits; `buffer` is scratch space. Returns when there is more to do.
    fn work(&self, buffer: &mut Vec<u8>) -> Option<Instant>;
}

/// Lets the thread work, at `due` or soon after. Costs nothing until then.
pub(crate) fn schedule(work: Arc<dyn Work>, due: Instant) {
    static WORKER: OnceLock<Sender<Job>> = OnceLock::new();
    let sender = WORKER.get_or_init(|| {
        let (sender, receiver) = mpsc::channel();
        let started = thread::Builder::new()
            .name("tail".into())
            .spawn(move || run(&receiver));
        if let Err(error) = started {
            tracing::error!(%error, "no thread writes output to the disk");
        }
        sender
    });
    // Where the thread could not be started, there is no tail.
    let _ = sender.send(Job { work, due });
}

struct Job {
    work: Arc<dyn Work>,
    due: Instant,
}

fn run(jobs: &Receiver<Job>) {
    let mut waiting: Vec<Job> = Vec::new();
    let mut buffer = Vec::new();
    loop {
        let next = waiting.iter().map(|job| job.due).min();
        let received = match next {
            None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => jobs.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        match received {
            Ok(job) => add(&mut waiting, job),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        jobs.try_iter().for_each(|job| add(&mut waiting, job));
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut waiting)
            .into_iter()
            .partition(|job| job.due <= now);
        waiting = later;
        let due: Vec<Job> = due;
        for job in due {
            if let Some(due) = job.work.work(&mut buffer) {
                add(&mut waiting, Job { due, ..job });
            }
        }
    }
}

/// One job for each session, at the earlier time.
fn add(waiting: &mut Vec<Job>, job: Job) {
    let same =
        |other: &&mut Job| Arc::as_ptr(&other.work).cast::<()>() == Arc::as_ptr(&job.work).cast::<()>();
    match waiting.iter_mut().find(same) {
        Some(other) => other.due = other.due.min(job.due),
        None => waiting.push(job),
    }
}
