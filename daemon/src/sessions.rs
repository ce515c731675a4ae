//! The sessions of this daemon: who may see and do what with them is said by permits alone.

mod adopt;
mod attention;
mod bounds;
mod change;
mod claim;
mod create;
mod disk;
mod drawing;
mod error;
mod handle;
mod input;
mod inside;
mod keep;
mod keys;
mod lineage;
mod look;
mod name;
pub(crate) mod paste;
mod presence;
mod publish;
mod record;
mod recording;
mod remove;
mod saved;
mod sight;
mod typed;
mod wait;

use std::{
    collections::HashSet,
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use pairing::{DeviceId, Permit, Principal, ResourceId, View};
use protocol::{
    access::KeeperStatus,
    events::Event,
    sessions::{Session, SessionState},
};
use server::{
    Access,
    audit::{AuditRow, NotAppended},
    peer::Peer,
    store::{Store, StoreError},
};
use terminal::{DescriptorLimit, Listed, Size};
use tokio::{sync::Notify, time::timeout};

pub(crate) use claim::{Claim, Claimant, Holder, NewClaimant};
use drawing::Drawings;
pub(crate) use error::{SessionError, problems};
pub(crate) use handle::Handle;
pub(crate) use inside::Inside;
pub(crate) use keys::UnknownKey;
use lineage::Lineage;
pub(crate) use name::MalformedName;
use presence::Counts;
pub(crate) use presence::Presence;
use record::Record;
pub(crate) use record::{wire_exit, wire_size};
pub(crate) use saved::touched_on_disk;
pub(crate) use sight::shown_to;

use crate::{
    events::Events,
    keeper::{KeeperLink, KeeperState},
};

/// What sessions are made with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Live sessions at most.
    pub max: usize,
    /// Bytes of output kept for each.
    pub scrollback_memory: usize,
    /// Bytes of output kept for each on disk.
    pub scrollback_disk: u64,
    /// Bytes on disk for all of them.
    pub disk: u64,
    /// Where they are kept, each in a folder of its own.
    pub folder: PathBuf,
    /// The size of a session whose creator names none.
    pub default_size: Size,
    /// The daemon's own environment, for those who bring none.
    pub environment: Vec<(OsString, OsString)>,
    /// The home directory of the daemon's user: where a session starts that names no other place.
    pub home: PathBuf,
    /// The daemon's Unix socket, told to every program.
    pub socket: PathBuf,
    /// The limit on descriptors that programs get back.
    pub descriptors: DescriptorLimit,
}

/// The registry; clones are the same registry.
#[derive(Clone)]
pub(crate) struct Sessions {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Mutex<Arc<Settings>>,
    events: Events,
    store: Store,
    keeper: KeeperLink,
    table: Mutex<Table>,
    lineage: Arc<Lineage>,
    drawings: Drawings,
    /// Where programs inside of sessions have their connections, and where it is counted who wrote how many audit rows, once
    /// there can be any.
    access: OnceLock<Weak<Access>>,
    /// Wakes who forgets sessions, when there may be more to forget.
    tidying: Arc<Notify>,
}

/// Who is there, by id and by name.
#[derive(Default)]
struct Table {
    /// In the order in which they were created.
    records: Vec<Arc<Record>>,
    /// Names of sessions that are being created.
    reserved: HashSet<String>,
    /// Ids of sessions whose file on disk is not of a shape that we know: it stays as it is.
    unsaved: HashSet<String>,
}

impl Table {
    /// Whether a live session has the name, or one that is being created.
    fn is_taken(&self, name: &str) -> bool {
        self.reserved.contains(name) || self.records.iter().any(|record| record.is_live_as(name))
    }
}

impl Shared {
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Sessions {
    /// An empty registry.
    pub(crate) fn new(settings: Settings, events: Events, store: Store, keeper: KeeperLink) -> Self {
        Self {
            shared: Arc::new(Shared {
                settings: Mutex::new(Arc::new(settings)),
                events,
                store,
                keeper,
                table: Mutex::default(),
                lineage: Arc::default(),
                drawings: Drawings::default(),
                access: OnceLock::new(),
                tidying: Arc::default(),
            }),
        }
    }

    /// Makes what comes next by other settings.
    pub(crate) fn configure(&self, change: impl FnOnce(Settings) -> Settings) {
        let mut settings = self
            .shared
            .settings
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *settings = Arc::new(change(Settings::clone(&settings)));
    }

    /// The sessions that the permit covers, in the order in which they were created; those that were deleted only where they
    /// are asked for too.
    pub(crate) fn list(&self, permit: &Permit<View>, deleted: bool) -> Vec<Session> {
        let records = self.table().records.clone();
        records
            .iter()
            .filter(|record| permit.covers(&record.resource))
            .filter(|record| deleted || !record.is_deleted())
            .map(|record| shown_to(permit, record.show()))
            .collect()
    }

    /// Waits a moment for the screens of running sessions that have to be drawn again, as this daemon took them over: they know
    /// the titles and last lines. Of all sessions, or of one.
    pub(crate) async fn drawn_again(&self, only: Option<&str>) {
        let records = self.table().records.clone();
        let wanted = records
            .iter()
            .filter(|record| record.is_running() && only.is_none_or(|only| record.resource.as_str() == only));
        let engines = wanted.filter_map(|record| record.live());
        timeout(
            AGAIN,
            futures_util::future::join_all(engines.map(terminal::Session::rebuilt)),
        )
        .await
        .ok();
    }

    /// Where the output of a session ends now, for guests who may look from here on; none where there is no such session.
    pub(crate) fn stands_at(&self, resource: &ResourceId) -> Option<u64> {
        let handle = self.find(resource.as_str()).ok()?;
        let is_there = !handle.record.is_deleted() && !handle.record.is_out_of_reach();
        is_there.then(|| handle.record.show().end)
    }

    /// The session of an id.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] where there is none: an unknown session is an error, never an empty answer.
    pub(crate) fn find(&self, id: &str) -> Result<Handle, SessionError> {
        let table = self.table();
        let found = table.records.iter().find(|record| record.resource.as_str() == id);
        found
            .cloned()
            .map(|record| Handle::new(record, self.clone()))
            .ok_or(SessionError::NotFound)
    }

    /// The sessions that a device created or typed into, by id.
    pub(crate) fn touched_by(&self, device: DeviceId) -> Vec<String> {
        let records = self.table().records.clone();
        let touched = records.iter().filter(|record| record.is_touched_by(device));
        touched.map(|record| record.resource.to_string()).collect()
    }

    /// What a session is called, deleted ones included.
    pub(crate) fn name_of(&self, resource: &ResourceId) -> Option<String> {
        let table = self.table();
        let mut records = table.records.iter();
        records
            .find(|record| record.resource == *resource)
            .map(|record| record.name())
    }

    /// How many there are: those whose program runs, and all.
    pub(crate) fn count(&self) -> (usize, usize) {
        let table = self.table();
        (
            table.records.iter().filter(|record| record.is_running()).count(),
            table.records.len(),
        )
    }

    /// Where each stands; none of those that were deleted.
    pub(crate) fn states(&self) -> Vec<Option<SessionState>> {
        let records = self.table().records.clone();
        let state = |record: &Arc<Record>| (!record.is_deleted()).then(|| record.show().state);
        records.iter().map(state).collect()
    }

    /// How many attachments there are to all of them.
    pub(crate) fn attached(&self) -> Counts {
        let records = self.table().records.clone();
        let counts = records.iter().map(|record| record.presence.borrow().counts());
        counts.fold(Counts::default(), Counts::plus)
    }

    /// The names of those whose program runs.
    pub(crate) fn running(&self) -> Vec<String> {
        let table = self.table();
        table
            .records
            .iter()
            .filter(|record| record.is_running())
            .map(|record| record.name())
            .collect()
    }

    /// Who holds them, once there is one.
    pub(crate) fn keeper(&self) -> Option<KeeperStatus> {
        self.shared.keeper.status()
    }

    /// How that stands, and how many were lost.
    pub(crate) fn keeper_state(&self) -> (KeeperState, u64) {
        (
            self.shared.keeper.standing(),
            *self.shared.keeper.losses().borrow(),
        )
    }

    /// Stops every program, with all that it started, also what one left behind that has ended, and keeps their output; for
    /// the daemon's own end. The keeper holds nothing more then, and goes.
    pub(crate) async fn stop_all(&self) {
        let records = self.table().records.clone();
        let stops = records.iter().map(|record| async {
            if let Some(engine) = record.live() {
                engine.stop().await;
            }
            // What a full disk does not take is not waited for.
            timeout(LAST_WRITE, self.ended(record)).await.ok();
        });
        futures_util::future::join_all(stops).await;
        // Of what ended before this daemon began, and of what it could not take over, only the keeper knows.
        let unreached = records.iter().filter(|record| record.is_out_of_reach());
        let unreached: HashSet<_> = unreached.map(|record| record.resource.to_string()).collect();
        let is_left = |listed: &Listed| listed.is_forgotten || unreached.contains(&listed.id.to_string());
        self.shared.keeper.end(is_left).await;
    }

    /// Writes down what was typed by requests and is not written yet; for the daemon's own end, which waits for no store that
    /// hangs.
    pub(crate) async fn flush_typed(&self) {
        let records = self.table().records.clone();
        let flushes = records.iter().map(|record| typed::flush_all(record));
        let flushed = timeout(LAST_WRITE, futures_util::future::join_all(flushes));
        if flushed.await.is_err() {
            tracing::warn!("what was typed last could not be written to the audit trail in time");
        }
    }

    /// Commits an audit row about what a principal is about to do, as one of those that it may have written.
    async fn append_audit(&self, by: &Principal, peer: &Peer, row: AuditRow) -> Result<(), StoreError> {
        match self.shared.access.get().and_then(Weak::upgrade) {
            Some(access) => access.append_audit(by, peer, row).await,
            // Nobody is served, so there is nobody whose rows would have to be bounded.
            None => self.shared.store.append_audit(row).await,
        }
    }

    /// Commits the row of what nobody but the owner does so often that its rows could not all be written: what is created,
    /// stopped or deleted is never a mere count.
    async fn append_act(&self, by: &Principal, row: AuditRow) -> Result<(), SessionError> {
        let appended = match self.shared.access.get().and_then(Weak::upgrade) {
            Some(access) => access.append_audit_of_act(by, row).await,
            None => self
                .shared
                .store
                .append_audit(row)
                .await
                .map_err(NotAppended::from),
        };
        appended.map_err(|error| match error {
            NotAppended::TooMany { retry_after } => SessionError::TooMuch { retry_after },
            NotAppended::Store(_) => SessionError::StoreFailed,
        })
    }

    /// Tells who follows the events that the session is in no list any more, unless it was restored meanwhile; nothing is told
    /// of it after that, if it is forgotten.
    fn told_gone(&self, record: &Record, is_forgotten: bool) {
        let mut gone = record.gone();
        *gone |= is_forgotten;
        if *gone || record.is_deleted() {
            let id = record.resource.to_string();
            self.shared.events.publish(Event::SessionRemoved { id });
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.shared.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Time for the disk to take the last of a session, or of all rows.
const LAST_WRITE: Duration = Duration::from_secs(5);

/// How long who asks what sessions look like waits for that: dozens are drawn again meanwhile, and nobody minds.
const AGAIN: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;
