//! The access layer's bodies: health, whoami, status, devices, shutdown.

use jiff::Timestamp;
use pairing::{DeviceId, Role};
use serde::{Deserialize, Serialize};

use crate::{
    Bytes64, WireSecret,
    condition::{Degraded, Warning},
};

pub use tailnet::{TailnetCertificate, TailnetState, TailnetStatus};

mod tailnet;

/// The header by which a request says for which run of the daemon it is meant ([`WhoAmI::life`]): another one answers 409
/// `stale_life`, and does nothing.
pub const LIFE_HEADER: &str = "transom-life";

/// `GET /v1/health`: what anybody may know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// `ok`.
    pub status: String,
    /// The daemon's version.
    pub version: String,
    /// The daemon's lasting id, safe as a DNS label: keys of a device belong to it.
    pub instance: String,
}

/// What kind of principal an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// The local user.
    Owner,
    /// A program inside a session.
    Session,
    /// A paired device.
    Device,
    /// Somebody invited to look.
    Guest,
}

/// `GET /v1/whoami`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct WhoAmI {
    /// The kind of principal that asks.
    pub principal: PrincipalKind,
    /// The session, if it is a program inside of one; older daemons do not say it.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The device, if it is one.
    #[cfg_attr(feature = "ts", ts(type = "string | null"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::DeviceId>"))]
    pub device_id: Option<DeviceId>,
    /// The device's label, if it is one.
    pub label: Option<String>,
    /// The device's role, if it is one.
    #[cfg_attr(feature = "ts", ts(type = "\"viewer\" | \"operator\" | null"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Role>"))]
    pub role: Option<Role>,
    /// What it may do, by wire name, for example `session:view`.
    pub scopes: Vec<String>,
    /// The daemon's lasting id.
    pub instance: String,
    /// The id of this run of the daemon: another one means that it restarted.
    pub life: String,
    /// The build of the web app that this daemon serves, where it has one and says so: a page of another build was loaded
    /// before an upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub app: Option<String>,
}

/// `GET /v1/auth/challenge`: what every 401 of a listener carries, for a page that shall not be refused first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct ChallengeMade {
    /// What a device with a key signs for an access token, within a minute.
    pub challenge: String,
}

/// `POST /v1/auth/proof`, with the device token as bearer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct ProofOfKey {
    /// The challenge of a 401, or of the last answer.
    pub challenge: String,
    /// `pin:<SPKI pin>` of a native client, `origin:https://host:port` of a browser.
    pub audience: String,
    /// ECDSA P-256 with SHA-256 over the proof's text, r ‖ s, 64 bytes.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub signature: Bytes64,
}

/// The answer to a proof.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Proven {
    /// What opens the daemon to this device, on this listener and node.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub access_token: WireSecret,
    /// Seconds for which it does.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub expires_in: u64,
    /// The kind of principal that it is.
    pub principal: PrincipalKind,
    /// What to prove for the next one: good for as long as this one, and a minute more.
    pub challenge: String,
    /// The pin that the daemon will show next, told to devices that hold to the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub next_pin: Option<String>,
}

/// `POST /v1/devices/self/pin`: the device has kept the pin that comes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeptPin {
    /// Which.
    pub next_pin: String,
}

/// `POST /v1/devices`: a device without a key, for scripts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewDevice {
    /// Its name.
    pub label: String,
    /// What it may do; absent: look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Role>"))]
    pub role: Option<Role>,
    /// Seconds for which it stays trusted, at most 90 days; absent: 90 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
}

/// The answer to a new device: the token, this once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceAdded {
    /// The device.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::DeviceId"))]
    pub device_id: DeviceId,
    /// Its token, which is all that it needs.
    pub token: WireSecret,
    /// What it may do.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Role"))]
    pub role: Role,
    /// When its trust ends.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub expires_at: Timestamp,
}

/// One TLS listener of a running daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct TlsEndpoint {
    /// The bound address and port.
    pub address: String,
    /// The pin of the identity key, `sha256/<base64url>`.
    pub pin: String,
    /// The names and addresses by which a browser may reach it.
    pub names: Vec<String>,
}

/// `transom up --json`: one line when the daemon is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ready {
    /// Always true: the line is printed once the daemon serves.
    pub ready: bool,
    /// The daemon's lasting id.
    pub instance: String,
    /// The daemon's version.
    pub version: String,
    /// The path of the Unix socket.
    pub socket: String,
    /// The TLS listeners.
    pub tls: Vec<TlsEndpoint>,
    /// Whether every remote way in is closed, so that there are no TLS listeners.
    #[serde(default)]
    pub locked_down: bool,
    /// What is configured and is not as it should be, in sentences.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// `GET /v1/status` and `transom status --json`: what `up` said, with counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// Always true of a daemon that answers.
    pub ready: bool,
    /// The daemon's lasting id.
    pub instance: String,
    /// The id of this run of the daemon.
    pub life: String,
    /// The daemon's version.
    pub version: String,
    /// The daemon's process id.
    pub pid: u32,
    /// When this run began.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub started_at: Timestamp,
    /// Whether a service manager listens at the Unix socket, and starts the daemon when it is asked for.
    #[serde(default)]
    pub activated: bool,
    /// The path of the Unix socket.
    pub socket: String,
    /// The TLS listeners.
    pub tls: Vec<TlsEndpoint>,
    /// Host and port by which a device reaches it best, and which the links of offers begin with; absent where none can.
    #[serde(default)]
    pub link_authority: Option<String>,
    /// Whether every remote way in is closed, so that there are no TLS listeners.
    #[serde(default)]
    pub locked_down: bool,
    /// Why the daemon is not as it is configured; nothing where it is.
    #[serde(default)]
    pub degraded: Vec<Degraded>,
    /// What will not be as it should be soon.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// The tailnet, where one is configured.
    #[serde(default)]
    pub tailnet: Option<TailnetStatus>,
    /// The state directory.
    pub directory: String,
    /// Whether the binary carries the web app.
    pub web_app: bool,
    /// Paired devices.
    pub devices: u64,
    /// Live connections, upgraded streams not counted twice.
    pub connections: u64,
    /// The keeper of the sessions; absent before the first session.
    pub keeper: Option<KeeperStatus>,
    /// Sessions whose program runs.
    pub sessions_running: u64,
    /// Sessions in all.
    pub sessions: u64,
}

/// A value that the running daemon goes by, in the answer to `GET /v1/configuration`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Configured {
    /// The key, `section.name`.
    pub key: String,
    /// The value, as the configuration file writes it.
    pub value: String,
    /// Where it came from: `default`, `flag`, a variable's name, or the file's path.
    pub source: String,
}

/// The process that holds the sessions' terminals while daemons come and go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeeperStatus {
    /// Its process id.
    pub pid: u32,
    /// Its version, which an upgrade of the daemon does not change; absent where it is too old to say.
    pub version: Option<String>,
}

/// A device as the owner sees it: the full record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct DeviceRecord {
    /// The device.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::DeviceId"))]
    pub id: DeviceId,
    /// Its name, as approved.
    pub label: String,
    /// What it may do.
    #[cfg_attr(feature = "ts", ts(type = "\"viewer\" | \"operator\" | \"metrics\""))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Role"))]
    pub role: Role,
    /// Whether it may revoke other devices.
    pub can_revoke: bool,
    /// Whether it may come by listeners that do not know its tailnet node.
    pub any_path: bool,
    /// Whether it must prove a key; of a device without one the token alone is the device.
    pub key_bound: bool,
    /// When it was paired.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub created_at: Timestamp,
    /// The address from which it asked to be paired.
    pub approved_from: String,
    /// The stable id of its tailnet node, if it is bound to one.
    pub tailnet_node: Option<String>,
    /// Until when it may bind itself to another node, if the owner lets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional, type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub rebinds_until: Option<Timestamp>,
    /// When its trust ends by itself, if it does.
    #[cfg_attr(feature = "ts", ts(type = "string | null"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub expires_at: Option<Timestamp>,
    /// When it was last seen, to the minute.
    #[cfg_attr(feature = "ts", ts(type = "string | null"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub last_seen_at: Option<Timestamp>,
    /// The address it was last seen at.
    pub last_address: Option<String>,
    /// Its live connections; absent where nobody can know.
    pub connections: u64,
}

/// `PATCH /v1/devices/{id}`: what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct DeviceChanges {
    /// Another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Another role.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Role>"))]
    pub role: Option<Role>,
    /// Whether it may revoke other devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_revoke: Option<bool>,
    /// Seconds for which it stays trusted from now on; of a device without a key at most 90 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
}

/// `POST /v1/devices/{id}/rebind`: for some minutes the device may bind itself to the node from which it comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Rebind {
    /// It is bound to no node at once instead: it may come from anywhere.
    pub unbind: bool,
}

/// `PATCH /v1/devices/self`.
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewLabel {
    /// The device's name from now on.
    pub label: String,
}

/// `GET /v1/devices` for a device that may revoke: no more than it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceSummary {
    /// The device.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::DeviceId"))]
    pub id: DeviceId,
    /// Its name.
    pub label: String,
    /// When it was last seen, to the minute.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub last_seen_at: Option<Timestamp>,
}

/// `DELETE /v1/devices/{id}` and `/v1/devices/self`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Revoked {
    /// The device whose trust has ended.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::DeviceId"))]
    pub device_id: DeviceId,
    /// How many of its connections were closed: accepted streams, upgraded or not, each once.
    pub closed: u64,
    /// The sessions that it created or typed into.
    pub sessions: Vec<String>,
    /// From the request to the answer, in microseconds.
    pub elapsed_us: u64,
}

/// `DELETE /v1/devices/{id}/connections`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disconnected {
    /// The device, whose trust stays.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::DeviceId"))]
    pub device_id: DeviceId,
    /// How many of its connections were closed.
    pub closed: u64,
}

/// `POST /v1/lockdown`: there is nothing to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Lockdown {}

/// The answer to a lock-down: every remote way in is closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockedDown {
    /// How many remote connections were closed.
    pub closed: u64,
    /// From the request to the answer, in microseconds.
    pub elapsed_us: u64,
}

/// `DELETE /v1/lockdown`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockdownLifted {
    /// How many remote listeners were opened; none where it was not locked down.
    pub listeners: u64,
}

/// `POST /v1/shutdown`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Shutdown {
    /// Stop the running sessions too; without it, they go on, and the next daemon takes them over.
    pub sessions: bool,
}

/// `POST /v1/reload`: there is nothing to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Reload {}

/// The answer to a reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reloaded {
    /// The keys whose values are others now, in order.
    pub changed: Vec<String>,
    /// Why the daemon is not as it is configured all the same.
    pub degraded: Vec<Degraded>,
}

/// `POST /v1/restart`: there is nothing to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Restart {}

/// The answer to a restart: sent before the daemon drains. It serves again once [`Status::life`] is another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restarting {
    /// The daemon's process id, which it keeps.
    pub pid: u32,
    /// The life that ends.
    pub life: String,
}

/// `transom restart --json`: the daemon that serves now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restarted {
    /// The daemon's process id.
    pub pid: u32,
    /// The life that began.
    pub life: String,
    /// The daemon's version.
    pub version: String,
    /// Whether the former one was killed, as it did not answer.
    pub forced: bool,
    /// The running sessions, which went on.
    pub sessions: Vec<String>,
}

/// The answer to a shutdown: sent before the daemon drains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShuttingDown {
    /// The daemon's process id, to watch it end.
    pub pid: u32,
    /// The sessions that were stopped.
    pub stopped: Vec<String>,
}
