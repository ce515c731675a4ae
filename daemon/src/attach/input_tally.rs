//! The audit trail of input: one row per writer, session and ten seconds; how much, never what.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pairing::{Principal, UnixMillis};
use server::{Access, audit::AuditRow, clock, peer::Peer};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, sleep_until},
};

use crate::{actor, app::App, sessions::Handle};

/// Counts one attachment's input and writes it down.
pub(super) struct InputTally {
    access: Arc<Access>,
    handle: Handle,
    principal: Principal,
    peer: Peer,
    counted: Mutex<Option<Counted>>,
    began: Notify,
}

#[derive(Clone, Copy)]
struct Counted {
    bytes: u64,
    first: UnixMillis,
    last: UnixMillis,
}

impl InputTally {
    pub(super) fn new(app: &App, handle: Handle, principal: Principal, peer: Peer) -> Self {
        Self {
            access: Arc::clone(&app.access),
            handle,
            principal,
            peer,
            counted: Mutex::default(),
            began: Notify::new(),
        }
    }

    /// Notes input that is about to be queued.
    pub(super) fn count(&self, bytes: usize) {
        self.handle.typed_by(self.principal.device_id());
        let now = clock::now();
        let mut counted = self.counted();
        match counted.as_mut() {
            Some(counted) => {
                counted.bytes += bytes as u64;
                counted.last = now;
            }
            None => {
                *counted = Some(Counted {
                    bytes: bytes as u64,
                    first: now,
                    last: now,
                });
                self.began.notify_one();
            }
        }
    }

    /// Writes a row for each period with input. Returns when rows could not be written for a whole period: then nobody may
    /// type, since nobody could say who did.
    pub(super) async fn keep_written(&self) {
        loop {
            self.began.notified().await;
            sleep(PERIOD).await;
            let deadline = Instant::now() + PERIOD;
            while !self.flush().await {
                if Instant::now() >= deadline {
                    return;
                }
                sleep_until((Instant::now() + RETRY).min(deadline)).await;
            }
        }
    }

    /// Writes what is left, and that the attachment is gone.
    pub(super) async fn detached(&self) {
        self.flush().await;
        let row = actor::row(&self.principal, &self.peer, "detached", self.handle.id());
        let appended = self.access.append_audit(&self.principal, &self.peer, row).await;
        if appended.is_err() {
            tracing::warn!(
                session = self.handle.id(),
                "a detach could not be written to the audit trail"
            );
        }
    }

    /// Whether everything counted is written.
    async fn flush(&self) -> bool {
        let Some(taken) = self.counted().take() else {
            return true;
        };
        let row = self.row(taken);
        if self
            .access
            .append_audit_summary(&self.principal, row)
            .await
            .is_ok()
        {
            return true;
        }
        let mut counted = self.counted();
        let later = counted.unwrap_or(Counted { bytes: 0, ..taken });
        *counted = Some(Counted {
            bytes: taken.bytes + later.bytes,
            first: taken.first,
            last: later.last,
        });
        false
    }

    fn row(&self, Counted { bytes, first, last }: Counted) -> AuditRow {
        let detail = format!(
            "{bytes} bytes from {} to {}",
            clock::timestamp(first),
            clock::timestamp(last)
        );
        actor::row(&self.principal, &self.peer, "input", self.handle.id()).detail(detail)
    }

    fn counted(&self) -> MutexGuard<'_, Option<Counted>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One row stands for the input of so long.
const PERIOD: Duration = Duration::from_secs(10);

/// Between two tries at a row that could not be written.
const RETRY: Duration = Duration::from_secs(1);
