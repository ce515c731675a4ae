//! Who sets a session's size: the newest writer with a terminal of its own.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use terminal::Size;
use tokio::sync::watch;

/// The claim of one session; clones are the same claim.
#[derive(Clone, Default)]
pub(crate) struct Claim {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    next: AtomicU64,
    /// Those who could hold it, the newest last: that one does.
    claimants: Mutex<Vec<(u64, String, Size)>>,
    holder: watch::Sender<Holder>,
}

/// Who holds a claim, and from whom it went to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The claimant's number; none if nobody holds it.
    number: Option<u64>,
    /// Who that is, in words.
    pub by: Option<String>,
    /// The former holder, if the claim was taken and not left.
    taken_from: Option<u64>,
}

/// One attachment's part in a claim; dropping it leaves the claim to the next newest.
pub(crate) struct Claimant {
    claim: Claim,
    number: u64,
    by: String,
    engine: terminal::Session,
}

impl Claim {
    /// Takes part, without holding anything yet.
    pub(super) fn join(&self, by: String, engine: terminal::Session) -> Claimant {
        let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
        Claimant {
            claim: self.clone(),
            number,
            by,
            engine,
        }
    }

    /// Tells who holds it, now and at each change.
    pub(crate) fn watch(&self) -> watch::Receiver<Holder> {
        self.shared.holder.subscribe()
    }

    /// Gives the claim to the newest and the session that one's size; `taken_from` is who had it and is still there.
    fn settle(&self, claimants: &MutexGuard<'_, Vec<(u64, String, Size)>>, engine: &terminal::Session) {
        let newest = claimants.last();
        if let Some((_, _, size)) = newest {
            engine.resize(*size);
        }
        let number = newest.map(|(number, ..)| *number);
        self.shared.holder.send_if_modified(|holder| {
            if holder.number == number {
                return false;
            }
            let former = holder
                .number
                .filter(|former| claimants.iter().any(|(there, ..)| there == former));
            *holder = Holder {
                number,
                by: newest.map(|(_, by, _)| by.clone()),
                taken_from: former,
            };
            true
        });
    }

    fn claimants(&self) -> MutexGuard<'_, Vec<(u64, String, Size)>> {
        self.shared
            .claimants
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claimant {
    /// Says what this attachment's terminal can show; the first time makes it the newest.
    pub(crate) fn offer(&self, size: Size) {
        let mut claimants = self.claim.claimants();
        match claimants.iter_mut().find(|(number, ..)| *number == self.number) {
            Some(own) => own.2 = size,
            None => claimants.push((self.number, self.by.clone(), size)),
        }
        self.claim.settle(&claimants, &self.engine);
    }

    /// Whether the holder is this one, and whether the claim was taken from it just now.
    pub(crate) fn stands(&self, holder: &Holder) -> (bool, bool) {
        (
            holder.number == Some(self.number),
            holder.taken_from == Some(self.number),
        )
    }
}

impl Drop for Claimant {
    fn drop(&mut self) {
        let mut claimants = self.claim.claimants();
        claimants.retain(|(number, ..)| *number != self.number);
        self.claim.settle(&claimants, &self.engine);
    }
}
