//! The end of guests: dead in memory, then at once in the trail and on the wire. Nothing of them is stored, so none comes back.

use std::{convert::Infallible, sync::Arc, time::Instant};

use pairing::{EndGuestError, EndedGuest, GuestId};
use protocol::guests::GuestEnded;

use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    connections::Ended,
    error::Failure,
    revocation::{Revoker, cut_after_answer, until_quiet},
};

/// What an end came to.
pub(crate) struct Outcome {
    pub(crate) ended: GuestEnded,
    /// Whether the caller ended itself: its connection is cut shortly after the answer.
    pub(crate) was_own: bool,
}

/// Ends a guest or an invitation, and returns when nothing of it can leave any more. It goes on to its end even if the caller
/// does not wait.
///
/// # Errors
/// When there is no such guest or the caller may not end it; then nothing was done.
pub(crate) async fn end(access: &Arc<Access>, by: Revoker, guest: GuestId) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let row = AuditRow::new(
        clock::now(),
        name_of(&by.principal),
        by.connection.peer(),
        by.action,
        guest,
    );
    let dead = {
        let mut guests = access.guests();
        access
            .connections()
            .end_guest(guest, || guests.end(&by.principal, guest, clock::latest()))
    };
    let (dead, mut ended) = match dead {
        Ok(dead) => dead,
        Err(refused) => return Err(record_refusal(access, row, refused).await),
    };
    let closed = ended.count() as u64;
    let own = ended.take(by.connection.id());
    let was_own = own.is_some();
    let access = Arc::clone(access);
    let closing = tokio::spawn(async move {
        finish(&access, &dead, &ended, row).await;
        own.into_iter().for_each(cut_after_answer);
        tracing::info!(%guest, closed, "ended a guest and closed its connections");
    });
    closing.await.map_err(|crash| Failure::internal(&crash))?;
    let elapsed_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    Ok(Outcome {
        ended: GuestEnded {
            guest_id: guest,
            closed,
            elapsed_us,
        },
        was_own,
    })
}

/// Ends those whose time is over.
pub(crate) async fn expire(access: &Access) {
    let over = access.guests().expire(clock::latest());
    for dead in over {
        // It was dead before this lock is taken, so a connection that is being bound is refused or found here.
        let end = || Ok::<_, Infallible>(());
        let Ok(((), ended)) = access.connections().end_guest(dead.id, end);
        let closed = ended.count();
        let row = AuditRow::new(clock::now(), "daemon", "", action::GUEST_EXPIRED, dead.id);
        finish(access, &dead, &ended, row).await;
        tracing::info!(guest = %dead.id, closed, "a guest's time is over, closed its connections");
    }
}

async fn finish(access: &Access, dead: &EndedGuest, ended: &Ended, row: AuditRow) {
    let (stored, (), ()) = tokio::join!(
        access.store.append_audit(row),
        access.connections.cut(ended),
        until_quiet(&dead.standing),
    );
    if let Err(error) = stored {
        // Like a revocation, the end of a guest goes on.
        tracing::error!(guest = %dead.id, %error, "the end of a guest could not be written to the audit trail");
    }
}

async fn record_refusal(access: &Access, row: AuditRow, refused: EndGuestError) -> Failure {
    if let Err(error) = access.store.append_audit(row.outcome(refused.code())).await {
        tracing::warn!(%error, "could not record a refused end of a guest");
    }
    refused.into()
}
