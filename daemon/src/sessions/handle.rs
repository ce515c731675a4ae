//! The only way to a session's terminal: every method that shows it or acts on it takes a permit.

use std::{pin::pin, sync::Arc, task::Poll, time::Duration};

use pairing::{DeviceId, Manage, Permit, PermitScope, Principal, View, Write};
use protocol::sessions::Session;
use server::{audit::AuditRow, peer::Peer, request};
use terminal::{Attachment, ClientKey, Gate, Listed, Mode, Start, Writer};
use tokio::time::timeout;

use super::{Claim, Claimant, NewClaimant, Presence, SessionError, Sessions, record::Record, shown_to};
use crate::actor;

/// One session, found by its id.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(super) record: Arc<Record>,
    pub(super) sessions: Sessions,
}

impl Handle {
    pub(super) fn new(record: Arc<Record>, sessions: Sessions) -> Self {
        Self { record, sessions }
    }

    /// The session's id.
    pub(crate) fn id(&self) -> &str {
        self.record.resource.as_str()
    }

    /// The session as it is now.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] where the permit is about another one; so for every method here.
    pub(crate) fn show(&self, permit: &Permit<View>) -> Result<Session, SessionError> {
        self.covered_by(permit)?;
        Ok(shown_to(permit, self.record.show()))
    }

    /// Follows the output.
    pub(crate) fn attach(
        &self,
        permit: &Permit<View>,
        mode: Mode,
        start: Start,
    ) -> Result<Attachment, SessionError> {
        self.at_hand(permit)?;
        Ok(self.record.engine()?.attach(mode, start))
    }

    /// Says that an attachment is there, until the guard is dropped; `writes` is who may type, in words, if it may.
    pub(crate) fn enter(
        &self,
        permit: &Permit<View>,
        writes: Option<String>,
    ) -> Result<Presence, SessionError> {
        self.at_hand(permit)?;
        Ok(Presence::enter(self.record.clone(), writes))
    }

    /// Types. The permit is asked again directly before each write into the terminal, and a revocation waits for a write
    /// that has begun: what a revoked writer left in a queue never reaches the program.
    pub(crate) fn writer(&self, permit: Permit<Write>) -> Result<Writer, SessionError> {
        self.at_hand(&permit)?;
        Ok(self.record.engine()?.writer(Arc::new(PermitGate(permit))))
    }

    /// The same for a client that numbers what it types, with the number of what of it the program got before; `None` where
    /// that is not known.
    pub(crate) fn writer_of(
        &self,
        permit: Permit<Write>,
        client: ClientKey,
    ) -> Result<(Writer, Option<u64>), SessionError> {
        self.at_hand(&permit)?;
        let engine = self.record.engine()?;
        let applied = engine.input_applied(client);
        let writer = engine.writer_of(Arc::new(PermitGate(permit)), client);
        Ok((writer, applied))
    }

    /// Keeps what is known of a client's input, which goes 10 min after it was last asked for.
    pub(crate) fn remember_input(&self, client: ClientKey) {
        if let Some(engine) = self.record.live() {
            engine.remember_input(client);
        }
    }

    /// Notes that a device types, for the answer to its revocation.
    pub(crate) fn typed_by(&self, device: Option<DeviceId>) {
        if self.record.touch(device) {
            self.sessions.save_later(&self.record);
        }
    }

    /// Takes part in the claim for the session's size.
    pub(crate) fn claimant(
        &self,
        permit: &Permit<Write>,
        new: NewClaimant,
    ) -> Result<Claimant, SessionError> {
        self.at_hand(permit)?;
        Ok(self.record.claim.join(new, self.record.engine()?.clone()))
    }

    /// Whether the program wants pasted text in brackets. Waits for a screen that has to be drawn again, which knows.
    pub(crate) async fn wants_bracketed_paste(&self) -> bool {
        let Some(engine) = self.record.live() else {
            return false;
        };
        engine.rebuilt().await;
        engine.look(|screen| screen.wants_bracketed_paste())
    }

    /// Who holds the claim.
    pub(crate) fn claim(&self) -> &Claim {
        &self.record.claim
    }

    /// Ends the program and all that it started, and shows the session as it stands then.
    ///
    /// # Errors
    /// [`SessionError::Ended`] where the permit ended before anything was done, [`SessionError::NotStopped`] where some of it
    /// goes on.
    pub(crate) async fn stop(&self, permit: &Permit<Manage>, peer: &Peer) -> Result<Session, SessionError> {
        self.at_hand(permit)?;
        let row = actor::row(permit.principal(), peer, "session_stopped", self.id());
        // A program that fills the disk must not be safe because of it: like a revocation, the end of a program goes on.
        self.audit_end(permit.principal(), row).await?;
        tracing::info!(session = self.id(), "stopping a session");
        // Writing the row may have taken a while.
        self.stop_program(permit).await?;
        Ok(self.record.show())
    }

    /// Ends the program, if it runs, and all that it started, also what it left running when it ended, and also where it could not
    /// be taken over yet.
    ///
    /// # Errors
    /// [`SessionError::NotStopped`] where some of it goes on, [`SessionError::OutOfReach`] where it has not begun, and
    /// [`SessionError::Ended`] where the permit ended before that.
    pub(super) async fn stop_program(&self, permit: &Permit<Manage>) -> Result<(), SessionError> {
        let mut stopping = pin!(self.end_program());
        {
            // Begun while it holds: a revocation that was answered before is not followed by a stop.
            let _hold = permit.hold().ok_or(SessionError::Ended)?;
            if let Poll::Ready(done) = futures_util::poll!(stopping.as_mut()) {
                return done;
            }
        }
        stopping.await
    }

    async fn end_program(&self) -> Result<(), SessionError> {
        let keeper = &self.sessions.shared.keeper;
        if let Some(engine) = self.record.live().filter(|engine| engine.process_id().is_some()) {
            return match engine.stop().await {
                true => Ok(()),
                false => Err(SessionError::NotStopped),
            };
        }
        let is_it = |listed: &Listed| listed.id.to_string() == self.id();
        if !self.record.is_out_of_reach() {
            // It ended before this daemon began, so only the keeper knows who is left.
            keeper.end(|listed| listed.is_forgotten && is_it(listed)).await;
        } else if keeper.end(is_it).await == 0 {
            return Err(SessionError::OutOfReach);
        }
        Ok(())
    }

    /// The same about its end, which goes on without a row where the disk takes none.
    ///
    /// # Errors
    /// [`SessionError::TooMuch`].
    pub(super) async fn audit_end(&self, by: &Principal, row: AuditRow) -> Result<(), SessionError> {
        let (sessions, by, action) = (self.sessions.clone(), by.clone(), row.action.clone());
        let (session, said) = (self.id().to_owned(), action.clone());
        // It is said also when it fails after it was waited for.
        let writing = request::spawn(async move {
            let appended = sessions.append_act(&by, row).await;
            if let Err(error) = &appended {
                tracing::error!(session, action = %said, %error, "the audit trail does not take the end of a session");
            }
            appended
        });
        match timeout(END_ROW, writing).await {
            Ok(Ok(Err(error @ SessionError::TooMuch { .. }))) => return Err(error),
            Ok(_) => {}
            Err(_) => {
                tracing::error!(session = self.id(), action = %action, "the row of a session's end waits for the disk");
            }
        }
        Ok(())
    }

    /// Commits an audit row about what a principal is about to do with this session.
    pub(super) async fn audit(&self, by: &Principal, peer: &Peer, row: AuditRow) -> Result<(), SessionError> {
        let appended = self.sessions.append_audit(by, peer, row).await;
        appended.map_err(|_| SessionError::StoreFailed)
    }

    /// Like [`Self::covered_by`], for what is not done with a session that was deleted.
    pub(super) fn at_hand<S: PermitScope>(&self, permit: &Permit<S>) -> Result<(), SessionError> {
        self.covered_by(permit)?;
        if self.record.is_deleted() {
            return Err(SessionError::Deleted(self.record.name()));
        }
        Ok(())
    }

    pub(super) fn covered_by<S: PermitScope>(&self, permit: &Permit<S>) -> Result<(), SessionError> {
        if permit.covers(&self.record.resource) {
            Ok(())
        } else {
            Err(SessionError::NotFound)
        }
    }
}

/// A permit as the terminal asks for it: held while one write runs.
pub(super) struct PermitGate(pub(super) Permit<Write>);

impl Gate for PermitGate {
    fn pass(&self, write: &mut dyn FnMut()) -> bool {
        let Some(_hold) = self.0.hold() else { return false };
        write();
        true
    }
}

/// How long the end of a session waits for its row.
const END_ROW: Duration = Duration::from_secs(3);
