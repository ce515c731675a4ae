//! Who is there: derived from guards, so that nobody stays who has gone.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use protocol::attach;
use tokio::{sync::watch, time::sleep};

use super::record::Record;

/// The attachments of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct People {
    viewers: u32,
    /// Those that may type, by number, in words, in the order in which they came.
    writers: Vec<(u64, String)>,
}

/// Attachments of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Those that look.
    pub viewers: u32,
    /// Those that may type.
    pub writers: u32,
}

impl Counts {
    pub(super) fn plus(self, more: Self) -> Self {
        Self {
            viewers: self.viewers.saturating_add(more.viewers),
            writers: self.writers.saturating_add(more.writers),
        }
    }
}

/// One attachment that is there; dropping it says that it is gone.
pub(crate) struct Presence {
    record: Arc<Record>,
    number: u64,
}

impl People {
    /// How many there are.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            viewers: self.viewers,
            writers: u32::try_from(self.writers.len()).unwrap_or(u32::MAX),
        }
    }

    fn leave(&mut self, number: u64) {
        let before = self.writers.len();
        self.writers.retain(|(there, _)| *there != number);
        if self.writers.len() == before {
            self.viewers = self.viewers.saturating_sub(1);
        }
    }
}

impl Presence {
    /// `writes` is who may type, in words; `None` for who looks.
    pub(super) fn enter(record: Arc<Record>, writes: Option<String>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        record.presence.send_modify(|people| match writes {
            Some(who) => people.writers.push((number, who)),
            None => people.viewers += 1,
        });
        Self { record, number }
    }

    /// When who is there is to be told anew.
    pub(crate) fn news(&self) -> watch::Receiver<()> {
        self.record.there.subscribe()
    }

    /// How many are there, this one included.
    pub(crate) fn counts(&self) -> Counts {
        self.record.presence.borrow().counts()
    }

    /// Who is there now, as it is told to this one.
    pub(crate) fn told(&self) -> attach::Presence {
        let people = self.record.presence.borrow();
        let Counts { viewers, writers } = people.counts();
        let own = people.writers.iter().filter(|(number, _)| *number == self.number);
        let others = people.writers.iter().filter(|(number, _)| *number != self.number);
        attach::Presence {
            viewers,
            writers,
            typing: own
                .chain(others)
                .map(|(_, who)| who.clone())
                .take(MOST_NAMED)
                .collect(),
        }
    }

    /// From now on this one only looks.
    pub(crate) fn only_looks(&self) {
        self.record.presence.send_if_modified(|people| {
            let before = people.writers.len();
            people.writers.retain(|(there, _)| *there != self.number);
            let was_writer = people.writers.len() < before;
            people.viewers += u32::from(was_writer);
            was_writer
        });
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.record
            .presence
            .send_modify(|people| people.leave(self.number));
    }
}

/// Has everybody told who is there, until the record is gone.
pub(super) fn pace(record: &Arc<Record>) {
    let (presence, record) = (record.presence.subscribe(), Arc::downgrade(record));
    let say = move || {
        let record = record.upgrade();
        async move {
            if let Some(record) = record {
                record.there.tell(()).await;
            }
        }
    };
    tokio::spawn(paced(presence, || sleep(PAUSE), say));
}

/// Says that something changed: at once, and again when a pause is over. Each of a crowd that comes or goes would otherwise be
/// told of each other one.
async fn paced<P, S>(mut presence: watch::Receiver<People>, pause: impl Fn() -> P, say: impl Fn() -> S)
where
    P: Future<Output = ()>,
    S: Future<Output = ()>,
{
    while presence.changed().await.is_ok() {
        say().await;
        pause().await;
    }
}

/// Between two words about who is there.
const PAUSE: Duration = Duration::from_millis(100);
/// Writers who are named; of more only the number is told.
const MOST_NAMED: usize = 32;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::{Semaphore, mpsc, watch};

    use super::{People, paced};

    #[tokio::test]
    async fn the_first_who_comes_is_told_of_at_once_and_a_crowd_behind_in_one_word() {
        let (presence, pauses) = (watch::Sender::<People>::default(), Arc::new(Semaphore::new(0)));
        let (say, mut said) = mpsc::unbounded_channel();
        let (now, over) = (presence.subscribe(), Arc::clone(&pauses));
        let pause = move || {
            let over = Arc::clone(&over);
            async move { over.acquire().await.unwrap().forget() }
        };
        let say = move || {
            say.send(now.borrow().counts().viewers).unwrap();
            std::future::ready(())
        };
        let pacing = tokio::spawn(paced(presence.subscribe(), pause, say));

        presence.send_modify(|people| people.viewers += 1);
        assert_eq!(said.recv().await, Some(1));
        for _ in 0..1_000 {
            presence.send_modify(|people| people.viewers += 1);
        }
        pauses.add_permits(1);
        assert_eq!(said.recv().await, Some(1_001));
        pauses.add_permits(1);
        drop(presence);
        pacing.await.unwrap();
        assert_eq!(said.recv().await, None);
    }
}
