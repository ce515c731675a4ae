//! What may be wrong with a daemon and with the ways to it, looked at without changing anything; for `doctor` and `pair`.

mod clock;
mod embedded;
mod files;
mod handshake;
mod listeners;
mod phone;
mod ports;
mod remote;
mod running;
mod tailnet;
mod trust;

use jiff::Timestamp;
use serde::Serialize;

pub(crate) use self::{
    clock::clock,
    embedded::embedded,
    files::{certificate, configuration, folders, keys, store},
    handshake::Door,
    listeners::{configured, listener},
    phone::{link, phone, remote_address},
    ports::port,
    remote::remote,
    running::{Daemon, Running, lock_and_socket, of_the_daemon, web_app},
    tailnet::{https, nodes, tailnet, tailnet_listeners, who_is_itself},
};
use crate::failure::Failure;

/// What came of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// What was checked, by its stable name; of several listeners each has one.
    pub(crate) check: &'static str,
    pub(crate) state: State,
    /// What was found, in a sentence.
    pub(crate) detail: String,
    /// What to do about it, where there is something to do.
    pub(crate) hint: Option<String>,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// It is as it should be.
    Ok,
    /// It works, and not as well as it could.
    Warning,
    /// It does not work.
    Failed,
    /// It could not be looked at, or there is nothing to look at.
    Skipped,
}

impl Check {
    /// It is as it should be.
    pub(crate) fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self::new(check, State::Ok, detail.into(), None)
    }

    /// It works, and not as well as it could.
    pub(crate) fn warning(check: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(check, State::Warning, detail.into(), Some(hint.into()))
    }

    /// It does not work.
    pub(crate) fn failed(check: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(check, State::Failed, detail.into(), Some(hint.into()))
    }

    /// It was not looked at.
    pub(crate) fn skipped(check: &'static str, detail: impl Into<String>) -> Self {
        Self::new(check, State::Skipped, detail.into(), None)
    }

    /// It could not be done for this reason.
    pub(crate) fn of(check: &'static str, failure: Failure) -> Self {
        match failure {
            Failure::Problem { problem, .. } => Self::failed(check, problem.detail, problem.hint),
            Failure::ClosedPipe => Self::failed(check, "what was asked was cut off", "ask again"),
        }
    }

    /// The same with something to do about it.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    fn new(check: &'static str, state: State, detail: String, hint: Option<String>) -> Self {
        Self {
            check,
            state,
            detail,
            hint: hint.filter(|hint| !hint.is_empty()),
        }
    }
}

/// A day.
fn day(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

/// A time of a certificate.
fn timestamp(at: certs::UnixTime) -> Timestamp {
    let seconds = i64::try_from(at.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

/// A moment as certificates count it.
fn unix(at: Timestamp) -> certs::UnixTime {
    let seconds = u64::try_from(at.as_second()).unwrap_or_default();
    certs::UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds))
}
