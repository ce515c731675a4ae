//! The configuration: flag, then environment, then file, then default.

mod keys;
mod layers;
mod manual;
mod values;

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

pub(crate) use keys::near;
pub use layers::{Layers, Source};
pub use manual::{Setting, settings};
use pairing::{Login, Role};
#[cfg(not(feature = "tailnet-embedded"))]
pub(crate) use values::NO_NODE;

pub use crate::log::LogLevels;
use crate::tailnet::is_of_a_tailnet;

/// A valid configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `listen.tls`: the addresses of the TLS listeners, but for those of the tailnet.
    pub tls: Vec<SocketAddr>,
    /// `listen.tls`: the ports at which there is a TLS listener at each address of this machine in its tailnet.
    pub tailnet_ports: Vec<u16>,
    /// `listen.dangerous_allow_any_interface`: those may be any.
    pub any_interface: bool,
    /// `listen.names`: further host names that a browser may use.
    pub names: Vec<String>,
    /// `listen.certificate` and `listen.key`: a pair of the user's own.
    pub pair: Option<PairFiles>,
    /// `tailnet.mode`.
    pub tailnet_mode: TailnetMode,
    /// `tailnet.allow`: who may come over the tailnet; nobody where it is empty.
    pub tailnet_allow: Vec<Allowed>,
    /// `tailnet.socket`: where the machine's tailscaled is asked.
    pub tailnet_socket: PathBuf,
    /// `tailnet.hostname`, `tailnet.auth_key_file` and `tailnet.control_url`: of a node of the daemon's own.
    pub tailnet_node: NodeOptions,
    /// `limits.unauthenticated`: streams that have not authenticated.
    pub unauthenticated: usize,
    /// `limits.per_principal`: connections of one principal.
    pub per_principal: usize,
    /// `limits.connections`: connections in all.
    pub connections: usize,
    /// `pairing.max_pending`: requests that wait without an offer.
    pub max_pending: usize,
    /// `pairing.request_ttl`.
    pub request_ttl: Duration,
    /// `pairing.offer_ttl`.
    pub offer_ttl: Duration,
    /// `pairing.default_role`.
    pub default_role: Role,
    /// `pairing.idle_expiry`: a device not seen for so long expires.
    pub idle_expiry: Duration,
    /// `sessions.max`: live sessions.
    pub max_sessions: usize,
    /// `sessions.scrollback_memory`: bytes of output kept for each session.
    pub scrollback_memory: usize,
    /// `sessions.scrollback_disk`: bytes of output kept on disk for each session.
    pub scrollback_disk: u64,
    /// `sessions.disk`: bytes on disk for all sessions.
    pub disk: u64,
    /// `sessions.default_size`: columns and rows.
    pub default_size: (u16, u16),
    /// `log.level`: what is written to the log.
    pub log_levels: LogLevels,
}

/// The files of a certificate of the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairFiles {
    /// The chain, in PEM, the server's own certificate first.
    pub certificate: PathBuf,
    /// Its key, in PEM.
    pub key: PathBuf,
}

/// Whether the daemon is reached over a tailnet, and by whose node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailnetMode {
    /// It is not.
    Off,
    /// By this machine's own: its tailscaled is asked.
    Host,
    /// By one of the daemon's own, in this process.
    Embedded,
}

/// What a node of the daemon's own is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeOptions {
    /// The name that it asks its tailnet for; else the machine's.
    pub hostname: Option<String>,
    /// The file with the key that takes it into a tailnet: nobody but its owner may open it.
    pub auth_key: Option<PathBuf>,
    /// The control server; else Tailscale's.
    pub control: Option<String>,
}

/// Who may come over the tailnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// The user whom this machine's node belongs to; nobody where it is tagged.
    Oneself,
    /// A user.
    Login(Login),
    /// Nodes with this tag, which have no user: `tag:phone`.
    Tag(String),
    /// The node with this stable id, whoever's it is; where users are not told.
    Node(String),
}

/// A configuration that cannot be used: the daemon exits with 64 before any socket exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is there and cannot be read.
    #[error("the configuration file {path} cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's words.
        why: String,
    },
    /// The file is not TOML.
    #[error("the configuration file {path} is not valid TOML: {why}")]
    Syntax {
        /// The file.
        path: String,
        /// What is wrong, and where.
        why: String,
    },
    /// A key that does not exist.
    #[error("{place} sets `{key}`, which is not a key")]
    UnknownKey {
        /// The file or the environment.
        place: String,
        /// The key as written.
        key: String,
        /// The known key that looks most like it.
        nearest: String,
    },
    /// A value that the key does not take.
    #[error("{place} sets `{key}` to {value}: {why}")]
    BadValue {
        /// The flag, variable or file.
        place: String,
        /// The key.
        key: String,
        /// The value as written.
        value: String,
        /// What the key takes.
        why: String,
    },
}

impl ConfigError {
    /// What to do now.
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable { path, .. } => format!("make {path} readable for you, or remove it"),
            Self::Syntax { path, .. } => format!("mend {path}; `transom config show` prints every key"),
            Self::UnknownKey { nearest, .. } => format!("did you mean `{nearest}`?"),
            Self::BadValue { .. } => {
                "`transom config show` prints every key with a value that it takes".to_owned()
            }
        }
    }
}

impl Config {
    /// Reads all layers: `flags` are dotted keys with values as the environment would write them.
    ///
    /// # Errors
    /// [`ConfigError`] at the first thing that is wrong; nothing is guessed.
    pub fn load(file: &Path, flags: &[(&str, String)]) -> Result<(Self, Layers), ConfigError> {
        let layers = Layers::read(file, std::env::vars_os(), flags)?;
        Ok((Self::from_layers(&layers)?, layers))
    }

    fn from_layers(layers: &Layers) -> Result<Self, ConfigError> {
        let tailnet_mode = layers.parse("tailnet.mode", values::tailnet_mode)?;
        let allowed = match tailnet_mode {
            TailnetMode::Off | TailnetMode::Host => values::allowed,
            TailnetMode::Embedded => values::allowed_nodes,
        };
        let config = Self {
            tls: layers.parse("listen.tls", values::addresses)?,
            tailnet_ports: layers.parse("listen.tls", values::tailnet_ports)?,
            tailnet_mode,
            tailnet_allow: layers.parse("tailnet.allow", allowed)?,
            tailnet_socket: layers.parse("tailnet.socket", values::socket)?,
            any_interface: layers.parse("listen.dangerous_allow_any_interface", values::flag)?,
            tailnet_node: NodeOptions {
                hostname: layers.parse("tailnet.hostname", values::hostname)?,
                auth_key: layers.parse("tailnet.auth_key_file", values::file)?,
                control: layers.parse("tailnet.control_url", values::control_url)?,
            },
            names: layers.parse("listen.names", values::names)?,
            pair: pair(layers)?,
            unauthenticated: layers.parse("limits.unauthenticated", values::count)?,
            per_principal: layers.parse("limits.per_principal", values::count)?,
            connections: layers.parse("limits.connections", values::count)?,
            max_pending: layers.parse("pairing.max_pending", values::count)?,
            request_ttl: layers.parse("pairing.request_ttl", values::duration)?,
            offer_ttl: layers.parse("pairing.offer_ttl", values::duration)?,
            default_role: layers.parse("pairing.default_role", values::role)?,
            idle_expiry: layers.parse("pairing.idle_expiry", values::duration)?,
            max_sessions: layers.parse("sessions.max", values::count)?,
            scrollback_memory: layers.parse("sessions.scrollback_memory", values::scrollback)?,
            scrollback_disk: layers.parse("sessions.scrollback_disk", values::scrollback_disk)?,
            disk: layers.parse("sessions.disk", values::disk)?,
            default_size: layers.parse("sessions.default_size", values::size)?,
            log_levels: layers.parse("log.level", values::log_levels)?,
        };
        // Whoever comes to an address of a tailnet is asked about where there is one.
        let has_tailnet = config.tailnet_mode == TailnetMode::Host;
        let is_harmless = |ip: IpAddr| ip.is_loopback() || has_tailnet && is_of_a_tailnet(ip.to_canonical());
        let mut harmful = config.tls.iter().filter(|address| !is_harmless(address.ip()));
        if let Some(open) = harmful.next().filter(|_| !config.any_interface) {
            return Err(layers.bad_value(
                "listen.tls",
                &format!(
                    "{open} is not a loopback address; a listener that the whole network reaches needs \
                     listen.dangerous_allow_any_interface = true, and one for a tailnet is written tailnet:{}",
                    open.port()
                ),
            ));
        }
        if config.tailnet_mode == TailnetMode::Embedded && config.tailnet_ports.contains(&0) {
            return Err(layers.bad_value(
                "listen.tls",
                "a node of the daemon's own picks no free port: name one, like tailnet:7443",
            ));
        }
        if config.tailnet_mode == TailnetMode::Off && !config.tailnet_ports.is_empty() {
            return Err(layers.bad_value(
                "listen.tls",
                "a listener at the addresses of the tailnet needs tailnet.mode = \"host\" or \"embedded\"",
            ));
        }
        Ok(config)
    }
}

fn pair(layers: &Layers) -> Result<Option<PairFiles>, ConfigError> {
    let certificate = layers.parse("listen.certificate", values::file)?;
    let key = layers.parse("listen.key", values::file)?;
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(PairFiles { certificate, key })),
        (None, None) => Ok(None),
        (Some(_), None) => {
            Err(layers.bad_value("listen.certificate", "it needs its key: set listen.key too"))
        }
        (None, Some(_)) => Err(layers.bad_value(
            "listen.key",
            "it needs its certificate: set listen.certificate too",
        )),
    }
}

#[cfg(test)]
mod tests;
