//! What whoever failed can do now: the hint of each failure.

use pairing::{ChallengeError, Fault, MalformedToken, ProofError};

use super::Failure;

impl Failure {
    /// What to do now.
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "correct the request",
            Self::AmbiguousHost => "send one Host header, equal to the host of the URL",
            Self::Unauthenticated => {
                "send an access token, or that of a device without a key, as `Authorization: Bearer`"
            }
            Self::NoDeviceToken => {
                "send the `tsm_dev_` token that the device was paired with, as `Authorization: Bearer`"
            }
            Self::ProofRequired | Self::AccessEnded => {
                "sign the challenge and post it to /v1/auth/proof, then send the access token of the answer"
            }
            Self::WrongNode => {
                "use it on the node that it was paired on, or have its owner run `transom devices rebind`"
            }
            Self::UnknownNode => "reach the daemon over its tailnet address, or pair again with --any-path",
            Self::Uninvited(why) => why.hint(),
            Self::MalformedToken(MalformedToken::Kind) => {
                "send the kind of token that this takes: `tsm_dev_` where a key is proven, `tsm_req_` where one is paired"
            }
            Self::MalformedToken(_) => "send the token whole, as it was handed out",
            Self::InvalidToken => "pair this device",
            Self::Revoked => "pair this device again, if its owner wants that",
            Self::Expired => "pair this device again",
            Self::Ended => "ask again",
            Self::WrongHost => "use a name that `transom status` lists, or add this one to listen.names",
            Self::WrongOrigin => "open the daemon's own page",
            Self::OtherUser => "run this as the user whose daemon it is",
            Self::NotPermitted(why) => why.hint(),
            Self::NotFromInside { .. } => {
                "ask from a terminal outside of sessions; a session made with `--trusted` may do what the owner may"
            }
            Self::Withheld => "end the daemon with SIGTERM and start it again with `transom up`",
            Self::UnknownOrigin { hint, .. } => hint,
            Self::NotFound(_) => "look at the list for what there is",
            Self::MethodNotAllowed => "use a method that the Allow header names",
            Self::BodyTooLarge => "send less at once",
            Self::UnsupportedMediaType => "send `Content-Type: application/json`",
            Self::StaleLife => "look where it stands now, and ask again if it is still wanted",
            Self::OtherPrincipal => "ask again on a new connection",
            Self::UpgradeRequired => "open it as a WebSocket over HTTP/1.1",
            Self::TooManyFailures { .. } => {
                "wait, or show what is right: that is never refused; a challenge of this answer can be proven"
            }
            Self::TooManyRequests => "wait for the answers to those that are open",
            Self::TooManyConnections => "close some of this device's connections",
            Self::RevokedInMemoryOnly => {
                "make the store writable before a restart: the daemon tries again until it is"
            }
            Self::Internal { .. } => {
                "`transom daemon-log` on the daemon's machine has the cause, with this request_id"
            }
            Self::StoreFailed => "see the daemon's log: is the disk full or read-only?",
            Self::LockedDown => {
                "`transom lockdown --lift` on the machine itself opens the remote ways in again"
            }
            Self::LockedInMemoryOnly => {
                "make the state directory writable and lock down again before a restart"
            }
            Self::NotLifted(_) => {
                "see who has the address, or restart the daemon with another, and lift it again"
            }
            Self::NoListener => "name an address in listen.tls, or start the daemon with `--tls`",
            Self::Pairing { code, fault, .. } => hint_of(code, *fault),
            Self::Proof(error) => hint_of_proof(error),
        }
    }
}

fn hint_of_proof(error: &ProofError) -> &'static str {
    match error {
        ProofError::Challenge(ChallengeError::TooMany { .. }) => "use the access tokens that it has",
        ProofError::Challenge(_) => "sign the challenge of this answer",
        ProofError::NoKey => "send the device's token itself, as `Authorization: Bearer`",
        ProofError::WrongAudience => "sign the pin or the origin by which you reach the daemon itself",
        ProofError::BadSignature => "sign with the key that was paired, or pair again",
        ProofError::Auth(_) => hint_of("", Fault::Credential),
    }
}

fn hint_of(code: &str, fault: Fault) -> &'static str {
    match fault {
        // The owner alone asks for this.
        Fault::Permission if code == "device_without_key" => "pair it, or revoke it and add it anew",
        Fault::Malformed => "correct the request",
        Fault::Credential => "begin the pairing again",
        Fault::Permission => "ask the owner",
        Fault::Unknown => "look at the list for what there is",
        Fault::Timing if code == "no_tailnet" => "set tailnet.mode, or bind it to no node with --unbind",
        Fault::Timing => "look where it stands, and begin again if it is over",
        Fault::Limit => "wait until some are over",
    }
}
