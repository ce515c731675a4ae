//! A guest as it is stored.

use alloc::string::String;
use alloc::sync::Arc;

use super::Sight;
use crate::key::PublicKey;
use crate::{AuthError, GuestId, Login, TailnetIdentity, TokenHash, UnixMillis};

/// A guest or an invitation, also one that has ended: the whole record to be stored.
#[derive(Clone, Debug)]
pub struct GuestRecord {
    /// Which.
    pub id: GuestId,
    /// What they may look at.
    pub sights: Arc<[Sight]>,
    /// Who of a tailnet the link is for, and their way in until the end; none: whoever has it, and reaches the daemon anyway.
    pub login: Option<Login>,
    /// What is kept of the link's secret.
    pub secret_hash: TokenHash,
    /// When they were invited.
    pub created: UnixMillis,
    /// When they are a guest no more, whether or not they came.
    pub expires_at: UnixMillis,
    /// What they are known by; none while nobody has used the link.
    pub joined: Option<GuestKey>,
    /// Who else showed their link.
    pub refused: Option<Refusal>,
    /// How and when they ended. That their time is over is also computed; here it stands once their connections were closed.
    pub ended: Option<(GuestEnd, UnixMillis)>,
}

/// What a guest is known by.
#[derive(Clone, Debug)]
pub struct GuestKey {
    /// Its key.
    pub public_key: PublicKey,
    /// What is kept of its token.
    pub token_hash: TokenHash,
    /// The address from which it came.
    pub from: String,
    /// When it came.
    pub at: UnixMillis,
}

/// Why somebody is a guest no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestEnd {
    /// The owner, or a device that may, ended them.
    Revoked,
    /// They left.
    Left,
    /// Their time was over.
    Expired,
    /// Wrong secrets were shown for the link before anybody used it.
    Burned,
    /// Every remote way in was closed.
    LockedDown,
}

/// Where a guest stands at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestPhase {
    /// Nobody has used the link.
    Invited,
    /// Somebody has, and may look.
    Joined,
    /// They may not any more.
    Ended(GuestEnd),
}

/// Somebody with another key showed a link that was used, or somebody of another login one that is not theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// How often.
    pub count: u32,
    /// When last.
    pub at: UnixMillis,
    /// From where last.
    pub from: String,
}

impl GuestRecord {
    /// Where they stand.
    #[must_use]
    pub fn phase(&self, now: UnixMillis) -> GuestPhase {
        match (&self.ended, &self.joined) {
            (Some((cause, _)), _) => GuestPhase::Ended(*cause),
            (None, _) if self.expires_at <= now => GuestPhase::Ended(GuestEnd::Expired),
            (None, None) => GuestPhase::Invited,
            (None, Some(_)) => GuestPhase::Joined,
        }
    }

    /// Whether they may come from a peer of whom the tailnet says `from`.
    ///
    /// # Errors
    /// [`AuthError::WrongLogin`] or [`AuthError::LoginUnknown`], of a guest that is bound to a login.
    pub fn admits(&self, from: Option<&TailnetIdentity>) -> Result<(), AuthError> {
        admits(self.login.as_ref(), from)
    }

    /// When they are, or were, a guest no more.
    #[must_use]
    pub fn ends_at(&self) -> UnixMillis {
        self.ended
            .map_or(self.expires_at, |(_, at)| at.min(self.expires_at))
    }
}

/// Whether who is bound to a login may come from a peer of whom the tailnet says `from`.
pub(crate) fn admits(login: Option<&Login>, from: Option<&TailnetIdentity>) -> Result<(), AuthError> {
    match (login, from) {
        (None, _) => Ok(()),
        (Some(login), Some(seen)) if login.is_of(seen) => Ok(()),
        (Some(_), Some(_)) => Err(AuthError::WrongLogin),
        (Some(_), None) => Err(AuthError::LoginUnknown),
    }
}

impl GuestEnd {
    /// Every way to end, for whoever reads names.
    pub const ALL: [Self; 5] = [
        Self::Revoked,
        Self::Left,
        Self::Expired,
        Self::Burned,
        Self::LockedDown,
    ];

    /// The name in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::Left => "left",
            Self::Expired => "expired",
            Self::Burned => "burned",
            Self::LockedDown => "locked_down",
        }
    }
}
