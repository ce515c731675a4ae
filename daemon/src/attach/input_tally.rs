//! The audit trail of what one attachment types: one row per ten seconds; how much, never what.

use std::{sync::Arc, time::Duration};

use pairing::Principal;
use server::{Access, clock, peer::Peer};
use tokio::{sync::Notify, time::timeout};

use crate::{
    actor,
    app::App,
    sessions::Handle,
    tally::{Pace, Tally},
};

/// Counts one attachment's input and writes it down.
pub(super) struct InputTally {
    access: Arc<Access>,
    handle: Handle,
    principal: Principal,
    peer: Peer,
    tally: Tally,
    began: Notify,
}

impl InputTally {
    pub(super) fn new(app: &App, handle: Handle, principal: Principal, peer: Peer) -> Self {
        Self {
            tally: tally(&app.access, handle.id(), &principal, &peer),
            access: Arc::clone(&app.access),
            handle,
            principal,
            peer,
            began: Notify::new(),
        }
    }

    /// Notes input that is about to be queued.
    pub(super) fn count(&self, bytes: usize) {
        self.handle.typed_by(self.principal.device_id());
        if self.tally.count(bytes, clock::now()) {
            self.began.notify_one();
        }
    }

    /// Writes a row for each period with input. Returns when rows could not be written for a whole period: then nobody may
    /// type, since nobody could say who did.
    pub(super) async fn keep_written(&self) {
        loop {
            self.began.notified().await;
            if !self.tally.write_period().await {
                return;
            }
        }
    }

    /// Writes what is left, and that the attachment is gone. A store that hangs is not waited for: both follow when it goes on.
    pub(super) async fn detached(self) {
        let writing = tokio::spawn(self.write_rest());
        if timeout(LAST, writing).await.is_err() {
            tracing::warn!("the last rows of an attachment wait for the disk");
        }
    }

    async fn write_rest(self) {
        let is_written = self.tally.flush().await;
        let row = actor::row(&self.principal, &self.peer, "detached", self.handle.id());
        let appended = self.access.append_audit(&self.principal, &self.peer, row).await;
        if !is_written || appended.is_err() {
            tracing::warn!(
                session = self.handle.id(),
                "the end of an attachment could not be written to the audit trail"
            );
        }
    }
}

fn tally(access: &Arc<Access>, session: &str, principal: &Principal, peer: &Peer) -> Tally {
    let (access, session) = (Arc::clone(access), session.to_owned());
    let (principal, peer) = (principal.clone(), peer.clone());
    Tally::new(Pace::DEFAULT, move |counted| {
        let row = actor::input_row(&principal, &peer, &session, counted);
        let (access, principal) = (Arc::clone(&access), principal.clone());
        async move { access.append_audit_summary(&principal, row).await.is_ok() }
    })
}

/// How long an attachment that has ended waits for its rows.
const LAST: Duration = Duration::from_secs(2);
