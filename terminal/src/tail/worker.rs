//! The one thread that writes to the disk for all sessions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

/// What is to be done for a session.
pub(crate) trait Work: Send + Sync {
    /// Does a part of what waits; `buffer` is scratch space. Returns when there is more to do.
    fn work(&self, buffer: &mut Vec<u8>) -> Option<Instant>;

    /// Says that working panicked; it is asked again only where somebody schedules it.
    fn failed(&self);
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
            match catch_unwind(AssertUnwindSafe(|| job.work.work(&mut buffer))) {
                Ok(Some(due)) => add(&mut waiting, Job { due, ..job }),
                Ok(None) => {}
                // The thread is everybody's.
                Err(_panic) => job.work.failed(),
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Arc, Mutex};
    use std::time::Instant;

    use super::{Work, schedule};

    struct Told(bool, Mutex<Sender<&'static str>>);

    impl Told {
        fn tell(&self, word: &'static str) {
            self.1.lock().unwrap().send(word).unwrap();
        }
    }

    impl Work for Told {
        fn work(&self, _buffer: &mut Vec<u8>) -> Option<Instant> {
            assert!(!self.0, "this one fails");
            self.tell("worked");
            None
        }

        fn failed(&self) {
            self.tell("failed");
        }
    }

    #[test]
    fn work_that_panics_leaves_others_theirs() {
        let (sender, told) = channel();
        for fails in [true, false] {
            let work = Told(fails, Mutex::new(sender.clone()));
            schedule(Arc::new(work), Instant::now());
        }
        drop(sender);
        let mut words: Vec<_> = told.iter().collect();
        words.sort_unstable();
        assert_eq!(words, ["failed", "worked"]);
    }
}
