//! Where no daemon runs, what the owner does to its store is done all the same.

use daemon::{offline::Offline, paths::Paths};
use protocol::access::Health;

use super::up::failure;
use crate::{
    client::{self, Client},
    failure::Failure,
};

/// The store of the daemon that is not there; `None` where one is.
///
/// # Errors
/// Where a daemon is there and does not answer, and where there is neither daemon nor store.
pub(super) async fn instead_of(client: &Client) -> Result<Option<Offline>, Failure> {
    let Some(away) = away(client).await? else {
        return Ok(None);
    };
    match Offline::take(paths()?) {
        Ok(Some(store)) => Ok(Some(store)),
        Ok(None) => Err(away),
        Err(error) => Err(failure(&error)),
    }
}

/// The failure to reach a daemon that is not there; `None` where one is.
///
/// # Errors
/// Where it cannot be told, and inside of a session, whose daemon's store is not known.
pub(super) async fn away(client: &Client) -> Result<Option<Failure>, Failure> {
    match client.get::<Health>("/health").await {
        Ok(_) => Ok(None),
        Err(failure) if failure.is_unreachable() && client::session_socket().is_none() => Ok(Some(failure)),
        Err(failure) => Err(failure),
    }
}

/// Where the store is.
pub(super) fn paths() -> Result<Paths, Failure> {
    Paths::find(None).map_err(|error| Failure::configuration(error.to_string(), error.hint()))
}
