//! Who sets a session's size (sessions.md 4).

mod rules;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// Who holds a claim, and from whom it went to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The claimant's number; none if nobody holds it.
    number: Option<u64>,
    /// Who that is, in words.
    pub by: Option<String>,
    /// The former holder, if the claim was taken and not left.
    taken_from: Option<u64>,
    /// Counts the changes.
    change: u64,
}

impl Holder {
    /// The number of the change that made it the holder: who was told of that one once knows it.
    pub(crate) fn change(&self) -> u64 {
        self.change
    }
}

/// One attachment's part in a claim; dropping it leaves the claim to the next.
pub(crate) struct Claimant {
    claim: Claim,
    number: u64,
    client: Option<ClientKey>,
    engine: terminal::Session,
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
        }
    }

    /// Tells who holds it, now and at each change.
    pub(crate) fn watch(&self) -> watch::Receiver<Holder> {
        self.shared.holder.subscribe()
    }

    /// Applies a change of the rules: gives the session its holder's size, and tells who that is. `is_given` says that a former
    /// holder knows that it holds nothing any more.
    fn change(&self, engine: &terminal::Session, is_given: bool, change: impl FnOnce(&mut Table)) {
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
            let former = current
                .number
                .filter(|former| !is_given && table.rules.is_there(*former));
            *current = Holder {
                number,
                by,
                taken_from: former,
                change: current.change + 1,
            };
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
        self.change(false, |table, number| {
            table.rules.offer(number, (size.columns(), size.rows()));
        });
    }

    /// "Fit to this screen": takes the claim from whoever has it.
    pub(crate) fn claim(&self) {
        let client = self.client;
        self.change(false, |table, number| {
            table.count += 1;
            let wish = table.count;
            table.rules.claim(number, wish);
            table.remember(client, wish, true);
        });
    }

    /// Gives the claim back.
    pub(crate) fn yield_it(&self) {
        let client = self.client;
        self.change(true, |table, number| {
            let wish = table.count;
            table.rules.yield_it(number);
            table.remember(client, wish, false);
        });
    }

    /// Whether the person at it sees the newest output.
    pub(crate) fn sees(&self, sees: bool) {
        self.change(false, |table, number| table.rules.sees(number, sees));
    }

    /// Whether nothing was heard of it for [`LAPSE`].
    pub(crate) fn silent(&self, is_silent: bool) {
        self.change(false, |table, number| table.rules.silent(number, is_silent));
    }

    /// Whether the holder is this one, and whether the claim was taken from it by the last change.
    pub(crate) fn stands(&self, holder: &Holder) -> (bool, bool) {
        (
            holder.number == Some(self.number),
            holder.taken_from == Some(self.number),
        )
    }

    /// Takes part no more: it only looks.
    pub(crate) fn retire(&self) {
        self.change(true, |table, number| table.rules.leave(number));
    }

    fn change(&self, is_given: bool, change: impl FnOnce(&mut Table, u64)) {
        self.claim
            .change(&self.engine, is_given, |table| change(table, self.number));
    }
}

impl Drop for Claimant {
    fn drop(&mut self) {
        self.retire();
    }
}

/// Clients whose wishes are remembered; more than anybody has windows open.
const MOST_REMEMBERED: usize = 64;
