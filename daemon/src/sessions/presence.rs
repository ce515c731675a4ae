//! Who is there: derived from guards, so that nobody stays who has gone.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use protocol::attach;
use tokio::sync::watch;

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

    /// Who is there, this one included, now and at each change.
    pub(crate) fn watch(&self) -> watch::Receiver<People> {
        self.record.presence.subscribe()
    }

    /// How many are there, this one included.
    pub(crate) fn counts(&self) -> Counts {
        self.record.presence.borrow().counts()
    }

    /// The same as it is told to this one.
    pub(crate) fn told(&self, people: &People) -> attach::Presence {
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

/// Writers who are named; of more only the number is told.
const MOST_NAMED: usize = 32;
