//! Deleting a session: first so that it can be restored, then for good.

use jiff::SignedDuration;
use pairing::{Manage, Permit};
use protocol::sessions::Session;
use server::peer::Peer;

use super::{Handle, SessionError};
use crate::actor;

impl Handle {
    /// Deletes the session: its program is stopped first, as nothing brings that back. It can be restored for 24 hours, by a
    /// deadline that is fixed now; with `purge` it is forgotten at once.
    ///
    /// # Errors
    /// [`SessionError`], with the session still there; its program may have been stopped, and runs on where that is
    /// [`SessionError::NotStopped`].
    pub(crate) async fn remove(
        &self,
        permit: &Permit<Manage>,
        peer: &Peer,
        purge: bool,
    ) -> Result<Session, SessionError> {
        self.covered_by(permit)?;
        let action = if purge {
            "session_purged"
        } else {
            "session_deleted"
        };
        let row = actor::row(permit.principal(), peer, action, self.id());
        // A full disk must not keep anybody from making room.
        self.audit_end(permit.principal(), row).await?;
        if !permit.is_current() {
            return Err(SessionError::Ended);
        }
        let stopped = self.stop_program(permit).await;
        if self.record.is_running() || matches!(stopped, Err(SessionError::Ended)) {
            // Nobody could ask for its end any more.
            stopped?;
        }
        let now = server::clock::timestamp(server::clock::now());
        if purge {
            let mut last = self.record.show();
            last.purge_at = Some(now);
            // Stopping it may have taken a while.
            return match self.sessions.forget(&self.record, || permit.hold()).await {
                true => Ok(last),
                false => Err(SessionError::Ended),
            };
        }
        let deadline = now.checked_add(KEPT_AFTER_DELETION).unwrap_or(now);
        {
            let _hold = permit.hold().ok_or(SessionError::Ended)?;
            // Deleting it again does not give it more time.
            self.record
                .revise(|kept| kept.purge_at.get_or_insert(deadline).to_owned());
            self.sessions.told_gone(&self.record, false);
        }
        self.sessions.shared.tidying.notify_one();
        self.sessions.save(&self.record).await?;
        Ok(self.record.show())
    }

    /// Takes a deletion back: output, screen and record are there again, for as long as if it had ended now, and the program is
    /// not.
    ///
    /// # Errors
    /// [`SessionError::NotDeleted`] where there is nothing to take back.
    pub(crate) async fn restore(
        &self,
        permit: &Permit<Manage>,
        peer: &Peer,
    ) -> Result<Session, SessionError> {
        self.covered_by(permit)?;
        if !self.record.is_deleted() {
            return Err(SessionError::NotDeleted);
        }
        let row = actor::row(permit.principal(), peer, "session_restored", self.id());
        self.audit(permit.principal(), peer, row).await?;
        self.taken_back(permit).await?;
        self.sessions.save(&self.record).await?;
        Ok(self.record.show())
    }

    /// Takes the deletion back, unless the session is forgotten or about to be.
    async fn taken_back(&self, permit: &Permit<Manage>) -> Result<(), SessionError> {
        // Who forgets it has the turn from the decision on.
        let _turn = self.record.saving.lock().await;
        let _hold = permit.hold().ok_or(SessionError::Ended)?;
        if *self.record.gone() {
            return Err(SessionError::NotFound);
        }
        let now = server::clock::timestamp(server::clock::now());
        self.record.revise(|kept| {
            let purge_at = kept.purge_at.ok_or(SessionError::NotDeleted)?;
            if purge_at <= now {
                return Err(SessionError::NotFound);
            }
            kept.purge_at = None;
            kept.restored_at = Some(now);
            Ok(())
        })
    }
}

/// How long a deletion can be taken back.
const KEPT_AFTER_DELETION: SignedDuration = SignedDuration::from_hours(24);
