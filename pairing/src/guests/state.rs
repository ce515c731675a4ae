//! One guest and its states.

use alloc::string::String;
use alloc::sync::Arc;

use super::{EndedGuest, Sight};
use crate::key::PublicKey;
use crate::limits::WRONG_SECRETS;
use crate::secret::SecretDigest;
use crate::{AuthError, Authenticated, GuestId, JoinError, Standing, TokenHash, UnixMillis};

pub(super) struct Guest {
    /// The order in which they were invited.
    pub(super) serial: u64,
    pub(super) expires_at: UnixMillis,
    pub(super) standing: Arc<Standing>,
    pub(super) state: State,
    sights: Arc<[Sight]>,
    created: UnixMillis,
    secret: SecretDigest,
    wrong: u8,
    refused: Option<Refusal>,
}

/// Where a guest stands. That its time is over is also computed from the time; here it is once its connections were closed.
#[derive(Debug)]
pub(super) enum State {
    /// Nobody has used the link.
    Invited,
    /// Somebody has.
    Joined(Key),
    Ended {
        cause: GuestEnd,
        at: UnixMillis,
        /// Of who had used it, to say to the token why it opens nothing.
        was: Option<Key>,
    },
}

/// What a guest is known by.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) public_key: PublicKey,
    pub(super) token_hash: TokenHash,
    pub(super) from: String,
    pub(super) at: UnixMillis,
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

/// Somebody with another key showed a link that was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// How often.
    pub count: u32,
    /// When last.
    pub at: UnixMillis,
    /// From where last.
    pub from: String,
}

/// A guest as the owner sees it.
#[derive(Clone, Debug)]
pub struct GuestView {
    /// Which.
    pub id: GuestId,
    /// What they may look at.
    pub sights: Arc<[Sight]>,
    /// Where they stand.
    pub phase: GuestPhase,
    /// When they were invited.
    pub created: UnixMillis,
    /// When they are a guest no more.
    pub expires_at: UnixMillis,
    /// When and from where they came.
    pub joined: Option<(UnixMillis, String)>,
    /// Who else showed their link.
    pub refused: Option<Refusal>,
}

impl Guest {
    pub(super) fn new(
        serial: u64,
        sights: Arc<[Sight]>,
        secret: SecretDigest,
        (created, expires_at): (UnixMillis, UnixMillis),
    ) -> Self {
        Self {
            serial,
            expires_at,
            standing: Standing::new(),
            state: State::Invited,
            sights,
            created,
            secret,
            wrong: 0,
            refused: None,
        }
    }

    pub(super) fn phase(&self, now: UnixMillis) -> GuestPhase {
        match &self.state {
            State::Ended { cause, .. } => GuestPhase::Ended(*cause),
            _ if self.expires_at <= now => GuestPhase::Ended(GuestEnd::Expired),
            State::Invited => GuestPhase::Invited,
            State::Joined(_) => GuestPhase::Joined,
        }
    }

    pub(super) fn is_live(&self, now: UnixMillis) -> bool {
        matches!(self.phase(now), GuestPhase::Invited | GuestPhase::Joined)
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended { .. })
    }

    /// Whether the time is over, and nobody has done anything about it.
    pub(super) fn is_over(&self, now: UnixMillis) -> bool {
        !self.has_ended() && self.expires_at <= now
    }

    /// Checks a link's secret. The fifth wrong one ends an invitation that nobody has used; one that was used is past guessing.
    pub(super) fn check(&mut self, shown: &SecretDigest, now: UnixMillis) -> Result<(), JoinError> {
        if shown.matches(&self.secret) {
            return Ok(());
        }
        self.wrong = self.wrong.saturating_add(1);
        if self.wrong >= WRONG_SECRETS && self.phase(now) == GuestPhase::Invited {
            self.close(GuestEnd::Burned, now);
        }
        Err(JoinError::Unknown)
    }

    /// Why a key is refused in this phase; one that comes second is noted.
    pub(super) fn refuse(&mut self, phase: GuestPhase, from: &str, now: UnixMillis) -> JoinError {
        match phase {
            GuestPhase::Ended(GuestEnd::Revoked | GuestEnd::Left | GuestEnd::LockedDown) => JoinError::Ended,
            GuestPhase::Ended(GuestEnd::Expired) => JoinError::Expired,
            GuestPhase::Ended(GuestEnd::Burned) => JoinError::Burned,
            GuestPhase::Invited | GuestPhase::Joined => {
                let before = self.refused.as_ref().map_or(0, |refused| refused.count);
                self.refused = Some(Refusal {
                    count: before.saturating_add(1),
                    at: now,
                    from: String::from(from),
                });
                JoinError::Used
            }
        }
    }

    pub(super) fn admit(&self, now: UnixMillis) -> Result<(), AuthError> {
        match self.phase(now) {
            GuestPhase::Joined => Ok(()),
            GuestPhase::Invited => Err(AuthError::Unknown),
            GuestPhase::Ended(GuestEnd::Expired) => Err(AuthError::Expired),
            GuestPhase::Ended(_) => Err(AuthError::Revoked),
        }
    }

    pub(super) fn key(&self) -> Option<&Key> {
        match &self.state {
            State::Joined(key) => Some(key),
            State::Ended { was, .. } => was.as_ref(),
            State::Invited => None,
        }
    }

    pub(super) fn authenticated(&self, id: GuestId) -> Authenticated {
        Authenticated::guest(id, Arc::clone(&self.standing), Arc::clone(&self.sights))
    }

    pub(super) fn end(&mut self, id: GuestId, cause: GuestEnd, at: UnixMillis) -> EndedGuest {
        self.close(cause, at);
        EndedGuest {
            id,
            standing: Arc::clone(&self.standing),
        }
    }

    fn close(&mut self, cause: GuestEnd, at: UnixMillis) {
        let was = self.key().cloned();
        self.state = State::Ended { cause, at, was };
        self.standing.end();
    }

    pub(super) fn view(&self, id: GuestId, now: UnixMillis) -> GuestView {
        GuestView {
            id,
            sights: Arc::clone(&self.sights),
            phase: self.phase(now),
            created: self.created,
            expires_at: match &self.state {
                State::Ended { at, .. } => (*at).min(self.expires_at),
                State::Invited | State::Joined(_) => self.expires_at,
            },
            joined: self.key().map(|key| (key.at, key.from.clone())),
            refused: self.refused.clone(),
        }
    }
}

impl core::fmt::Debug for Guest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Guest")
            .field("state", &self.state)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

impl GuestEnd {
    /// A stable name.
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
