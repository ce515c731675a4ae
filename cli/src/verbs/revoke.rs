//! `transom revoke`: end the trust in a device or guest, and everything it has open.

use std::io::{IsTerminal, Write};

use daemon::offline::Offline;
use pairing::{DeviceId, GuestId};
use protocol::{
    access::{DeviceRecord, DeviceSummary, Revoked},
    guests::{GuestEnded, GuestRecord},
    sessions::{Session, SessionState, Stopped},
};
use serde_json::{Value, json};

use super::{guests::is_live, offline, up::failure};
use crate::{client::Client, escape::escape, exit, failure::Failure, names, output, prompt, target::Target};

/// Arguments of `revoke`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
When it returns, no connection of the device is left and no byte is sent to it any more. Where no daemon runs, \
the store is changed all the same. With the id of a guest, gst_ and its beginning, that is ended likewise; \
`transom guests` shows who there is.")]
pub(crate) struct Args {
    /// Ids or labels of devices or ids of guests, or beginnings that only they have
    #[arg(value_name = "DEVICE", required_unless_present = "all")]
    devices: Vec<String>,
    /// Every device that is paired
    #[arg(long, conflicts_with = "devices")]
    all: bool,
    /// Stop the sessions that a device made or typed into, too
    #[arg(long)]
    stop_sessions: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print what was closed as a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// A device that could be meant.
#[derive(Clone)]
struct Choice {
    id: DeviceId,
    label: String,
    /// What else the person who decides should know.
    about: String,
}

impl names::Device for Choice {
    fn id(&self) -> DeviceId {
        self.id
    }

    fn label(&self) -> &str {
        &self.label
    }
}

impl From<DeviceRecord> for Choice {
    fn from(device: DeviceRecord) -> Self {
        Self {
            about: format!(", {}, {} live", device.role, device.connections),
            id: device.id,
            label: device.label,
        }
    }
}

impl From<&GuestRecord> for Meant {
    fn from(guest: &GuestRecord) -> Self {
        let who = guest.login.as_deref().map_or("a guest", |login| login);
        let about = format!(" ({}, {} live)", escape(who), guest.connections);
        Self::Guest { id: guest.id, about }
    }
}

impl From<DeviceSummary> for Choice {
    fn from(device: DeviceSummary) -> Self {
        Self {
            about: String::new(),
            id: device.id,
            label: device.label,
        }
    }
}

/// Revokes the devices, once each word is known to mean one and the person has agreed.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    if !args.yes && !std::io::stdin().is_terminal() {
        let hint = "say --yes to revoke without being asked";
        return Err(Failure::usage("nobody is here to confirm the revocation", hint));
    }
    let mut place = Place::find(args, target).await?;
    let meant = meant(args, &place).await?;
    if !args.yes && !meant.is_empty() {
        // A person takes their time: a daemon may begin meanwhile, or end.
        drop(place);
        if !confirmed(&meant)? {
            return Err(Failure::failed(
                "not_confirmed",
                "nothing was revoked",
                "answer y, or say --yes",
            ));
        }
        place = Place::find(args, target).await?;
    }
    // Now: who ends itself is told nothing afterwards.
    let sessions = match args.json {
        true => Vec::new(),
        false => place.sessions().await,
    };
    let mut all: Vec<Value> = Vec::new();
    for one in &meant {
        let ended = match place.end(one).await {
            // It ended since it was found.
            Err(failure) if failure.is_unreachable() => {
                drop(place);
                place = Place::find(args, target).await?;
                place.end(one).await
            }
            done => done,
        }?;
        if !args.json {
            output::sentence(&ended.described(one, &sessions))?;
        }
        if let (Ended::Device(revoked), true) = (&ended, args.stop_sessions) {
            place.stop(revoked, args.json).await?;
        }
        all.push(ended.as_json());
    }
    if args.json {
        output::json(&all)?;
    } else if all.is_empty() {
        output::note("no devices are paired");
    }
    Ok(exit::OK)
}

/// Who is to be ended.
enum Meant {
    Device(Choice),
    Guest {
        id: GuestId,
        /// What else the person who decides should know.
        about: String,
    },
}

impl Meant {
    /// Whether both are the same guest.
    fn is(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Guest { id: one, .. }, Self::Guest { id: other, .. }) if one == other)
    }
}

/// What that came to.
enum Ended {
    Device(Revoked),
    Guest(GuestEnded),
}

/// Whom the words mean, each once: guests those that begin as their ids do, devices all others, and what no guest is meant by
/// where a device calls itself so.
async fn meant(args: &Args, place: &Place) -> Result<Vec<Meant>, Failure> {
    let known = place.devices().await?;
    let is_guest = |word: &String| word.starts_with(GuestId::PREFIX);
    let (of_guests, mut devices): (Vec<_>, Vec<_>) = args.devices.iter().cloned().partition(is_guest);
    let mut guests: Vec<Meant> = Vec::new();
    for word in of_guests {
        match place.guest(&word).await {
            Ok(guest) if guests.iter().any(|other| other.is(&guest)) => {}
            Ok(guest) => guests.push(guest),
            Err(_) if known.iter().any(|device| device.label == word) => devices.push(word),
            Err(refused) => return Err(refused),
        }
    }
    let chosen: Vec<&Choice> = match args.all {
        true => known.iter().collect(),
        false => names::devices(&known, &devices)?,
    };
    let mut meant: Vec<Meant> = chosen.into_iter().cloned().map(Meant::Device).collect();
    meant.extend(guests);
    Ok(meant)
}

/// Where the devices and guests are.
enum Place {
    Daemon(Client),
    Store(Box<Offline>),
}

impl Place {
    /// A daemon, or where none runs on this machine the store that it would serve.
    async fn find(args: &Args, target: &Target) -> Result<Self, Failure> {
        let client = target.client()?;
        if client.remote().is_some() {
            return Ok(Self::Daemon(client));
        }
        match offline::instead_of(&client).await? {
            None => Ok(Self::Daemon(client)),
            Some(_) if args.stop_sessions => Err(Failure::failed(
                "no_daemon",
                "no daemon runs, so sessions cannot be stopped",
                "revoke without --stop-sessions now; `transom up` and `transom stop` end sessions afterwards",
            )),
            Some(store) => Ok(Self::Store(Box::new(store))),
        }
    }

    /// The devices: the owner is told all of each, a device that may revoke others their names.
    async fn devices(&self) -> Result<Vec<Choice>, Failure> {
        let devices: Vec<DeviceRecord> = match self {
            Self::Daemon(client) if client.remote().is_some() => {
                let devices: Vec<DeviceSummary> = client.get("/devices").await?;
                return Ok(devices.into_iter().map(Choice::from).collect());
            }
            Self::Daemon(client) => client.get("/devices").await?,
            Self::Store(store) => store.devices(),
        };
        Ok(devices.into_iter().map(Choice::from).collect())
    }

    /// The guest that the word means. Who they are is told the owner alone: elsewhere a whole id is taken at its word.
    async fn guest(&self, word: &str) -> Result<Meant, Failure> {
        let mut known: Vec<GuestRecord> = match self {
            Self::Daemon(client) if client.remote().is_some() => {
                let hint = "say the whole id: only the owner is told who there is, on the machine itself";
                let refused = |_| Failure::usage(format!("`{word}` is not the whole id of a guest"), hint);
                return Ok(Meant::Guest {
                    id: word.parse().map_err(refused)?,
                    about: String::new(),
                });
            }
            Self::Daemon(client) => client.get("/guests").await?,
            Self::Store(store) => store.guests(),
        };
        known.retain(|guest| is_live(guest.state));
        names::guest(&known, word).map(Meant::from)
    }

    /// The sessions, by whose names people know them; none where that cannot be asked.
    async fn sessions(&self) -> Vec<Session> {
        match self {
            Self::Daemon(client) => client.get("/sessions?deleted=true").await.unwrap_or_default(),
            Self::Store(_) => Vec::new(),
        }
    }

    async fn end(&mut self, meant: &Meant) -> Result<Ended, Failure> {
        match meant {
            Meant::Device(device) => self.revoke(device.id).await.map(Ended::Device),
            Meant::Guest { id, .. } => self.end_guest(*id).await.map(Ended::Guest),
        }
    }

    async fn end_guest(&mut self, id: GuestId) -> Result<GuestEnded, Failure> {
        match self {
            Self::Daemon(client) => client.delete(&format!("/guests/{id}")).await,
            Self::Store(store) => {
                let ended = store.end_guest(id).await.map_err(|error| failure(&error))?;
                let gone = || {
                    Failure::failed(
                        "not_found",
                        "there is no such guest, or not any more",
                        "`transom guests` shows who there is",
                    )
                };
                ended.ok_or_else(gone)
            }
        }
    }

    async fn revoke(&mut self, id: DeviceId) -> Result<Revoked, Failure> {
        match self {
            Self::Daemon(client) => client.delete(&format!("/devices/{id}")).await,
            Self::Store(store) => {
                let revoked = store.revoke(id).await.map_err(|error| failure(&error))?;
                let gone = || {
                    Failure::failed(
                        "not_found",
                        "there is no such device",
                        "`transom devices` shows which are",
                    )
                };
                revoked.ok_or_else(gone)
            }
        }
    }

    /// Stops what the device made or typed into, as far as it runs.
    async fn stop(&self, revoked: &Revoked, is_json: bool) -> Result<(), Failure> {
        let Self::Daemon(client) = self else {
            return Ok(());
        };
        let sessions: Vec<Session> = client.get("/sessions").await?;
        let running = sessions.iter().filter(|session| {
            session.state == SessionState::Running && revoked.sessions.contains(&session.id)
        });
        for session in running {
            client
                .post::<Stopped>(&format!("/sessions/{}/stop", session.id), &json!({}))
                .await?;
            if !is_json {
                output::line(&format!("stopped {}", escape(&session.name)))?;
            }
        }
        Ok(())
    }
}

fn confirmed(meant: &[Meant]) -> Result<bool, Failure> {
    let mut stderr = anstream::stderr();
    for one in meant {
        match one {
            Meant::Device(Choice { id, label, about }) => {
                writeln!(stderr, "{} ({id}){about}", escape(label))?;
            }
            Meant::Guest { id, about } => writeln!(stderr, "{id}{about}")?,
        }
    }
    let what = match meant {
        [Meant::Device(_)] => "this device",
        [Meant::Guest { .. }] => "this guest",
        many if many.iter().all(|one| matches!(one, Meant::Guest { .. })) => "these guests",
        many if many.iter().all(|one| matches!(one, Meant::Device(_))) => "these devices",
        _ => "these devices and guests",
    };
    prompt::is_confirmed(&format!("Revoke {what}?"))
}

impl Ended {
    fn as_json(&self) -> Value {
        match self {
            Self::Device(revoked) => json!(revoked),
            Self::Guest(ended) => json!(ended),
        }
    }

    /// What it came to, with the names of the sessions that are known.
    fn described(&self, meant: &Meant, known: &[Session]) -> String {
        let (who, closed, elapsed_us) = match (self, meant) {
            (Self::Device(revoked), Meant::Device(device)) => {
                let who = format!("\"{}\" ({})", escape(&device.label), device.id);
                (who, revoked.closed, revoked.elapsed_us)
            }
            (Self::Device(revoked), Meant::Guest { .. }) => {
                (revoked.device_id.to_string(), revoked.closed, revoked.elapsed_us)
            }
            (Self::Guest(ended), _) => (ended.guest_id.to_string(), ended.closed, ended.elapsed_us),
        };
        let milliseconds = elapsed_us.div_ceil(1_000);
        let mut said = format!(
            "revoked {who}: closed {} in {milliseconds} ms",
            output::connections(closed)
        );
        if let Self::Device(Revoked { sessions, .. }) = self
            && !sessions.is_empty()
        {
            let name = |id: &String| {
                let known = known.iter().find(|session| session.id == *id);
                escape(known.map_or(id, |session| &session.name)).into_owned()
            };
            let sessions: Vec<_> = sessions.iter().map(name).collect();
            said.push_str(&format!("; it had made or typed into {}", sessions.join(", ")));
        }
        said
    }
}
