//! The end of a device: dead in memory, then at once and side by side in the store and on the wire.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use pairing::{Authenticated, DeviceId, Principal, ResourceId, Revoked, Standing};
use tokio::{task::yield_now, time::sleep};

use crate::{
    access::Access,
    audit::AuditRow,
    authenticate::name_of,
    clock,
    connections::{Connection, Ended},
    error::Failure,
    limits::OWN_ANSWER,
    request,
};

/// Who revokes, and on which connection.
pub(crate) struct Revoker {
    pub(crate) authenticated: Authenticated,
    pub(crate) connection: Arc<Connection>,
    /// What the audit trail calls it.
    pub(crate) action: &'static str,
}

impl Revoker {
    /// Who revokes.
    pub(crate) fn principal(&self) -> &Principal {
        self.authenticated.principal()
    }

    /// A row about what it does, and to whom.
    pub(crate) fn row(&self, target: impl ToString) -> AuditRow {
        let (who, peer) = (name_of(self.principal()), self.connection.peer());
        AuditRow::new(clock::now(), who, peer, self.action, target)
    }

    /// Whether it may still do what it might when its request began: reading the rest of that may have taken a while.
    ///
    /// # Errors
    /// [`Failure::Ended`].
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.authenticated.is_current() {
            true => Ok(()),
            false => Err(Failure::Ended),
        }
    }

    /// The row of what was refused, and what to answer.
    pub(crate) async fn refused(&self, access: &Access, row: AuditRow, refused: Failure) -> Failure {
        let row = row.outcome(refused.code());
        let appended = access.append_audit(self.principal(), self.connection.peer(), row);
        if let Err(error) = appended.await {
            tracing::warn!(%error, "could not record a refused revocation");
        }
        refused
    }
}

/// What a revocation came to.
pub(crate) struct Outcome {
    pub(crate) answer: Result<protocol::access::Revoked, Failure>,
    /// Whether the principal ended itself: its connection is cut shortly after the answer.
    pub(crate) was_own: bool,
}

/// Ends a device, and returns when nothing of it can leave any more. It goes on to its end even if the principal does not wait.
/// Who asks for the end of a device that is ending already waits for that.
///
/// # Errors
/// When the device is unknown or the principal may not end it; then nothing was done.
pub(crate) async fn revoke(access: &Arc<Access>, by: Revoker, device: DeviceId) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let now = clock::latest();
    let row = by.row(device);
    let dead = {
        // What may be done changes under the same lock.
        let mut devices = access.devices();
        let end = || {
            // Itself it may end whatever became of it.
            if by.principal().device_id() != Some(device) {
                by.check()?;
            }
            let revoked = devices.revoke(by.principal(), device, now)?;
            let ending = access.revocations.begin(device, revoked.device.can_revoke);
            Ok::<_, Failure>((revoked, ending))
        };
        access.connections().end(device, end)
    };
    let ((revoked, ending), mut ended) = match dead {
        Ok(dead) => dead,
        Err(refused) => {
            let under_way = access.revocations.outcome(device, by.principal(), &refused);
            return match under_way.await {
                Some(answer) => Ok(Outcome {
                    answer,
                    was_own: false,
                }),
                None => Err(by.refused(access, row, refused).await),
            };
        }
    };
    let closed = ended.count() as u64;
    let own = ended.take(by.connection.id());
    let was_own = own.is_some();
    let access = Arc::clone(access);
    let closing = request::spawn(async move {
        let stored = finish(&access, revoked, &ended, row).await;
        own.into_iter().for_each(cut_after_answer);
        let sessions = (access.touched)(device);
        let elapsed = started.elapsed();
        access.counts.revocations.observe(elapsed);
        let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        tracing::info!(%device, closed, elapsed_us, "revoked a device and closed its connections");
        let outcome = stored.map(|()| protocol::access::Revoked {
            device_id: device,
            closed,
            sessions,
            elapsed_us,
        });
        ending.tell(&outcome);
        outcome
    });
    let answer = closing
        .await
        .unwrap_or_else(|crash| Err(Failure::internal(&crash)));
    Ok(Outcome { answer, was_own })
}

/// Stores an end and cuts its connections, side by side; returns when both are done and no write of the device is under way.
pub(crate) async fn finish(
    access: &Access,
    revoked: Revoked,
    ended: &Ended,
    row: AuditRow,
) -> Result<(), Failure> {
    access.forget_pins_of(revoked.device.id);
    let standing = Arc::clone(&revoked.standing);
    let (is_stored, (), ()) = tokio::join!(
        access.store_end(revoked, row),
        access.connections.cut(ended),
        until_quiet(&standing),
    );
    match is_stored {
        true => Ok(()),
        false => Err(Failure::RevokedInMemoryOnly),
    }
}

impl Access {
    /// Ends the programs inside of a session as a principal, with their connections; returns when nothing of them can leave any
    /// more. Whoever is authenticated as one later, by this standing, is one again.
    pub async fn end_inside(&self, session: ResourceId, standing: &Standing) {
        let ended = self.connections.end_inside(session, || standing.end());
        tokio::join!(self.connections.cut(&ended), until_quiet(standing));
    }
}

/// Returns when no write of the principal is under way. A hold lasts for one write that does not block, so this takes no longer than that.
pub(crate) async fn until_quiet(standing: &Standing) {
    for _ in 0..QUIET_LOOKS {
        if standing.is_quiet() {
            return;
        }
        yield_now().await;
    }
    while !standing.is_quiet() {
        sleep(QUIET_STEP).await;
    }
}

/// Cuts the principal's own connection once its answer had the time to leave.
pub(crate) fn cut_after_answer(connection: Arc<Connection>) {
    tokio::spawn(async move {
        sleep(OWN_ANSWER).await;
        connection.cut();
    });
}

/// Looks at writes under way one after the other, before any is waited for: the runtime's clock knows no less than a millisecond.
const QUIET_LOOKS: u32 = 16;
/// Between two looks after these.
const QUIET_STEP: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
