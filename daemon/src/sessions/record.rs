//! What the daemon knows of one session.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use pairing::{DeviceId, ResourceId, Standing};
use protocol::{
    Timestamp,
    sessions::{self, Attention, AttentionState, Note, Session, SessionState},
};
use terminal::{Offset, UnixMs, Word};
use tokio::sync::watch;

use super::{
    SessionError,
    attention::{self, Seen},
    claim::Claim,
    presence::{Counts, People},
    saved::{Called, Ended},
    typed::Typed,
};
use crate::crowd::Crowd;

/// One session: its engine, and what only the daemon knows.
pub(super) struct Record {
    pub(super) resource: ResourceId,
    pub(super) made: Made,
    /// Of the programs inside of it, as a principal.
    pub(super) standing: Arc<Standing>,
    /// There while its program runs and since, once it is taken over; of one that ended before this daemon began, once
    /// somebody asks for more than the record.
    engine: OnceLock<terminal::Session>,
    folder: PathBuf,
    pub(super) claim: Claim,
    pub(super) presence: watch::Sender<People>,
    /// Those who are there, to be told of it.
    pub(super) there: Crowd<()>,
    /// Input that came by requests.
    pub(super) typed: Typed,
    kept: Mutex<Kept>,
    /// Held while it is written, so that the last state is the last written: by who writes, as nobody may be left who waits.
    pub(super) saving: Arc<tokio::sync::Mutex<()>>,
    /// Whether it is forgotten. Held while anything is told of it, so that nobody hears of it after its end.
    gone: Mutex<bool>,
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
    /// The size that its terminal began with; none of one that an older daemon made.
    pub(super) size: Option<sessions::Size>,
}

/// What may be changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) note: Option<Note>,
    /// When it is forgotten, if it was deleted; frozen at the deletion.
    pub(super) purge_at: Option<Timestamp>,
    /// When its deletion was last taken back.
    pub(super) restored_at: Option<Timestamp>,
    /// Devices that created it or typed into it.
    pub(super) touched: BTreeSet<DeviceId>,
    /// How its program ended, once everything that it drew is known.
    pub(super) ended: Option<Ended>,
    /// Why it is not taken over yet, if that failed; not written down.
    pub(super) hindrance: Option<String>,
}

impl Record {
    /// The record of a session with or, where it has ended, without a program; its files are in the folder.
    pub(super) fn new(
        resource: ResourceId,
        made: Made,
        kept: Kept,
        engine: Option<terminal::Session>,
        folder: PathBuf,
    ) -> Self {
        Self {
            resource,
            made,
            standing: Standing::new(),
            engine: engine.map(OnceLock::from).unwrap_or_default(),
            folder,
            claim: Claim::default(),
            presence: watch::Sender::default(),
            there: Crowd::new(()),
            typed: Typed::default(),
            kept: Mutex::new(kept),
            saving: Arc::default(),
            gone: Mutex::default(),
            revised: watch::Sender::default(),
        }
    }

    /// Its engine; of one that ended before this daemon began, from what the disk has.
    pub(super) fn engine(&self) -> Result<&terminal::Session, SessionError> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let ended = self.kept().ended.clone().ok_or(SessionError::OutOfReach)?;
        let duration = ended.at.duration_since(self.made.at).as_millis();
        let exit = ended.exit.as_ref().map(|exit| terminal::Exit {
            code: exit.code,
            signal: exit.signal,
            duration_ms: u64::try_from(duration).unwrap_or(0),
            peak_memory_bytes: exit.peak_memory_bytes,
        });
        let began = u64::try_from(self.made.at.as_millisecond()).unwrap_or(0);
        let what = terminal::Ended {
            exit,
            end: Offset(ended.offset),
            size: terminal::Size::new(ended.size.columns, ended.size.rows),
            began: UnixMs(began),
        };
        let stored = terminal::Session::stored(self.folder.clone(), what).map_err(SessionError::Stored)?;
        Ok(self.engine.get_or_init(|| stored))
    }

    /// Its engine, where it has one already: always while its program runs and can be reached.
    pub(super) fn live(&self) -> Option<&terminal::Session> {
        self.engine.get()
    }

    /// Goes on with the engine by which it was taken over; says whether it had none yet.
    pub(super) fn begin(&self, engine: terminal::Session) -> bool {
        let is_first = self.engine.set(engine).is_ok();
        self.revise(|kept| kept.hindrance = None);
        is_first
    }

    /// Whether its program may run and nobody could take it over yet.
    pub(super) fn is_out_of_reach(&self) -> bool {
        self.live().is_none() && self.kept().ended.is_none()
    }

    /// Where its files are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether its program runs, or may.
    pub(super) fn is_running(&self) -> bool {
        match self.live() {
            Some(engine) => engine.state().borrow().is_running(),
            None => self.is_out_of_reach(),
        }
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

    /// Notes that somebody typed into it; returns whether it is a device that had not before.
    pub(super) fn touch(&self, device: Option<DeviceId>) -> bool {
        if let Some(engine) = self.live() {
            engine.typed();
        }
        device.is_some_and(|device| self.kept().touched.insert(device))
    }

    pub(super) fn is_touched_by(&self, device: DeviceId) -> bool {
        self.kept().touched.contains(&device)
    }

    /// Whether it is forgotten, or will be once this is set.
    pub(super) fn gone(&self) -> MutexGuard<'_, bool> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
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
        let over = self.live().map(|engine| *engine.state().borrow());
        let over = over.filter(|state| !state.is_running());
        let kept = self.kept().clone();
        let now = server::clock::timestamp(server::clock::now());
        let ended = match kept.ended {
            Some(ended) => Some(ended),
            None => over.and_then(|state| self.end_of(state.exit())),
        };
        let state = match &ended {
            Some(Ended { exit: Some(_), .. }) => SessionState::Exited,
            Some(_) => SessionState::Lost,
            None => SessionState::Running,
        };
        let seen = ended.clone().or_else(|| self.end_of(None));
        let out_of_reach = seen.is_none().then(|| match &kept.hindrance {
            Some(why) => format!("the daemon cannot take it over yet: {why}"),
            None => "its program has not begun, or its keeper is slow".to_owned(),
        });
        let Counts { viewers, writers } = self.presence.borrow().counts();
        Session {
            id: self.resource.to_string(),
            name: kept.name,
            command: self.made.command.clone(),
            args: self.made.args.clone(),
            cwd: self.made.cwd.clone(),
            state,
            exit: ended.as_ref().and_then(|ended| ended.exit.clone()),
            created_at: self.made.at,
            ended_at: ended.as_ref().map(|ended| ended.at),
            last_output_at: seen.as_ref().and_then(|seen| seen.last_output_at),
            size: seen
                .as_ref()
                .map(|seen| seen.size)
                .or(self.made.size)
                .unwrap_or_else(|| wire_size(terminal::Size::default())),
            end: seen.as_ref().map_or(0, |seen| seen.offset),
            title: seen.as_ref().and_then(|seen| seen.title.clone()),
            last_line: seen.map(|seen| seen.last_line).unwrap_or_default(),
            viewers,
            writers,
            labels: kept.labels,
            attention: self.wants(ended.as_ref()),
            note: kept
                .note
                .filter(|note| note.expires_at.is_none_or(|expires| now < expires)),
            parent: self.made.parent.as_ref().map(ToString::to_string),
            trusted: self.made.trusted,
            purge_at: kept.purge_at,
            out_of_reach,
        }
    }

    /// What there is to be known of it now, as it is kept when its program has ended so.
    pub(super) fn end_of(&self, exit: Option<terminal::Exit>) -> Option<Ended> {
        let engine = self.live()?;
        let at = match exit {
            Some(exit) => self.moment(exit.duration_ms)?,
            // Of what was lost nobody knows more than that it is now.
            None => server::clock::timestamp(server::clock::now()),
        };
        Some(Ended {
            at,
            exit: exit.map(wire_exit),
            offset: engine.end().0,
            size: wire_size(engine.size()),
            title: Some(engine.title()).filter(|title| !title.is_empty()),
            last_line: engine.last_line(),
            last_output_at: engine.last_output_ms().and_then(|ms| self.moment(ms)),
            called: match engine.said().word {
                Some((ms, Word::Calls(message))) => self.moment(ms).map(|at| Called { at, message }),
                _ => None,
            },
        })
    }

    /// How long until it looks different although nothing happens to it.
    pub(super) fn due(&self) -> Option<Duration> {
        let expires = self.kept().note.as_ref().and_then(|note| note.expires_at);
        let left = expires.and_then(|expires| {
            let left = expires.duration_since(server::clock::timestamp(server::clock::now()));
            Duration::try_from(left)
                .ok()
                .filter(|left| *left > Duration::ZERO)
        });
        let engine = self.live().filter(|_| self.is_running());
        let quiet = engine.and_then(|engine| {
            let now = engine.time_ms();
            let until = seen(engine).until_ms?;
            Some(Duration::from_millis(until.saturating_sub(now)))
        });
        left.into_iter().chain(quiet).min()
    }

    /// What it wants of a person: nothing any more where it has ended, unless its last word was a call.
    fn wants(&self, ended: Option<&Ended>) -> Attention {
        if let Some(Called { at, message }) = ended.and_then(|ended| ended.called.clone()) {
            return Attention {
                state: AttentionState::Waiting,
                since: at,
                message,
            };
        }
        if self.is_out_of_reach() {
            return Attention {
                state: AttentionState::Unknown,
                since: self.made.at,
                message: None,
            };
        }
        match self.live().filter(|_| ended.is_none()).map(seen) {
            Some(seen) => Attention {
                state: seen.state,
                since: self.moment(seen.since_ms).unwrap_or(self.made.at),
                message: seen.message,
            },
            None => Attention {
                state: AttentionState::Idle,
                since: ended.map_or(self.made.at, |ended| ended.at),
                message: None,
            },
        }
    }

    /// The wall clock so many milliseconds after the session began.
    fn moment(&self, ms: u64) -> Option<Timestamp> {
        let ms = i64::try_from(ms).ok()?;
        Timestamp::from_millisecond(self.made.at.as_millisecond().checked_add(ms)?).ok()
    }
}

/// What its program wants now.
fn seen(engine: &terminal::Session) -> Seen {
    attention::seen(&engine.said(), engine.worked(), engine.time_ms())
}

/// The wall clock at a session's beginning.
pub(super) fn moment_of(began: UnixMs) -> Timestamp {
    let ms = i64::try_from(began.0).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
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
