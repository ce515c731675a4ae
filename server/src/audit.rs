//! The audit trail's rows: who did what to whom, with what outcome; never content and never a secret.

use std::borrow::Cow;

use pairing::UnixMillis;

/// One row of the append-only table `audit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// When it was decided.
    pub time: UnixMillis,
    /// Who acted: `owner`, `dev_…`, `gst_…`, `ses_…` or `nobody`; `daemon` for what time alone did.
    pub principal: String,
    /// Where the principal came from, as a [`Peer`](crate::peer::Peer) writes itself.
    pub peer: String,
    /// What was done, `snake_case`: one of [`action`], or an embedder's own.
    pub action: Cow<'static, str>,
    /// To what: an id, or empty where there is nothing to name.
    pub target: String,
    /// What came of it: [`OK`](AuditRow::OK), or the code of the error.
    pub outcome: Cow<'static, str>,
    /// Further facts in words: a role, a count of bytes.
    pub detail: Option<String>,
}

impl AuditRow {
    /// The outcome of what was done.
    pub const OK: &str = "ok";

    /// A row about something that is done, or is about to be.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "ids come by value, peers and texts by reference"
    )]
    pub fn new(
        time: UnixMillis,
        principal: impl ToString,
        peer: impl ToString,
        action: impl Into<Cow<'static, str>>,
        target: impl ToString,
    ) -> Self {
        Self {
            time,
            principal: principal.to_string(),
            peer: peer.to_string(),
            action: action.into(),
            target: target.to_string(),
            outcome: Cow::Borrowed(Self::OK),
            detail: None,
        }
    }

    /// The same row with another outcome.
    pub fn outcome(mut self, outcome: impl Into<Cow<'static, str>>) -> Self {
        self.outcome = outcome.into();
        self
    }

    /// The same row with further facts.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

/// What the access layer itself does.
pub mod action {
    /// The owner made an offer.
    pub const OFFER_MADE: &str = "offer_made";
    /// The owner withdrew an offer.
    pub const OFFER_WITHDRAWN: &str = "offer_withdrawn";
    /// A device asked to be paired.
    pub const PAIRING_REQUESTED: &str = "pairing_requested";
    /// A device showed the key that it had committed to.
    pub const PAIRING_REVEALED: &str = "pairing_revealed";
    /// The owner said yes.
    pub const PAIRING_APPROVED: &str = "pairing_approved";
    /// The owner said no.
    pub const PAIRING_REJECTED: &str = "pairing_rejected";
    /// A device proved its key and got a token.
    pub const PAIRING_EXCHANGED: &str = "pairing_exchanged";
    /// A device said that it kept its token, and is paired.
    pub const PAIRING_COMMITTED: &str = "pairing_committed";
    /// The owner added a device without a key.
    pub const DEVICE_ADDED: &str = "device_added";
    /// Somebody with a device's token could not prove its key.
    pub const PROOF_REFUSED: &str = "proof_refused";
    /// A device came from where it may not.
    pub const NODE_REFUSED: &str = "node_refused";
    /// A device was revoked.
    pub const DEVICE_REVOKED: &str = "device_revoked";
    /// A device revoked itself.
    pub const DEVICE_SIGNED_OUT: &str = "device_signed_out";
    /// A device's time was over.
    pub const DEVICE_EXPIRED: &str = "device_expired";
}
