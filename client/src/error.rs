//! Why something did not come about.

use std::{error::Error as StdError, io};

use certs::WrongPin;
use protocol::Problem;
use reqwest::StatusCode;
use rustls::{CertificateError, Error as TlsError};

use crate::{address::Malformed, attachment::Ending, place::Place};

/// An error of the caller's own: of its tunnel, or of where it keeps credentials.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Why a daemon did not do what it was asked, or was not asked at all.
///
/// Each says what happened, to whom; [`Error::hint`] says what to do now, and [`Error::code`] is its stable name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody listens there.
    #[error("nobody answers at {0}")]
    Unreachable(Place),
    /// Somebody is there, and did not answer in time.
    #[error("the daemon at {0} did not answer in time")]
    TimedOut(Place),
    /// The Unix socket is another user's.
    #[error("the socket {0} does not let you in: it is another user's")]
    SocketNotPermitted(Place),
    /// Another key is shown than the one that was pinned; nothing was said to whoever shows it.
    #[error("{place} shows a key with the pin {}, and {} is the one that was agreed to: nothing was said to it", .wrong.seen, .wrong.expected)]
    WrongPin {
        /// Who shows it.
        place: Place,
        /// Both pins.
        wrong: WrongPin,
    },
    /// Whatever listens there does not speak TLS.
    #[error("what listens at {0} speaks no TLS, so it is no daemon")]
    NoDaemon(Place),
    /// The connection ended before the answer was there.
    #[error("the daemon at {0} ended the connection before it answered")]
    CutOff(Place),
    /// The connection was there, and is not any more.
    #[error("{0}")]
    Lost(String),
    /// The daemon said no, in its own words.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    /// The daemon does not know the token, or not any more.
    #[error("the daemon rejected the token: it is unknown, expired or revoked")]
    RejectedToken,
    /// The daemon ended an attachment for good.
    #[error("{0}")]
    Ended(Ending),
    /// What the daemon said has no meaning here: it is of another version.
    #[error("{}", unknown(.0, .1))]
    NotUnderstood(Unknown, String),
    /// This text is neither an address nor the link of an offer.
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// The key of a credential cannot be read.
    #[error("the key of the credential for {0} cannot be read")]
    DamagedKey(Place),
    /// The pairing was cut off before its commit, and its time is over.
    #[error("the pairing with {0} was cut off before its end, and its time is over")]
    PairingUnfinished(Place),
    /// The tunnel does not carry.
    #[error("{}", .0.cause)]
    Tunnel(TunnelError),
    /// What must be kept of a credential could not be.
    #[error("{0}")]
    Store(BoxError),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    NoRandomness(&'static str),
    /// No HTTP client could be made of this, or no request.
    #[error("{0}")]
    Client(String),
}

/// What of a daemon's is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// An answer.
    Answer,
    /// An answer while pairing, or to a proof.
    Step,
    /// A message of an attachment.
    Message,
    /// One of its events.
    Event,
}

/// Why a tunnel does not carry.
#[derive(Debug)]
pub struct TunnelError {
    /// In the words of whoever opens it.
    pub cause: BoxError,
    /// Whether the same may work in a moment.
    pub may_pass: bool,
}

/// What may be the fault of the way to a daemon, and not of what was asked.
pub trait MayPass {
    /// Whether the way failed, and not what was asked: the same may work in a moment.
    fn is_about_the_link(&self) -> bool;
}

impl Error {
    /// What kept a connection from being made, or ended it before the answer: by the cause in the chain of this error.
    pub fn connecting(place: &Place, error: &(dyn StdError + 'static)) -> Self {
        match tls_error(error) {
            Some(TlsError::InvalidCertificate(CertificateError::Other(why))) => {
                if let Some(wrong) = why.0.downcast_ref::<WrongPin>() {
                    let (place, wrong) = (place.clone(), *wrong);
                    return Self::WrongPin { place, wrong };
                }
            }
            Some(TlsError::InvalidMessage(_)) => return Self::NoDaemon(place.clone()),
            Some(_) | None => {}
        }
        match (io_kind(error), place) {
            (Some(io::ErrorKind::PermissionDenied), Place::Socket(_)) => {
                Self::SocketNotPermitted(place.clone())
            }
            (
                Some(
                    io::ErrorKind::NotFound
                    | io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable
                    | io::ErrorKind::NetworkDown
                    | io::ErrorKind::AddrNotAvailable,
                ),
                _,
            ) => Self::Unreachable(place.clone()),
            (Some(io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), _) => Self::TimedOut(place.clone()),
            _ => Self::CutOff(place.clone()),
        }
    }

    /// The stable name of it, `snake_case`; of a refusal, the daemon's own.
    pub fn code(&self) -> &str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::TimedOut(_) => "timed_out",
            Self::SocketNotPermitted(_) => "socket_not_permitted",
            Self::WrongPin { .. } => "wrong_pin",
            Self::NoDaemon(_) => "no_daemon",
            Self::CutOff(_) | Self::Lost(_) => "connection_lost",
            Self::Refused(problem) => &problem.code,
            Self::RejectedToken => "revoked",
            Self::Ended(ending) => ending.code(),
            Self::NotUnderstood(Unknown::Answer | Unknown::Step, _) => "unknown_answer",
            Self::NotUnderstood(Unknown::Message, _) => "unknown_message",
            Self::NotUnderstood(Unknown::Event, _) => "unknown_event",
            Self::Malformed(_) => "usage",
            Self::DamagedKey(_) => "damaged_credential",
            Self::PairingUnfinished(_) => "pairing_unfinished",
            Self::Tunnel(_) => "tunnel",
            Self::Store(_) => "store",
            Self::NoRandomness(_) => "no_randomness",
            Self::Client(_) => "client",
        }
    }

    /// What to do now; empty where nothing is known to help.
    pub fn hint(&self) -> &str {
        match self {
            Self::Unreachable(_) | Self::NoDaemon(_) | Self::CutOff(_) | Self::Lost(_) => {
                "see that the daemon runs there and that the way to it is open"
            }
            Self::TimedOut(_) => "it is busy, or the way to it slow: ask again in a moment",
            Self::SocketNotPermitted(_) => "run this as the user whose daemon it is",
            Self::WrongPin { .. } => {
                "ask its owner for the pin that `transom status` shows there; if it is not this one, somebody stands between"
            }
            Self::Refused(problem) => &problem.hint,
            Self::RejectedToken => "pair this device again; trying again does not help",
            Self::Ended(ending) => ending.hint(),
            Self::NotUnderstood(..) => {
                "the daemon and this are of different versions: bring the older one up to date"
            }
            Self::Malformed(_) => {
                "give an address, as in https://desk:7443, or the whole link of `transom pair`"
            }
            Self::DamagedKey(_) | Self::PairingUnfinished(_) => "forget the credential, and pair again",
            Self::Tunnel(_) | Self::Store(_) | Self::NoRandomness(_) | Self::Client(_) => "",
        }
    }

    /// Whether no daemon is there at all.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }

    /// Whether who asks was not known, or not any more.
    pub fn is_rejection(&self) -> bool {
        match self {
            Self::RejectedToken => true,
            Self::Refused(problem) => problem.status == 401 || problem.code == "too_many_failures",
            _ => false,
        }
    }

    /// Whether no proof and no other try can help who was rejected.
    pub fn is_final_rejection(&self) -> bool {
        match self {
            Self::RejectedToken => true,
            Self::Refused(problem) => ["revoked", "expired"].contains(&problem.code.as_str()),
            _ => false,
        }
    }

    /// What an answer that is no success means.
    pub(crate) fn refused(status: StatusCode, body: &[u8]) -> Self {
        let problem = serde_json::from_slice(body).unwrap_or_else(|_| {
            let detail = format!("the daemon answered {status}, and does not say why");
            Problem::new(status.as_u16(), "unexplained", detail, "its log says more")
        });
        Self::Refused(Box::new(problem))
    }

    pub(crate) fn lost(detail: impl Into<String>) -> Self {
        Self::Lost(detail.into())
    }
}

impl MayPass for Error {
    fn is_about_the_link(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::TimedOut(_) | Self::CutOff(_) | Self::Lost(_) => true,
            Self::Refused(problem) => PASSING.contains(&problem.code.as_str()),
            Self::Ended(ending) => *ending == Ending::TooManyConnections,
            Self::Tunnel(error) => error.may_pass,
            _ => false,
        }
    }
}

/// The error of TLS in the chain of causes, if there is one.
pub fn tls_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a TlsError> {
    let mut cause: Option<&'a (dyn StdError + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(tls) = error.downcast_ref() {
            return Some(tls);
        }
        // What an io::Error wraps is no source of it, but a part.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = inner.map(|inner| inner as _).or_else(|| error.source());
    }
    None
}

/// The kind of the first system error in the chain of causes.
fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            // An io::Error may wrap another that knows more.
            return io.get_ref().and_then(|inner| io_kind(inner)).or(Some(io.kind()));
        }
        cause = error.source();
    }
    None
}

fn unknown(what: &Unknown, why: &str) -> String {
    let what = match what {
        Unknown::Answer | Unknown::Step => "answer",
        Unknown::Message => "message",
        Unknown::Event => return "the daemon's event is not understood".to_owned(),
    };
    format!("the daemon's {what} is not understood: {why}")
}

/// Refusals that another try may not meet any more.
const PASSING: &[&str] = &[
    "unreachable",
    "connection_lost",
    "timed_out",
    "too_many_connections",
];

#[cfg(test)]
mod tests {
    use std::{io, path::Path};

    use protocol::Problem;

    use super::{Error, MayPass};
    use crate::place::Place;

    fn connecting(kind: io::ErrorKind) -> Error {
        Error::connecting(&Place::from(Path::new("/s")), &io::Error::from(kind))
    }

    #[test]
    fn what_keeps_a_connection_from_being_made_is_told_apart() {
        for (kind, code) in [
            (io::ErrorKind::NotFound, "unreachable"),
            (io::ErrorKind::ConnectionRefused, "unreachable"),
            (io::ErrorKind::PermissionDenied, "socket_not_permitted"),
            (io::ErrorKind::TimedOut, "timed_out"),
            (io::ErrorKind::ConnectionReset, "connection_lost"),
        ] {
            assert_eq!(connecting(kind).code(), code);
        }
    }

    #[test]
    fn what_may_pass_is_told_from_what_does_not() {
        let refused = |status, code| Error::Refused(Box::new(Problem::new(status, code, "d", "h")));
        assert!(connecting(io::ErrorKind::ConnectionReset).is_about_the_link());
        assert!(refused(503, "too_many_connections").is_about_the_link());
        assert!(!connecting(io::ErrorKind::PermissionDenied).is_about_the_link());
        assert!(!refused(404, "not_found").is_about_the_link());
        assert!(refused(401, "proof_required").is_rejection());
        assert!(!refused(401, "proof_required").is_final_rejection());
        assert!(refused(401, "revoked").is_final_rejection());
    }
}
