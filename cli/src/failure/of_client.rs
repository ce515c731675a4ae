//! Errors of the crate `client` in the words of a command.

use ::client::{BoxError, Error, Place, Unknown, attachment::Ending};
use protocol::Problem;

use super::Failure;
use crate::remote;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::Unreachable(place) => Self::unreachable(&place),
            Error::TimedOut(place) => Self::no_answer(&place),
            Error::SocketNotPermitted(place) => Self::not_permitted(&place),
            Error::WrongPin { .. } => Self::wrong_pin(detail),
            Error::NoDaemon(_) => Self::failed("no_daemon", detail, remote::AWAY),
            Error::CutOff(place) => Self::lost(detail).with_hint_for(&place, remote::AWAY),
            Error::Lost(detail) => Self::lost(detail),
            Error::Refused(problem) => Self::answered(*problem),
            Error::RejectedToken => Self::rejected_token(),
            Error::Ended(Ending::NotPermitted) => {
                let hint = Ending::NotPermitted.hint();
                Self::answered(Problem::new(403, "not_permitted", detail, hint))
            }
            Error::Ended(ending) => Self::failed(ending.code(), detail, ending.hint()),
            Error::NotUnderstood(what, _) => Self::failed(error.code(), detail, other_version(what)),
            Error::Malformed(_) => Self::usage(detail, error.hint()),
            Error::DamagedKey(place) => damaged_key(&place),
            Error::PairingUnfinished(place) => pairing_unfinished(&place),
            Error::Tunnel(tunnel) => own(tunnel.cause),
            Error::Store(cause) => own(cause),
            Error::NoRandomness(what) => Self::failed("no_randomness", what, "the system has no randomness"),
            error => Self::failed(error.code(), detail, error.hint()),
        }
    }
}

/// What this command itself had met, and gave to the crate.
fn own(cause: BoxError) -> Failure {
    match cause.downcast::<Failure>() {
        Ok(failure) => *failure,
        Err(other) => Failure::failed("local_io", other.to_string(), "look at the disk and the terminal"),
    }
}

fn other_version(what: Unknown) -> &'static str {
    match what {
        Unknown::Answer => {
            "daemon and command are of different versions: `transom shutdown`, then `transom up`"
        }
        Unknown::Step => "daemon and command are of different versions",
        Unknown::Message | Unknown::Event => {
            "daemon and command are of different versions: restart the daemon"
        }
    }
}

fn damaged_key(place: &Place) -> Failure {
    let name = name(place);
    Failure::failed(
        "damaged_remote",
        format!("the key of the remote `{name}` cannot be read"),
        format!("`transom remote rm --forget {name}`, then add it again"),
    )
}

fn pairing_unfinished(place: &Place) -> Failure {
    let name = name(place);
    Failure::failed(
        "pairing_unfinished",
        format!("the pairing with `{name}` was cut off before its end, and its time is over"),
        format!("`transom remote rm --forget {name}`, then add it again"),
    )
}

/// What this machine calls the daemon there.
fn name(place: &Place) -> String {
    match place {
        Place::Remote { name, .. } => name.clone(),
        Place::Socket(_) => place.to_string(),
    }
}
