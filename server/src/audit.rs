//! The audit trail's rows: who did what to whom, with what outcome; never content and never a secret.

mod damper;
pub(crate) mod upkeep;

use std::{borrow::Cow, time::Duration};

use pairing::{Principal, UnixMillis};
use tokio::time::timeout;

pub(crate) use self::damper::{Damper, Share};
use crate::{access::Access, authenticate::name_of, peer::Peer, request, store::StoreError};

/// One row of the append-only table `audit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// When it was decided.
    pub time: UnixMillis,
    /// Who acted: `owner`, `dev_…`, `gst_…`, `ses_…` or `nobody`; `daemon` for what it does by itself, as time alone has it.
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

    /// What was done, where it was, and is one of the program's own words.
    pub(crate) fn done(&self) -> Option<&'static str> {
        match self.action {
            Cow::Borrowed(action) if self.outcome == Self::OK => Some(action),
            _ => None,
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

impl Access {
    /// Appends a row about what a principal does, before it is done. Of the owner every row is written; of all others so many
    /// as their share allows, and what is beyond that is counted in one row.
    ///
    /// # Errors
    /// When it could not be made to last: what it is about must not be done.
    pub async fn append_audit(&self, by: &Principal, peer: &Peer, row: AuditRow) -> Result<(), StoreError> {
        self.append_admitted(self.admitted(by, peer, row)).await
    }

    /// The same for a row that sums up what a principal did to the row's target in ten seconds: its share is of the two, and
    /// who takes no more than one row for so long is written down for ever.
    ///
    /// # Errors
    /// As [`Access::append_audit`].
    pub async fn append_audit_summary(&self, by: &Principal, row: AuditRow) -> Result<(), StoreError> {
        let source = match by {
            Principal::Owner => None,
            _ => Some((format!("{} {}", name_of(by), row.target), Share::Summaries)),
        };
        self.append_admitted(self.within(source, row)).await
    }

    /// Appends a row about what is never done without one: beyond the principal's share of such nothing is written, and it is
    /// not to be done.
    ///
    /// # Errors
    /// See [`NotAppended`].
    pub async fn append_audit_of_act(&self, by: &Principal, row: AuditRow) -> Result<(), NotAppended> {
        if *by != Principal::Owner {
            let taken = self.damper().take(&name_of(by), Share::Acts, row.time);
            taken.map_err(|retry_after| NotAppended::TooMany { retry_after })?;
        }
        Ok(self.store.append_audit(row).await?)
    }

    /// Appends a row about something that the owner takes away or ends, which happens whatever becomes of the row: where the
    /// store fails, the log says so. One that hangs is waited for a moment.
    pub async fn append_audit_of_end(&self, row: AuditRow) {
        let (store, action, target) = (self.store.clone(), row.action.clone(), row.target.clone());
        // It is said also when it fails after that moment.
        let writing = request::spawn(async move {
            let (action, target) = (row.action.clone(), row.target.clone());
            if let Err(error) = store.append_audit(row).await {
                tracing::warn!(%action, target, %error, "what was done could not be written to the audit trail");
            }
        });
        if timeout(LAST, writing).await.is_err() {
            tracing::warn!(%action, target, "the row of what was done waits for the disk");
        }
    }

    /// The row, where it is one of those that a principal may have written; else it is counted here.
    pub(crate) fn admitted(&self, by: &Principal, peer: &Peer, row: AuditRow) -> Option<AuditRow> {
        let source = match by {
            Principal::Owner => None,
            Principal::Nobody => Some((peer.limit_key(), Share::Strangers)),
            Principal::Session(_) | Principal::Device { .. } | Principal::Guest(_) => {
                Some((name_of(by), Share::Known))
            }
        };
        self.within(source, row)
    }

    fn within(&self, source: Option<(String, Share)>, row: AuditRow) -> Option<AuditRow> {
        let is_admitted = source.is_none_or(|(name, share)| self.damper().admits(&name, share, &row));
        is_admitted.then_some(row)
    }

    async fn append_admitted(&self, row: Option<AuditRow>) -> Result<(), StoreError> {
        match row {
            Some(row) => self.store.append_audit(row).await,
            None => Ok(()),
        }
    }
}

/// Why there is no row about what is never done without one.
#[derive(Debug, thiserror::Error)]
pub enum NotAppended {
    /// The principal did so many such things that it is to wait.
    #[error("this principal has done too much of that for now")]
    TooMany {
        /// How long until it may do another.
        retry_after: Duration,
    },
    /// It could not be made to last.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A row in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number, counted from 1; none is used twice.
    pub sequence: u64,
    /// What it says.
    pub row: AuditRow,
}

/// Which rows are wanted; what is not said does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Those behind this one, from there on; without it, the latest.
    pub after: Option<u64>,
    /// Not older than this.
    pub since: Option<UnixMillis>,
    /// Older than this.
    pub until: Option<UnixMillis>,
    /// Of this principal, by the name that the trail gives it.
    pub principal: Option<String>,
    /// By this device or about it.
    pub device: Option<String>,
    /// By programs of this resource or about it.
    pub session: Option<String>,
    /// Of this action.
    pub action: Option<String>,
    /// At most so many.
    pub limit: u32,
}

/// What came of following the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditVerdict {
    /// How many rows there are.
    pub rows: u64,
    /// The first of them, if there is one.
    pub first: Option<u64>,
    /// The last of them, if there is one.
    pub last: Option<u64>,
    /// How many faults were found.
    pub fault_count: u64,
    /// The first of them.
    pub faults: Vec<AuditFault>,
}

/// What is wrong with the trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditFault {
    /// Rows are gone at the beginning, and it was not their age.
    #[error("what stood before row {0} was not deleted by the daemon")]
    Beginning(u64),
    /// A row says something else than what was written, or stands in another's place.
    #[error("row {0} is not what was written")]
    Changed(u64),
    /// Rows are gone from here to there.
    #[error("rows {0} to {1} are missing")]
    Missing(u64, u64),
    /// Rows are gone at the end, from here to there at least.
    #[error("rows {0} to {1} are cut off")]
    CutOff(u64, u64),
    /// The trail is whole in itself, and another one than was written down last.
    #[error("row {0} is another than the one that keys/epoch names")]
    Another(u64),
    /// The store knows of fewer ended devices and guests than there were.
    #[error("{0} ended devices and guests are known, and {1} had ended")]
    Revocations(u64, u64),
    /// How far the trail had come is not known.
    #[error("keys/epoch is missing, so rows may be cut off at the end")]
    NoEpoch,
}

impl AuditFault {
    /// A stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Beginning(_) => "beginning",
            Self::Changed(_) => "changed",
            Self::Missing(..) => "missing",
            Self::CutOff(..) => "cut_off",
            Self::Another(_) => "another",
            Self::Revocations(..) => "revocations",
            Self::NoEpoch => "no_epoch",
        }
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
    /// A device that was approved did not commit in time.
    pub const PAIRING_LAPSED: &str = "pairing_lapsed";
    /// The owner added a device without a key.
    pub const DEVICE_ADDED: &str = "device_added";
    /// Somebody with a device's token could not prove its key.
    pub const PROOF_REFUSED: &str = "proof_refused";
    /// A device or guest came from where it may not, or as who it may not.
    pub const NODE_REFUSED: &str = "node_refused";
    /// A device got another name.
    pub const DEVICE_RENAMED: &str = "device_renamed";
    /// A device lives until another time.
    pub const DEVICE_RENEWED: &str = "device_renewed";
    /// The owner let a device bind itself to another node, for a few minutes.
    pub const DEVICE_MAY_REBIND: &str = "device_may_rebind";
    /// A device is bound to another node, by itself as the owner let it, or to none, by the owner.
    pub const DEVICE_REBOUND: &str = "device_rebound";
    /// A device was revoked.
    pub const DEVICE_REVOKED: &str = "device_revoked";
    /// A device revoked itself.
    pub const DEVICE_SIGNED_OUT: &str = "device_signed_out";
    /// A device's time was over.
    pub const DEVICE_EXPIRED: &str = "device_expired";
    /// The owner invited somebody to look.
    pub const GUEST_INVITED: &str = "guest_invited";
    /// A browser exchanged a link, and is a guest.
    pub const GUEST_JOINED: &str = "guest_joined";
    /// Somebody else showed a link that was used or had ended, or proved no key.
    pub const GUEST_REFUSED: &str = "guest_refused";
    /// Wrong secrets were shown for a link that nobody had used, so the invitation was ended.
    pub const GUEST_BURNED: &str = "guest_burned";
    /// A guest was ended.
    pub const GUEST_ENDED: &str = "guest_ended";
    /// A guest left.
    pub const GUEST_LEFT: &str = "guest_left";
    /// A guest's time was over.
    pub const GUEST_EXPIRED: &str = "guest_expired";
    /// A device got another role, or the grant to revoke was given or taken.
    pub const ROLE_CHANGED: &str = "role_changed";
    /// The owner closed a device's connections.
    pub const DEVICE_DISCONNECTED: &str = "device_disconnected";
    /// Every remote way in was closed.
    pub const LOCKED_DOWN: &str = "locked_down";
    /// The remote ways in were opened again.
    pub const LOCKDOWN_LIFTED: &str = "lockdown_lifted";
    /// The owner had the daemon go on with a store that is older than what was written last.
    pub const OLDER_STORE_ACCEPTED: &str = "older_store_accepted";
    /// The owner put the state of a back-up in the place of what was there.
    pub const BACKUP_RESTORED: &str = "backup_restored";
    /// One peer made more rows than are written one by one; how many of which, says the detail.
    pub const ROWS_OMITTED: &str = "rows_omitted";

    /// Whether how far the trail has come is written down at once after such a row: whoever cut it off would undo something.
    pub(crate) fn is_urgent(action: &str) -> bool {
        [
            PAIRING_APPROVED,
            DEVICE_ADDED,
            DEVICE_REVOKED,
            DEVICE_SIGNED_OUT,
            DEVICE_EXPIRED,
            GUEST_BURNED,
            GUEST_ENDED,
            GUEST_LEFT,
            GUEST_EXPIRED,
            ROLE_CHANGED,
            LOCKED_DOWN,
            LOCKDOWN_LIFTED,
            OLDER_STORE_ACCEPTED,
        ]
        .contains(&action)
    }
}

/// How long is waited for the row of what happens all the same.
const LAST: Duration = Duration::from_secs(1);
