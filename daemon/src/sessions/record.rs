//! What the daemon knows of one session.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pairing::{DeviceId, ResourceId};
use protocol::{
    Timestamp,
    sessions::{self, Attention, AttentionState, Note, Session, SessionState},
};
use tokio::sync::watch;

use super::{
    claim::Claim,
    presence::{Counts, People},
    typed::Typed,
};

/// One session: its engine, and what only the daemon knows.
pub(super) struct Record {
    pub(super) resource: ResourceId,
    pub(super) made: Made,
    pub(super) engine: terminal::Session,
    pub(super) claim: Claim,
    pub(super) presence: watch::Sender<People>,
    /// Input that came by requests.
    pub(super) typed: Typed,
    kept: Mutex<Kept>,
    /// Wakes who shows it, after a change of `kept`.
    pub(super) revised: watch::Sender<()>,
}

/// What was fixed when it was made.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) cwd: String,
    pub(super) at: Timestamp,
    pub(super) parent: Option<ResourceId>,
    pub(super) trusted: bool,
}

/// What may be changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) note: Option<Note>,
    /// When it is forgotten, if it was deleted; frozen at the deletion.
    pub(super) purge_at: Option<Timestamp>,
    /// Devices that created it or typed into it.
    pub(super) touched: BTreeSet<DeviceId>,
}

impl Record {
    pub(super) fn new(resource: ResourceId, made: Made, kept: Kept, engine: terminal::Session) -> Self {
        Self {
            resource,
            made,
            engine,
            claim: Claim::default(),
            presence: watch::Sender::default(),
            typed: Typed::default(),
            kept: Mutex::new(kept),
            revised: watch::Sender::default(),
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.engine.state().borrow().is_running()
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.kept().purge_at.is_some()
    }

    pub(super) fn name(&self) -> String {
        self.kept().name.clone()
    }

    /// Whether its program runs under this name.
    pub(super) fn is_live_as(&self, name: &str) -> bool {
        self.is_running() && self.kept().name == name
    }

    /// Notes that a device created it or typed into it.
    pub(super) fn touch(&self, device: Option<DeviceId>) {
        if let Some(device) = device {
            self.kept().touched.insert(device);
        }
    }

    pub(super) fn is_touched_by(&self, device: DeviceId) -> bool {
        self.kept().touched.contains(&device)
    }

    /// Changes what may be changed, and wakes who shows it.
    pub(super) fn revise<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> T {
        let changed = change(&mut self.kept());
        self.revised.send_replace(());
        changed
    }

    pub(super) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session as the wire shows it, as of now.
    pub(super) fn show(&self) -> Session {
        // Read first: once it says so, everything below is final.
        let state = *self.engine.state().borrow();
        let exit = state.exit();
        let title = self.engine.title();
        let Counts { viewers, writers } = self.presence.borrow().counts();
        let kept = self.kept().clone();
        let now = server::clock::timestamp(server::clock::now());
        Session {
            id: self.resource.to_string(),
            name: kept.name,
            command: self.made.command.clone(),
            args: self.made.args.clone(),
            cwd: self.made.cwd.clone(),
            state: match state {
                terminal::SessionState::Running => SessionState::Running,
                terminal::SessionState::Exited(_) => SessionState::Exited,
                terminal::SessionState::Lost => SessionState::Lost,
            },
            exit: exit.map(wire_exit),
            created_at: self.made.at,
            ended_at: exit.and_then(|exit| self.moment(exit.duration_ms)),
            last_output_at: self.engine.last_output_ms().and_then(|ms| self.moment(ms)),
            size: wire_size(self.engine.size()),
            end: self.engine.end().0,
            title: Some(title).filter(|title| !title.is_empty()),
            last_line: self.engine.last_line(),
            viewers,
            writers,
            labels: kept.labels,
            attention: Attention {
                state: AttentionState::Unknown,
                since: self.made.at,
                message: None,
            },
            note: kept
                .note
                .filter(|note| note.expires_at.is_none_or(|expires| now < expires)),
            parent: self.made.parent.as_ref().map(ToString::to_string),
            trusted: self.made.trusted,
            purge_at: kept.purge_at,
        }
    }

    /// How long until it looks different although nothing happens to it.
    pub(super) fn due(&self) -> Option<Duration> {
        let expires = self.kept().note.as_ref()?.expires_at?;
        let left = expires.duration_since(server::clock::timestamp(server::clock::now()));
        left.try_into().ok().filter(|left| *left > Duration::ZERO)
    }

    /// The wall clock so many milliseconds after the session began.
    fn moment(&self, ms: u64) -> Option<Timestamp> {
        let ms = i64::try_from(ms).ok()?;
        Timestamp::from_millisecond(self.made.at.as_millisecond().checked_add(ms)?).ok()
    }
}

/// An exit as the wire shows it.
pub(crate) fn wire_exit(exit: terminal::Exit) -> sessions::Exit {
    sessions::Exit {
        code: exit.code,
        signal: exit.signal,
        duration_ms: exit.duration_ms,
        peak_memory_bytes: exit.peak_memory_bytes,
    }
}

/// A size as the wire shows it.
pub(crate) fn wire_size(size: terminal::Size) -> sessions::Size {
    sessions::Size {
        columns: size.columns(),
        rows: size.rows(),
    }
}
