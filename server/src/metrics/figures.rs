//! The figures of the access layer.

use std::time::Duration;

use pairing::{GuestPhase, Role};

use super::{Exposition, Kind, Label, Tally, broken, process};
use crate::{access::Access, audit::action, clock};

/// Writes all that the access layer knows, as it stands; `lag` is how long the event loop let this scrape wait for its turn.
pub(crate) fn write(access: &Access, lag: Duration, to: &mut Exposition) {
    connections(access, to);
    handshakes(access, to);
    refusals(access, to);
    trust(access, to);
    happened(access.store.tally(), to);
    times(access, lag, to);
    process::write(access.started, to);
}

fn connections(access: &Access, to: &mut Exposition) {
    let census = access.connections().census();
    let mut family = to.family(
        "transom_connections",
        Kind::Gauge,
        "Open connections, by the listener that they came to and by who is at the other end.",
    );
    for ((listener, principal), count) in census.living {
        let listener = listener.map_or(Label::Word("unix"), Label::Address);
        let labels = [("listener", listener), ("principal", Label::Word(principal))];
        family.figure(&labels, count);
    }
    to.family(
        "transom_accepted_connections_total",
        Kind::Counter,
        "Connections that were accepted, on all listeners.",
    )
    .figure(&[], census.accepted);
    let ways = [("unix", census.local), ("tls", census.remote)];
    let mut family = to.family(
        "transom_received_bytes_total",
        Kind::Counter,
        "Bytes read from connections, as they are on the wire.",
    );
    for (way, traffic) in ways {
        family.figure(&[("transport", Label::Word(way))], traffic.received);
    }
    let mut family = to.family(
        "transom_sent_bytes_total",
        Kind::Counter,
        "Bytes written to connections, as they are on the wire.",
    );
    for (way, traffic) in ways {
        family.figure(&[("transport", Label::Word(way))], traffic.sent);
    }
}

fn handshakes(access: &Access, to: &mut Exposition) {
    let counts = &access.counts;
    to.family(
        "transom_handshakes_total",
        Kind::Counter,
        "TLS handshakes that were done.",
    )
    .figure(&[], counts.handshakes.get());
    let mut family = to.family(
        "transom_broken_handshakes_total",
        Kind::Counter,
        "Connections that came no further than the TLS handshake, by why.",
    );
    for cause in broken::ALL {
        family.figure(
            &[("cause", Label::Word(cause))],
            counts.broken_handshakes.of(cause),
        );
    }
    to.family(
        "transom_proofs_total",
        Kind::Counter,
        "Proofs of a key for which there was an access token.",
    )
    .figure(&[], counts.proofs.get());
    let mut family = to.family(
        "transom_failed_proofs_total",
        Kind::Counter,
        "Proofs of a key for which there was none, by the code of the problem.",
    );
    for (code, count) in counts.failed_proofs.all() {
        family.figure(&[("cause", Label::Word(code))], count);
    }
}

fn refusals(access: &Access, to: &mut Exposition) {
    let mut family = to.family(
        "transom_refusals_total",
        Kind::Counter,
        "Requests that the access layer answered with a problem, by the code of that.",
    );
    for (code, count) in access.counts.refused.all() {
        family.figure(&[("cause", Label::Word(code))], count);
    }
    let mut family = to.family(
        "transom_failed_credentials_total",
        Kind::Counter,
        "Those of them in which a token or a proof was shown that was not right.",
    );
    for (code, count) in access.counts.failed.all() {
        family.figure(&[("cause", Label::Word(code))], count);
    }
}

fn trust(access: &Access, to: &mut Exposition) {
    let mut family = to.family(
        "transom_devices",
        Kind::Gauge,
        "Paired and added devices, by role.",
    );
    for role in [Role::Metrics, Role::Viewer, Role::Operator] {
        let count = access
            .devices()
            .iter()
            .filter(|device| device.role == role)
            .count();
        family.figure(&[("role", Label::Word(role.as_str()))], count as u64);
    }
    let mut family = to.family(
        "transom_guests",
        Kind::Gauge,
        "Guests who are there until their end, and invitations that nobody has used.",
    );
    let now = clock::latest();
    for (state, phase) in [("invited", GuestPhase::Invited), ("joined", GuestPhase::Joined)] {
        let count = access.guests().count(phase, now);
        family.figure(&[("state", Label::Word(state))], count as u64);
    }
    to.family(
        "transom_locked_down",
        Kind::Gauge,
        "1 while every remote way in is closed by a lock-down, else 0.",
    )
    .figure(&[], access.is_locked_down().into());
}

/// What was done, as the audit trail has it.
fn happened(tally: &Tally, to: &mut Exposition) {
    let mut family = to.family(
        "transom_pairing_steps_total",
        Kind::Counter,
        "Steps of pairing that were done and written to the audit trail.",
    );
    for (step, action) in PAIRING {
        family.figure(&[("step", Label::Word(step))], tally.of(action));
    }
    let mut family = to.family(
        "transom_revocations_total",
        Kind::Counter,
        "Devices, and guests or invitations, that ended, by how.",
    );
    for (of, cause, action) in ENDS {
        let labels = [("of", Label::Word(of)), ("cause", Label::Word(cause))];
        family.figure(&labels, tally.of(action));
    }
    to.family(
        "transom_lockdowns_total",
        Kind::Counter,
        "How often every remote way in was closed.",
    )
    .figure(&[], tally.of(action::LOCKED_DOWN));
}

fn times(access: &Access, lag: Duration, to: &mut Exposition) {
    to.family(
        "transom_revocation_duration_seconds",
        Kind::Histogram,
        "From the wish to end a device or a guest until nothing of it can leave any more.",
    )
    .histogram(&[], &access.counts.revocations);
    let writes = access.store.writes();
    to.family(
        "transom_store_write_duration_seconds",
        Kind::Histogram,
        "From the wish to change the store until that is synced to the disk, or has failed.",
    )
    .histogram(&[], writes.durations);
    to.family(
        "transom_failed_store_writes_total",
        Kind::Counter,
        "Changes of the store that have failed.",
    )
    .figure(&[], writes.failed);
    to.family(
        "transom_event_loop_lag_seconds",
        Kind::Gauge,
        "How long this scrape waited for another turn on the event loop, behind whatever was to be done.",
    )
    .seconds(&[], lag);
}

const PAIRING: [(&str, &str); 8] = [
    ("offer_made", action::OFFER_MADE),
    ("offer_withdrawn", action::OFFER_WITHDRAWN),
    ("requested", action::PAIRING_REQUESTED),
    ("revealed", action::PAIRING_REVEALED),
    ("approved", action::PAIRING_APPROVED),
    ("rejected", action::PAIRING_REJECTED),
    ("exchanged", action::PAIRING_EXCHANGED),
    ("committed", action::PAIRING_COMMITTED),
];

const ENDS: [(&str, &str, &str); 7] = [
    ("device", "revoked", action::DEVICE_REVOKED),
    ("device", "signed_out", action::DEVICE_SIGNED_OUT),
    ("device", "expired", action::DEVICE_EXPIRED),
    ("guest", "revoked", action::GUEST_ENDED),
    ("guest", "left", action::GUEST_LEFT),
    ("guest", "expired", action::GUEST_EXPIRED),
    ("guest", "burned", action::GUEST_BURNED),
];
