//! Refusals in the audit trail: each kind once a minute and device or guest, since whoever is refused may try without end.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use pairing::{KeyHolder, UnixMillis};

use crate::{access::Access, audit::AuditRow, authenticate::name_of, clock, peer::RemotePeer};

/// Which refusals were written down lately. Only who holds a device's token or a guest's secret comes so far, so it has at
/// most a few rows for each that ever was.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    written: Mutex<HashMap<(KeyHolder, &'static str), UnixMillis>>,
}

impl Refusals {
    /// Whether a refusal is to be written down now; then it counts as written.
    fn is_news(&self, holder: KeyHolder, code: &'static str, now: UnixMillis) -> bool {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = written
            .get(&(holder, code))
            .is_some_and(|last| *last <= now && now.since(*last) < WRITTEN_EVERY);
        if !is_fresh {
            written.insert((holder, code), now);
        }
        !is_fresh
    }
}

impl Access {
    /// Writes down that somebody with this device's or guest's secret was refused, and what the tailnet says of the peer. The
    /// refusal does not depend on it.
    pub(crate) async fn note_refusal(
        &self,
        holder: impl Into<KeyHolder>,
        peer: &RemotePeer,
        action: &'static str,
        code: &'static str,
        now: UnixMillis,
    ) {
        let holder = holder.into();
        let Some(row) = self.refusal_row(holder, peer, action, code, now) else {
            return;
        };
        if let Err(error) = self.store.append_audit(row).await {
            tracing::warn!(%holder, code, %error, "could not record a refusal");
        }
    }

    /// The row of a refusal; none where one of its kind was written lately. It counts as written from here on.
    pub(crate) fn refusal_row(
        &self,
        holder: KeyHolder,
        peer: &RemotePeer,
        action: &'static str,
        code: &'static str,
        now: UnixMillis,
    ) -> Option<AuditRow> {
        if !self.refusals.is_news(holder, code, now) {
            return None;
        }
        let nobody = name_of(&pairing::Principal::Nobody);
        let row = AuditRow::new(clock::now(), nobody, peer.address, action, holder).outcome(code);
        Some(match &peer.tailnet {
            Some(seen) => row.detail(format!("from {} ({}) of {}", seen.node, seen.node_id, seen.user)),
            None => row,
        })
    }
}

/// Least time between two rows of one kind about one device.
const WRITTEN_EVERY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use pairing::{DeviceId, UnixMillis};

    use super::Refusals;

    #[test]
    fn a_kind_of_refusal_is_written_once_a_minute_for_each_device() {
        let refusals = Refusals::default();
        let [one, two] = [1, 2].map(|n| DeviceId::from_bytes([n; 8]).into());
        assert!(refusals.is_news(one, "wrong_node", UnixMillis(0)));
        assert!(!refusals.is_news(one, "wrong_node", UnixMillis(59_999)));
        assert!(refusals.is_news(one, "bad_signature", UnixMillis(1)));
        assert!(refusals.is_news(two, "wrong_node", UnixMillis(1)));
        assert!(refusals.is_news(one, "wrong_node", UnixMillis(60_000)));
        // After a clock that was set back, nothing waits until it has caught up.
        assert!(refusals.is_news(one, "wrong_node", UnixMillis(5)));
    }
}
