//! Which daemon is meant: this user's own, or a remote one.

use std::env;

use protocol::Problem;

use crate::{
    client::Client,
    failure::Failure,
    remote::{self, Store},
};

/// Which daemon is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The one that this environment names, over its Unix socket.
    Here,
    /// The remote one that this machine calls so.
    Remote {
        /// The name.
        name: String,
        /// Whether the environment says so, for all commands, and not this one's flag.
        is_ambient: bool,
    },
}

impl Target {
    /// What the flag says; without it, what the environment says.
    pub(crate) fn of(flag: Option<String>) -> Self {
        let ambient = || env::var(VARIABLE).ok().filter(|name| !name.is_empty());
        let (name, is_ambient) = match flag {
            Some(name) => (Some(name), false),
            None => (ambient(), true),
        };
        name.map_or(Self::Here, |name| Self::Remote { name, is_ambient })
    }

    /// A client of it; nothing is connected yet.
    ///
    /// # Errors
    /// It is no remote that this machine knows, or the environment names no place.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        match self {
            Self::Here => Client::of_environment(),
            Self::Remote { name, .. } => {
                let store = Store::of_environment()?;
                Ok(Client::of_remote(remote::device(store, name)?))
            }
        }
    }

    /// Refuses what only the owner may do, on the machine itself.
    pub(crate) fn refuse_but_for_owner(&self, verb: &str) -> Result<(), Failure> {
        let Self::Remote { name, is_ambient } = self else {
            return Ok(());
        };
        let why = format!(
            "`transom {verb}` is for the owner on the daemon's own machine, and this is a device of `{name}`"
        );
        let hint = match is_ambient {
            true => format!(
                "run it on that machine; {VARIABLE} is set here, unset it to reach this machine's own daemon"
            ),
            false => "run it on that machine; without --on it is about this machine's own daemon".to_owned(),
        };
        Err(Failure::answered(Problem::new(403, "owner_only", why, hint)))
    }

    /// Refuses the flag where it is this machine that is meant.
    pub(crate) fn refuse_flag(&self, verb: &str) -> Result<(), Failure> {
        match self {
            Self::Remote {
                is_ambient: false, ..
            } => Err(Failure::usage(
                format!("`transom {verb}` is about this machine, and not about another"),
                "leave --on out",
            )),
            Self::Here | Self::Remote { .. } => Ok(()),
        }
    }

    /// The failure in words that fit where it came from.
    pub(crate) async fn explained(&self, failure: Failure) -> Failure {
        match (self, self.client()) {
            (Self::Remote { name, .. }, Ok(client)) => remote::explained(failure, name, &client).await,
            _ => failure,
        }
    }
}

/// What names a remote for all commands.
pub(crate) const VARIABLE: &str = "TRANSOM_REMOTE";
