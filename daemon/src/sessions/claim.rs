//! Who sets a session's size.

mod rules;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use terminal::{ClientKey, Size};
use tokio::sync::watch;

use self::rules::{Member, Rules};

/// The claim of one session; clones are the same claim.
#[derive(Clone, Default)]
pub(crate) struct Claim {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    table: Mutex<Table>,
    holder: watch::Sender<Holder>,
}

#[derive(Default)]
struct Table {
    rules: Rules,
    /// Counts attachments and wishes, so that each later one is greater.
    count: u64,
    /// What clients wished that were here: who comes back is not newer than before.
    wishes: Vec<(ClientKey, u64, bool)>,
}

/// Who holds a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The claimant's number; none if nobody holds it.
    number: Option<u64>,
    /// Who that is, in words.
    pub by: Option<String>,
}

/// One attachment's part in a claim; dropping it leaves the claim to the next.
pub(crate) struct Claimant {
    claim: Claim,
    number: u64,
    client: Option<ClientKey>,
    engine: terminal::Session,
    /// Whether its client was last told that it holds the claim.
    was_holder: AtomicBool,
    /// Whether its client gave the claim back, and did not ask for it again.
    has_given: AtomicBool,
}

/// Who takes part in a claim.
pub(crate) struct NewClaimant {
    /// In words.
    pub by: String,
    /// Whether it is a terminal of its own, which takes the claim by attaching; a page asks for it.
    pub is_terminal: bool,
    /// The client, over all its connections.
    pub client: Option<ClientKey>,
}

impl Claim {
    /// Takes part, without holding anything yet.
    pub(super) fn join(&self, new: NewClaimant, engine: terminal::Session) -> Claimant {
        let mut table = self.table();
        table.count += 1;
        let number = table.count;
        let known = table
            .wishes
            .iter()
            .find(|(client, ..)| Some(*client) == new.client);
        let (wish, wants) = known.map_or((number, new.is_terminal), |(_, wish, wants)| (*wish, *wants));
        table.rules.join(Member {
            number,
            wish,
            by: new.by,
            size: None,
            wants,
            sees: true,
            is_silent: false,
        });
        table.remember(new.client, wish, wants);
        drop(table);
        Claimant {
            claim: self.clone(),
            number,
            client: new.client,
            engine,
            was_holder: AtomicBool::new(false),
            has_given: AtomicBool::new(false),
        }
    }

    /// Tells who holds it, now and at each change.
    pub(crate) fn watch(&self) -> watch::Receiver<Holder> {
        self.shared.holder.subscribe()
    }

    /// Applies a change of the rules: gives the session its holder's size, and tells who that is.
    fn change(&self, engine: &terminal::Session, change: impl FnOnce(&mut Table)) {
        let mut table = self.table();
        change(&mut table);
        let holder = table.rules.holder();
        if let Some((columns, rows)) = holder.and_then(|holder| holder.size) {
            engine.resize(Size::new(columns, rows));
        }
        let number = holder.map(|holder| holder.number);
        let by = holder.map(|holder| holder.by.clone());
        self.shared.holder.send_if_modified(|current| {
            if current.number == number {
                return false;
            }
            *current = Holder { number, by };
            true
        });
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.shared.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn remember(&mut self, client: Option<ClientKey>, wish: u64, wants: bool) {
        let Some(client) = client else { return };
        self.wishes.retain(|(known, ..)| *known != client);
        if self.wishes.len() == MOST_REMEMBERED {
            self.wishes.remove(0);
        }
        self.wishes.push((client, wish, wants));
    }
}

impl Claimant {
    /// Says what this attachment's screen can show; a terminal's first word makes it the newest.
    pub(crate) fn offer(&self, size: Size) {
        self.change(|table, number| {
            table.rules.offer(number, (size.columns(), size.rows()));
        });
    }

    /// "Fit to this screen": takes the claim from whoever has it.
    pub(crate) fn claim(&self) {
        let client = self.client;
        self.has_given.store(false, Ordering::Release);
        self.change(|table, number| {
            table.count += 1;
            let wish = table.count;
            table.rules.claim(number, wish);
            table.remember(client, wish, true);
        });
    }

    /// Gives the claim back.
    pub(crate) fn yield_it(&self) {
        let client = self.client;
        self.has_given.store(true, Ordering::Release);
        self.change(|table, number| {
            let wish = table.count;
            table.rules.yield_it(number);
            table.remember(client, wish, false);
        });
    }

    /// Whether the person at it sees the newest output.
    pub(crate) fn sees(&self, sees: bool) {
        self.change(|table, number| table.rules.sees(number, sees));
    }

    /// Whether nothing was heard of it for [`LAPSE`].
    pub(crate) fn silent(&self, is_silent: bool) {
        self.change(|table, number| table.rules.silent(number, is_silent));
    }

    /// What its client is to be told, and counts as told from here on: whether it is the holder, and whether the claim was taken
    /// from it since it was last told that it is. There may have been any number of changes between.
    pub(crate) fn tell(&self, holder: &Holder) -> (bool, bool) {
        let is_holder = holder.number == Some(self.number);
        let was_holder = self.was_holder.swap(is_holder, Ordering::AcqRel);
        let is_taken = was_holder && !is_holder && !self.has_given.load(Ordering::Acquire);
        (is_holder, is_taken)
    }

    /// Takes part no more: it only looks.
    pub(crate) fn retire(&self) {
        self.has_given.store(true, Ordering::Release);
        self.change(|table, number| table.rules.leave(number));
    }

    fn change(&self, change: impl FnOnce(&mut Table, u64)) {
        self.claim
            .change(&self.engine, |table| change(table, self.number));
    }
}

impl Drop for Claimant {
    fn drop(&mut self) {
        self.retire();
    }
}

/// Clients whose wishes are remembered; more than anybody has windows open.
const MOST_REMEMBERED: usize = 64;

#[cfg(test)]
mod tests {
    use terminal::{Offset, Size, UnixMs};

    use super::{Claim, Claimant, NewClaimant};

    fn terminal(claim: &Claim, folder: &std::path::Path) -> Claimant {
        let ended = terminal::Ended {
            exit: None,
            end: Offset(0),
            size: Size::default(),
            began: UnixMs(0),
        };
        let new = NewClaimant {
            by: "somebody".to_owned(),
            is_terminal: true,
            client: None,
        };
        let engine = terminal::Session::stored(folder.to_owned(), ended).unwrap();
        claim.join(new, engine)
    }

    #[tokio::test]
    async fn who_lost_the_claim_is_told_so_once_however_many_took_it_since() {
        let folder = tempfile::tempdir().unwrap();
        let claim = Claim::default();
        let holder = claim.watch();
        let [first, second, third] = [(); 3].map(|()| terminal(&claim, folder.path()));
        first.offer(Size::new(80, 24));
        assert_eq!(first.tell(&holder.borrow()), (true, false));
        second.offer(Size::new(70, 20));
        third.offer(Size::new(60, 20));
        assert_eq!(first.tell(&holder.borrow()), (false, true));
        assert_eq!(first.tell(&holder.borrow()), (false, false));
        assert_eq!(second.tell(&holder.borrow()), (false, false), "it never knew");
        assert_eq!(third.tell(&holder.borrow()), (true, false));
    }

    #[tokio::test]
    async fn who_gives_the_claim_back_is_not_told_that_it_was_taken() {
        let folder = tempfile::tempdir().unwrap();
        let claim = Claim::default();
        let holder = claim.watch();
        let [first, second] = [(); 2].map(|()| terminal(&claim, folder.path()));
        first.offer(Size::new(80, 24));
        second.offer(Size::new(70, 20));
        assert_eq!(second.tell(&holder.borrow()), (true, false));
        second.yield_it();
        assert_eq!(second.tell(&holder.borrow()), (false, false));
        assert_eq!(first.tell(&holder.borrow()), (true, false));
        second.claim();
        first.retire();
        assert_eq!(first.tell(&holder.borrow()), (false, false));
        assert_eq!(second.tell(&holder.borrow()), (true, false));
    }
}
