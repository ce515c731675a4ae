//! What the daemon knows of one session.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use pairing::{DeviceId, ResourceId};
use protocol::{
    Timestamp,
    sessions::{self, Attention, AttentionState, Session, SessionState},
};
use tokio::sync::watch;

use super::{claim::Claim, presence::Counts};

/// One session: its engine, and what only the daemon knows.
pub(super) struct Record {
    pub(super) resource: ResourceId,
    pub(super) name: String,
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) cwd: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) created_at: Timestamp,
    pub(super) engine: terminal::Session,
    pub(super) claim: Claim,
    pub(super) presence: watch::Sender<Counts>,
    /// Devices that created it or typed into it.
    touched: Mutex<BTreeSet<DeviceId>>,
}

impl Record {
    pub(super) fn new(
        identity: (ResourceId, String),
        what: (String, Vec<String>, String),
        labels: BTreeMap<String, String>,
        engine: terminal::Session,
    ) -> Self {
        let (resource, name) = identity;
        let (command, args, cwd) = what;
        Self {
            resource,
            name,
            command,
            args,
            cwd,
            labels,
            created_at: server::clock::timestamp(server::clock::now()),
            engine,
            claim: Claim::default(),
            presence: watch::Sender::default(),
            touched: Mutex::default(),
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.engine.state().borrow().exit().is_none()
    }

    /// Notes that a device created it or typed into it.
    pub(super) fn touch(&self, device: Option<DeviceId>) {
        if let Some(device) = device {
            self.touched().insert(device);
        }
    }

    pub(super) fn is_touched_by(&self, device: DeviceId) -> bool {
        self.touched().contains(&device)
    }

    /// The session as the wire shows it, as of now.
    pub(super) fn show(&self) -> Session {
        // Read first: once it says so, everything below is final.
        let exit = self.engine.state().borrow().exit();
        let title = self.engine.title();
        let Counts { viewers, writers } = *self.presence.borrow();
        Session {
            id: self.resource.to_string(),
            name: self.name.clone(),
            command: self.command.clone(),
            args: self.args.clone(),
            cwd: self.cwd.clone(),
            state: if exit.is_some() {
                SessionState::Exited
            } else {
                SessionState::Running
            },
            exit: exit.map(wire_exit),
            created_at: self.created_at,
            ended_at: exit.and_then(|exit| self.moment(exit.duration_ms)),
            last_output_at: self.engine.last_output_ms().and_then(|ms| self.moment(ms)),
            size: wire_size(self.engine.size()),
            end: self.engine.end().0,
            title: Some(title).filter(|title| !title.is_empty()),
            last_line: self.engine.last_line(),
            viewers,
            writers,
            labels: self.labels.clone(),
            attention: Attention {
                state: AttentionState::Unknown,
                since: self.created_at,
                message: None,
            },
            note: None,
            parent: None,
            trusted: false,
            purge_at: None,
        }
    }

    /// The wall clock so many milliseconds after the session began.
    fn moment(&self, ms: u64) -> Option<Timestamp> {
        let ms = i64::try_from(ms).ok()?;
        Timestamp::from_millisecond(self.created_at.as_millisecond().checked_add(ms)?).ok()
    }

    fn touched(&self) -> MutexGuard<'_, BTreeSet<DeviceId>> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
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
