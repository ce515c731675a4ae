//! Failures of the access layer, and the only table from them to what the wire says (RFC 9457).

mod denied;
mod hints;
mod uninvited;

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use pairing::{
    ApproveError, AuthError, ChallengeError, ChangeError, CommitError, EndGuestError, ExchangeError, Fault,
    FindError, InviteError, JoinError, LivesTooLong, MalformedToken, OfferError, PollError, PrefixError,
    ProofError, RejectError, RequestError, RevealError, RevokeError, UnknownDevice,
};
use protocol::Problem;

pub use self::{denied::MayNot, uninvited::Uninvited};
use crate::{
    connections::Refused,
    request::{self, RequestId},
};

/// Why a request was not served. What `Display` says is the `detail` of the answer: a sentence without secrets.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// Head or body cannot be read as what they should be.
    #[error("{0}")]
    Malformed(String),
    /// No `Host`, two of them, or one that contradicts the authority.
    #[error("the request does not say plainly which host it is for")]
    AmbiguousHost,
    /// The host is no name of this daemon.
    #[error("this daemon is not called by that host name")]
    WrongHost,
    /// The page that asks is of another origin.
    #[error("a page of another origin may not use this daemon")]
    WrongOrigin,
    /// A process of another user came to the Unix socket.
    #[error("this socket serves its own user only")]
    OtherUser,
    /// There is no credential.
    #[error("this needs a token")]
    Unauthenticated,
    /// The credential is no token.
    #[error("the token cannot be read: {0}")]
    MalformedToken(MalformedToken),
    /// No device has this token.
    #[error("this token belongs to no device")]
    InvalidToken,
    /// The device was revoked.
    #[error("this device was revoked")]
    Revoked,
    /// The device's time is over.
    #[error("this device's time is over")]
    Expired,
    /// The token of a device that has a key, where it must prove that.
    #[error("this device has a key, and its token alone opens nothing")]
    ProofRequired,
    /// No access token that is good here and now.
    #[error("this access token is not good here, or not any more")]
    AccessEnded,
    /// The device is bound to another node.
    #[error("this device is bound to another node of the tailnet")]
    WrongNode,
    /// The device is bound to a node, and the listener knows none.
    #[error("this device is bound to a node of the tailnet, and this way in does not know nodes")]
    UnknownNode,
    /// An invitation for a login is of no use here.
    #[error("{0}")]
    Uninvited(Uninvited),
    /// The principal ended, or its role changed, while the request was on its way.
    #[error("this authentication has ended")]
    Ended,
    /// The principal lacks a scope.
    #[error("{0}")]
    NotPermitted(MayNot),
    /// The principal is a program inside of a session, and this is not for it.
    #[error("this runs inside of session {session}, which {may_not}")]
    NotFromInside {
        /// The session.
        session: String,
        /// What it may not, as a predicate.
        may_not: &'static str,
    },
    /// A program may have escaped from a session unseen, so what only the owner may do is kept from every local process.
    #[error("the keeper of sessions died, and a program of one may still run and pass for the owner")]
    Withheld,
    /// It cannot be told where a local process comes from.
    #[error("{detail}")]
    UnknownOrigin {
        /// What cannot be told.
        detail: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// What is asked was meant for another run of the daemon.
    #[error("the daemon began anew since, and whoever asked saw what was before")]
    StaleLife,
    /// The connection belongs to another principal.
    #[error("this connection belongs to another device")]
    OtherPrincipal,
    /// The principal has as many connections as it may.
    #[error("there are too many connections of this device")]
    TooManyConnections,
    /// There are as many requests without a credential on one connection as there may be.
    #[error("there are too many requests on this connection that nobody was authenticated for")]
    TooManyRequests,
    /// The peer showed what is wrong too often.
    #[error("too many tokens or proofs that are not right came from there")]
    TooManyFailures {
        /// How long until such are answered as what they are.
        retry_after: Duration,
    },
    /// There is no token of a device where a key is to be proven.
    #[error("a proof is shown with the device's own token")]
    NoDeviceToken,
    /// No route has this path, or nothing has this id.
    #[error("{0}")]
    NotFound(&'static str),
    /// The path has no such method.
    #[error("this path has no such method")]
    MethodNotAllowed,
    /// The body is too long.
    #[error("the body is longer than this route takes")]
    BodyTooLarge,
    /// The body is of another kind.
    #[error("the body must be JSON, and say so")]
    UnsupportedMediaType,
    /// The route is a WebSocket, and the request is none.
    #[error("this path is a WebSocket")]
    UpgradeRequired,
    /// A proof of possession gives nothing.
    #[error("{0}")]
    Proof(ProofError),
    /// Pairing or a device said no; the code is its own.
    #[error("{detail}")]
    Pairing {
        /// The stable name of the error.
        code: &'static str,
        /// Who is at fault.
        fault: Fault,
        /// What happened.
        detail: String,
        /// Seconds until another try can succeed.
        retry_after: Option<u32>,
    },
    /// No device can reach this daemon.
    #[error("no TLS listener runs, so no device could follow an offer's link")]
    NoListener,
    /// Every remote way in is closed.
    #[error("this daemon is locked down, so no device can reach it")]
    LockedDown,
    /// A lock-down is in force, and was not made to last.
    #[error("every remote way in is closed, but that could not be written down: it would end with a restart")]
    LockedInMemoryOnly,
    /// A lock-down was not lifted.
    #[error("the remote listeners are closed still: {0}")]
    NotLifted(String),
    /// The store failed; what must be stored before it is done was not done.
    #[error("the daemon could not write its store, so nothing was changed")]
    StoreFailed,
    /// The store failed, and what could be done without it was done.
    #[error(
        "its connections are closed and its token opens nothing, but the store could not be written: it would return after a restart"
    )]
    RevokedInMemoryOnly,
    /// The daemon's own fault; the log has the cause under this id.
    #[error("the daemon failed at this request")]
    Internal {
        /// The id under which the log has the cause.
        request_id: String,
    },
}

impl Failure {
    /// A body, a path or a query that cannot be read.
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::Malformed(detail.into())
    }

    /// The daemon's own fault: logs the cause under the request's id, or a fresh one, and names only that.
    pub fn internal(cause: &dyn std::fmt::Display) -> Self {
        let request_id = request::current().unwrap_or_else(RequestId::next).to_string();
        tracing::error!(request_id, %cause, "a request failed");
        Self::Internal { request_id }
    }

    /// Pairing or a device said no.
    pub fn pairing(code: &'static str, fault: Fault, detail: impl Into<String>) -> Self {
        Self::Pairing {
            code,
            fault,
            detail: detail.into(),
            retry_after: None,
        }
    }

    /// Whether the connection ends with the answer.
    pub(crate) fn closes_connection(&self) -> bool {
        matches!(
            self,
            Self::OtherPrincipal | Self::OtherUser | Self::TooManyConnections | Self::AmbiguousHost
        )
    }

    /// Whether a stream that cannot carry an answer closes with 4401: the credential, not the right, is at fault.
    pub(crate) fn is_about_credentials(&self) -> bool {
        self.row().0 == 401
    }

    /// The stable name of the error.
    pub fn code(&self) -> &'static str {
        self.row().1
    }

    /// What the wire says.
    pub fn problem(&self) -> Problem {
        let (status, code) = self.row();
        let mut problem = Problem::new(status, code, self.to_string(), self.hint());
        problem.request_id = request::current().map(|id| id.to_string());
        match self {
            Self::Internal { request_id } => problem.request_id = Some(request_id.clone()),
            Self::Pairing { retry_after, .. } => problem.retry_after = *retry_after,
            Self::Proof(ProofError::Challenge(ChallengeError::TooMany { retry_after })) => {
                problem.retry_after = seconds(*retry_after);
            }
            Self::TooManyFailures { retry_after } => problem.retry_after = seconds(*retry_after),
            _ => (),
        }
        problem
    }

    /// The table: status and code of each failure.
    fn row(&self) -> (u16, &'static str) {
        match self {
            Self::Malformed(_) => (400, "malformed_request"),
            Self::AmbiguousHost => (400, "ambiguous_host"),
            Self::Unauthenticated | Self::NoDeviceToken => (401, "unauthenticated"),
            Self::MalformedToken(_) => (401, "malformed_token"),
            Self::InvalidToken => (401, "invalid_token"),
            Self::Revoked => (401, "revoked"),
            Self::Expired => (401, "expired"),
            Self::Ended => (401, "authentication_ended"),
            Self::ProofRequired => (401, "proof_required"),
            Self::AccessEnded => (401, "access_ended"),
            Self::WrongNode => (403, "wrong_node"),
            Self::UnknownNode => (403, "unknown_node"),
            Self::Uninvited(why) => why.row(),
            Self::WrongHost => (403, "wrong_host"),
            Self::WrongOrigin => (403, "wrong_origin"),
            Self::OtherUser => (403, "other_user"),
            Self::NotPermitted(_) | Self::NotFromInside { .. } => (403, "not_permitted"),
            Self::Withheld => (403, "withheld"),
            Self::UnknownOrigin { .. } => (403, "unknown_origin"),
            Self::NotFound(_) => (404, "not_found"),
            Self::StaleLife => (409, "stale_life"),
            Self::MethodNotAllowed => (405, "method_not_allowed"),
            Self::BodyTooLarge => (413, "body_too_large"),
            Self::UnsupportedMediaType => (415, "unsupported_media_type"),
            Self::OtherPrincipal => (421, "other_principal"),
            Self::UpgradeRequired => (426, "upgrade_required"),
            Self::TooManyConnections => (429, "too_many_connections"),
            Self::TooManyFailures { .. } => (429, "too_many_failures"),
            Self::TooManyRequests => (429, "too_many_requests"),
            Self::RevokedInMemoryOnly => (500, "revoked_in_memory_only"),
            Self::Internal { .. } => (500, "internal"),
            Self::StoreFailed => (503, "store_failed"),
            Self::NoListener => (409, "no_listener"),
            Self::LockedDown => (409, "locked_down"),
            Self::LockedInMemoryOnly => (500, "locked_in_memory_only"),
            Self::NotLifted(_) => (409, "not_lifted"),
            Self::Pairing { code, fault, .. } => (status_of(*fault), code),
            Self::Proof(error) => (status_of(error.fault()), error.code()),
        }
    }
}

fn status_of(fault: Fault) -> u16 {
    match fault {
        Fault::Malformed => 400,
        Fault::Credential => 401,
        Fault::Permission => 403,
        Fault::Unknown => 404,
        Fault::Timing => 409,
        Fault::Limit => 429,
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = answer(&self.problem());
        response.extensions_mut().insert(AnswerOf {
            code: self.code(),
            closes: self.closes_connection(),
        });
        response
    }
}

/// Rides on a 401: what it said, so that the edge can say it together with a challenge.
#[derive(Clone, Debug)]
pub(crate) struct Refusal(pub(crate) Problem);

/// Rides on a failure's answer: which it is, and whether the connection ends with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerOf {
    pub(crate) code: &'static str,
    pub(crate) closes: bool,
}

/// The answer that carries a problem, for the product's own tables of failures too; it names the request.
pub fn answer(problem: &Problem) -> Response {
    let mut problem = problem.clone();
    if problem.request_id.is_none() {
        problem.request_id = request::current().map(|id| id.to_string());
    }
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (
        status,
        [(header::CONTENT_TYPE, Problem::CONTENT_TYPE)],
        body_of(&problem),
    )
        .into_response();
    if let Some(seconds) = problem.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    if status == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        response.extensions_mut().insert(Refusal(problem));
    }
    response
}

/// A problem as it is written.
pub(crate) fn body_of(problem: &Problem) -> Vec<u8> {
    serde_json::to_vec(problem).expect("a problem is plain strings and numbers")
}

impl From<AuthError> for Failure {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Unknown => Self::InvalidToken,
            AuthError::Revoked => Self::Revoked,
            AuthError::Expired => Self::Expired,
            AuthError::ProofRequired => Self::ProofRequired,
            AuthError::AccessEnded => Self::AccessEnded,
            AuthError::WrongNode => Self::WrongNode,
            AuthError::NodeUnknown => Self::UnknownNode,
            AuthError::WrongLogin => Self::Uninvited(Uninvited::WrongLogin),
            AuthError::LoginUnknown => Self::Uninvited(Uninvited::UnknownLogin),
        }
    }
}

impl From<MalformedToken> for Failure {
    fn from(error: MalformedToken) -> Self {
        Self::MalformedToken(error)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::OtherPrincipal => Self::OtherPrincipal,
            Refused::TooMany => Self::TooManyConnections,
            Refused::Ended => Self::Ended,
            Refused::GuestsOnly => Self::Uninvited(Uninvited::GuestsOnly),
        }
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        let retry_after = match error {
            RequestError::TooManyPending { retry_after } => seconds(retry_after),
            RequestError::Offer(_) => None,
        };
        Self::Pairing {
            code: error.code(),
            fault: error.fault(),
            detail: error.to_string(),
            retry_after,
        }
    }
}

impl From<ProofError> for Failure {
    fn from(error: ProofError) -> Self {
        match error {
            ProofError::Auth(error) => error.into(),
            error => Self::Proof(error),
        }
    }
}

/// Rounded up: a client that waits for what it was told must not come too early.
fn seconds(wait: Duration) -> Option<u32> {
    u32::try_from(wait.as_millis().div_ceil(1000)).ok()
}

macro_rules! from_pairing {
    ($($error:ident)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::pairing(error.code(), error.fault(), error.to_string())
            }
        }
    )*};
}

from_pairing! {
    ApproveError CommitError ExchangeError FindError OfferError PollError PrefixError RejectError RevealError RevokeError
    UnknownDevice ChangeError LivesTooLong InviteError JoinError EndGuestError
}

#[cfg(test)]
mod tests;
