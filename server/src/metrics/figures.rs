//! The figures of the access layer.

use std::fs;

use pairing::{GuestPhase, Role};

use super::{Exposition, Kind, Label, Tally};
use crate::{access::Access, audit::action, clock};

/// Writes all that the access layer knows, as it stands.
pub(crate) fn write(access: &Access, to: &mut Exposition) {
    connections(access, to);
    refusals(access, to);
    trust(access, to);
    happened(access.store.tally(), to);
    process(to);
}

fn connections(access: &Access, to: &mut Exposition) {
    let mut family = to.family(
        "transom_connections",
        Kind::Gauge,
        "Open connections, by the listener that they came to and by who is at the other end.",
    );
    for ((listener, principal), count) in access.connections().census() {
        let listener = listener.map_or(Label::Word("unix"), Label::Address);
        let labels = [("listener", listener), ("principal", Label::Word(principal))];
        family.figure(&labels, count);
    }
}

fn refusals(access: &Access, to: &mut Exposition) {
    let mut family = to.family(
        "transom_refusals_total",
        Kind::Counter,
        "Requests that the access layer answered with a problem, by the code of that.",
    );
    for (code, count) in access.refused.all() {
        family.figure(&[("cause", Label::Word(code))], count);
    }
    let mut family = to.family(
        "transom_failed_credentials_total",
        Kind::Counter,
        "Those of them in which a token or a proof was shown that was not right.",
    );
    for (code, count) in access.failed.all() {
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

/// The kernel's word; none where it has none.
fn process(to: &mut Exposition) {
    let Some(bytes) = resident_memory() else {
        return;
    };
    to.family(
        "process_resident_memory_bytes",
        Kind::Gauge,
        "Memory of the daemon's process that is resident; its keeper and its programs are others.",
    )
    .figure(&[], bytes);
}

/// `VmRSS` of `/proc/self/status`, which is in units of 1,024 bytes (proc_pid_status(5)).
fn resident_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let count: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    count.checked_mul(1_024)
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

#[cfg(test)]
mod tests {
    use super::resident_memory;

    #[test]
    fn the_kernel_says_how_much_memory_is_resident() {
        let bytes = resident_memory().unwrap();
        assert!((1 << 20..1 << 40).contains(&bytes), "{bytes}");
    }
}
