//! One guest: its record, and whether it lives.

use alloc::string::String;
use alloc::sync::Arc;

use super::{EndedGuest, GuestEnd, GuestPhase, GuestRecord, Refusal};
use crate::limits::WRONG_SECRETS;
use crate::{AuthError, Authenticated, JoinError, Standing, TailnetIdentity, TokenHash, UnixMillis};

#[derive(Debug)]
pub(super) struct Guest {
    /// The order in which they were invited.
    pub(super) serial: u64,
    pub(super) record: GuestRecord,
    pub(super) standing: Arc<Standing>,
    /// Wrong secrets that were shown for the link, in this life of the daemon.
    wrong: u8,
    /// Whether an end is known here alone, since the store failed: then it can be ended again.
    is_unstored: bool,
}

impl Guest {
    pub(super) fn new(serial: u64, record: GuestRecord) -> Self {
        Self {
            serial,
            record,
            standing: Standing::new(),
            wrong: 0,
            is_unstored: false,
        }
    }

    pub(super) fn is_live(&self, now: UnixMillis) -> bool {
        matches!(self.record.phase(now), GuestPhase::Invited | GuestPhase::Joined)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.record.ended.is_some()
    }

    /// Whether there is an end to be made: one that was not made, or not stored.
    pub(super) fn can_end(&self, now: UnixMillis) -> bool {
        self.is_live(now) || self.is_unstored
    }

    /// Whether the time is over, and nobody has done anything about it.
    pub(super) fn is_over(&self, now: UnixMillis) -> bool {
        !self.has_ended() && self.record.expires_at <= now
    }

    /// Whether a link's secret is the right one.
    pub(super) fn knows(&self, shown: &TokenHash) -> bool {
        shown.matches(&self.record.secret_hash)
    }

    /// Counts a wrong secret. The fifth ends an invitation that nobody has used; one that was used is past guessing.
    pub(super) fn count_wrong(&mut self, now: UnixMillis) -> Option<EndedGuest> {
        self.wrong = self.wrong.saturating_add(1);
        let is_burned = self.wrong >= WRONG_SECRETS && self.record.phase(now) == GuestPhase::Invited;
        is_burned.then(|| self.end(GuestEnd::Burned, now))
    }

    /// Why a key is refused in this phase; one that comes second is noted.
    pub(super) fn refuse(&mut self, phase: GuestPhase, from: &str, now: UnixMillis) -> JoinError {
        match phase {
            GuestPhase::Ended(GuestEnd::Revoked | GuestEnd::Left | GuestEnd::LockedDown) => JoinError::Ended,
            GuestPhase::Ended(GuestEnd::Expired) => JoinError::Expired,
            GuestPhase::Ended(GuestEnd::Burned) => JoinError::Burned,
            GuestPhase::Invited | GuestPhase::Joined => {
                self.note_refusal(from, now);
                JoinError::Used
            }
        }
    }

    /// Refuses everybody but whom the link was made for; one who was told of it is noted.
    pub(super) fn check_login(
        &mut self,
        who: Option<&TailnetIdentity>,
        from: &str,
        now: UnixMillis,
    ) -> Result<(), JoinError> {
        let refused = match self.record.admits(who) {
            Ok(()) => return Ok(()),
            Err(AuthError::WrongLogin) => JoinError::WrongLogin,
            Err(_) => JoinError::LoginUnknown,
        };
        self.note_refusal(from, now);
        Err(refused)
    }

    fn note_refusal(&mut self, from: &str, now: UnixMillis) {
        let before = self.record.refused.as_ref().map_or(0, |refused| refused.count);
        self.record.refused = Some(Refusal {
            count: before.saturating_add(1),
            at: now,
            from: String::from(from),
        });
    }

    pub(super) fn admit(&self, now: UnixMillis) -> Result<(), AuthError> {
        match self.record.phase(now) {
            GuestPhase::Joined => Ok(()),
            GuestPhase::Invited => Err(AuthError::Unknown),
            GuestPhase::Ended(GuestEnd::Expired) => Err(AuthError::Expired),
            GuestPhase::Ended(_) => Err(AuthError::Revoked),
        }
    }

    pub(super) fn authenticated(&self) -> Authenticated {
        let sights = Arc::clone(&self.record.sights);
        Authenticated::guest(self.record.id, Arc::clone(&self.standing), sights)
    }

    /// Ends it, if it has not ended; how and when stays as it was first.
    pub(super) fn end(&mut self, cause: GuestEnd, at: UnixMillis) -> EndedGuest {
        self.record.ended.get_or_insert((cause, at));
        self.standing.end();
        self.is_unstored = false;
        EndedGuest {
            record: self.record.clone(),
            standing: Arc::clone(&self.standing),
        }
    }

    pub(super) fn end_was_not_stored(&mut self) {
        self.is_unstored = self.has_ended();
    }

    /// Its end, if that is still to be stored.
    pub(super) fn take_unstored(&mut self) -> Option<EndedGuest> {
        core::mem::take(&mut self.is_unstored).then(|| EndedGuest {
            record: self.record.clone(),
            standing: Arc::clone(&self.standing),
        })
    }
}
