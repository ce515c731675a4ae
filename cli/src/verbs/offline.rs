//! Where no daemon runs, what the owner does to its store is done all the same.

use std::time::Duration;

use daemon::{offline::Offline, paths::Paths};
use protocol::{Problem, access::Health};
use tokio::time::{Instant, sleep};

use super::up::failure;
use crate::{
    client::{self, Client},
    failure::Failure,
};

/// The store of the daemon that is not there; `None` where one is. One that starts, drains or restarts is waited for.
///
/// # Errors
/// Where a daemon has the store and does not answer, and where there is neither daemon nor store.
pub(super) async fn instead_of(client: &Client) -> Result<Option<Offline>, Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let Err(away) = client.get::<Health>("/health").await else {
            return Ok(None);
        };
        if !may_be_done_here(&away) {
            return Err(away);
        }
        match Offline::take(paths()?) {
            Ok(Some(store)) => return Ok(Some(store)),
            Ok(None) => return Err(away),
            Err(error) if error.is_taken() => {}
            Err(error) => return Err(failure(&error)),
        }
        if Instant::now() >= deadline {
            return Err(hangs(
                "a daemon has the store and does not answer: nothing was changed",
            ));
        }
        sleep(LOOK).await;
    }
}

/// The failure to reach a daemon that is not there; `None` where one is.
///
/// # Errors
/// Where it cannot be told, and inside of a session, whose daemon's store is not known.
pub(super) async fn away(client: &Client) -> Result<Option<Failure>, Failure> {
    match client.get::<Health>("/health").await {
        Ok(_) => Ok(None),
        Err(failure) if failure.is_unreachable() && may_be_done_here(&failure) => Ok(Some(failure)),
        Err(failure) => Err(failure),
    }
}

/// Whether it was the daemon that could not be reached, and its store is known: inside of a session it is not.
pub(super) fn may_be_done_here(failure: &Failure) -> bool {
    failure.is_about_the_link() && client::session_socket().is_none()
}

/// A daemon is there and does not answer.
pub(super) fn hangs(detail: &str) -> Failure {
    let hint = "it starts, drains or hangs: ask again in a moment; `transom restart --force` kills it and starts another";
    Failure::answered(Problem::new(504, "timed_out", detail, hint))
}

/// Where the store is.
pub(super) fn paths() -> Result<Paths, Failure> {
    Paths::find(None).map_err(|error| Failure::configuration(error.to_string(), error.hint()))
}

/// How long a daemon is waited for that has the store and does not answer: it drains for 5 s, and starts within one or two.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks.
pub(super) const LOOK: Duration = Duration::from_millis(50);
