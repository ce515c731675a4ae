//! Starting a program in a new session.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc};

use pairing::{Hold, Manage, Permit, Principal, ResourceId};
use protocol::sessions::{NewSession, Session};
use server::peer::Peer;
use terminal::{Command, SessionId, Size, program_environment};

use super::{
    SessionError, Sessions, bounds, name, publish,
    record::{Kept, Made, Record, moment_of, wire_size},
};
use crate::actor;

impl Sessions {
    /// Starts a program; the session is in the list once the program was seen running.
    ///
    /// # Errors
    /// [`SessionError`], with nothing started and nothing listed.
    pub(crate) async fn create(
        &self,
        permit: &Permit<Manage>,
        peer: &Peer,
        new: NewSession,
    ) -> Result<Session, SessionError> {
        let is_local = matches!(permit.principal(), Principal::Owner | Principal::Session(_));
        if new.env.is_some() && !is_local {
            return Err(SessionError::ForeignEnvironment);
        }
        if let Some(cwd) = new.cwd.as_ref().filter(|cwd| !cwd.starts_with('/')) {
            return Err(SessionError::RelativeDirectory(cwd.clone()));
        }
        if new.trusted && *permit.principal() != Principal::Owner {
            return Err(SessionError::ForeignTrust);
        }
        bounds::program(&new)?;
        bounds::labels(&new.labels)?;
        let reservation = self.reserve(new.name.as_deref(), &new.command)?;
        let id = SessionId::from_bytes(server::random::bytes());
        let resource: ResourceId = id.to_string().parse().map_err(|_| SessionError::NotFound)?;
        let command = self.command(id, &new);
        let (cwd, size) = (command.cwd.display().to_string(), command.size);
        let what = match new.trusted {
            true => format!("{}, trusted", reservation.name),
            false => reservation.name.clone(),
        };
        let row = actor::row(permit.principal(), peer, "session_created", &resource).detail(what);
        self.append_act(permit.principal(), row).await?;
        // Held up to the list, so that a revocation finds the session there and names it; not while the disk writes.
        let (engine, hold) = match self.start(permit, id, command).await {
            Ok(started) => started,
            Err(error) => {
                let row = actor::row(permit.principal(), peer, "session_created", &resource)
                    .outcome(error.problem().code);
                // The failure itself is the answer; a row that says so too is a courtesy.
                self.append_audit(permit.principal(), peer, row).await.ok();
                return Err(error);
            }
        };
        let made = Made {
            command: new.command,
            args: new.args,
            cwd,
            at: moment_of(engine.began()),
            parent: match permit.principal() {
                Principal::Session(parent) => Some(parent.clone()),
                _ => None,
            },
            trusted: new.trusted,
            size: Some(wire_size(size)),
        };
        if let Some(parent) = &made.parent {
            self.shared.lineage.add(resource.clone(), parent.clone());
        }
        let kept = Kept {
            name: reservation.name.clone(),
            labels: new.labels,
            touched: permit.principal().device_id().into_iter().collect(),
            ..Kept::default()
        };
        let folder = self.folder_of(resource.as_str());
        let record = Arc::new(Record::new(resource, made, kept, Some(engine), folder));
        tracing::info!(session = %record.resource, name = reservation.name, "created a session");
        reservation.fulfil(&record);
        drop(hold);
        // A full disk keeps nobody from working; the log says what is missing there.
        if self.save(&record).await.is_err() {
            self.save_later(&record);
        }
        self.shared.tidying.notify_one();
        publish::spawn(self.clone(), &record);
        Ok(record.show())
    }

    /// Starts the program for who is still there: writing the row before, or starting, may have taken a while.
    async fn start(
        &self,
        permit: &Permit<Manage>,
        id: SessionId,
        command: Command,
    ) -> Result<(terminal::Session, Hold), SessionError> {
        if !permit.is_current() {
            return Err(SessionError::Ended);
        }
        let options = self.options(&id.to_string());
        let engine = self.shared.keeper.spawn(id, command, options).await?;
        match permit.hold() {
            Some(hold) => Ok((engine, hold)),
            None => {
                engine.stop().await;
                self.shared.keeper.forget(id).await;
                Err(SessionError::Ended)
            }
        }
    }

    fn command(&self, id: SessionId, new: &NewSession) -> Command {
        let settings = self.shared.settings();
        let base = match &new.env {
            Some(env) => owned(env),
            None => settings.environment.clone(),
        };
        Command {
            program: new.command.clone().into(),
            args: new.args.iter().map(OsString::from).collect(),
            cwd: new
                .cwd
                .as_ref()
                .map_or_else(|| settings.home.clone(), PathBuf::from),
            env: program_environment(base, id, &settings.socket),
            size: new
                .size
                .map_or(settings.default_size, |size| Size::new(size.columns, size.rows)),
            descriptor_limit: Some(settings.descriptors),
        }
    }

    /// Takes a place and a name, so that two who create at once get neither the same name nor one place too many.
    fn reserve(&self, wanted: Option<&str>, command: &str) -> Result<Reservation, SessionError> {
        let mut table = self.table();
        let running = table.records.iter().filter(|record| record.is_running());
        let live = running.count() + table.reserved.len();
        if live >= self.shared.settings().max {
            return Err(SessionError::TooMany(live));
        }
        let settings = self.shared.settings();
        if (live as u64 + 1) * settings.scrollback_disk > settings.disk {
            return Err(SessionError::NoRoom(live));
        }
        let name = match wanted {
            Some(wanted) => {
                name::check(wanted)?;
                if table.is_taken(wanted) {
                    return Err(SessionError::NameTaken(wanted.to_owned()));
                }
                wanted.to_owned()
            }
            None => name::for_command(command, |name| table.is_taken(name)),
        };
        table.reserved.insert(name.clone());
        drop(table);
        Ok(Reservation {
            sessions: self.clone(),
            name,
            is_fulfilled: false,
        })
    }
}

/// A place and a name; dropping it gives them back.
struct Reservation {
    sessions: Sessions,
    name: String,
    is_fulfilled: bool,
}

impl Reservation {
    /// Gives the place and the name to a session: it counts once.
    fn fulfil(mut self, record: &Arc<Record>) {
        let mut table = self.sessions.table();
        table.records.push(record.clone());
        table.reserved.remove(&self.name);
        drop(table);
        self.is_fulfilled = true;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // By now the name may be reserved by somebody else.
        if !self.is_fulfilled {
            self.sessions.table().reserved.remove(&self.name);
        }
    }
}

fn owned(env: &BTreeMap<String, String>) -> Vec<(OsString, OsString)> {
    env.iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}
