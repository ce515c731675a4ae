//! Principals in audit rows and in words.

use pairing::Principal;
use server::{audit::AuditRow, peer::Peer};

/// An audit row about what a principal does now.
pub(crate) fn row(
    principal: &Principal,
    peer: &Peer,
    action: &'static str,
    target: impl ToString,
) -> AuditRow {
    AuditRow::new(server::clock::now(), named(principal), peer, action, target)
}

/// Who holds something, for a person who reads it on a screen.
pub(crate) fn in_words(principal: &Principal) -> String {
    match principal {
        Principal::Owner => "a terminal on the daemon's machine".to_owned(),
        other => named(other),
    }
}

fn named(principal: &Principal) -> String {
    match principal {
        Principal::Owner => "owner".to_owned(),
        Principal::Session(session) => session.to_string(),
        Principal::Device { id, .. } => id.to_string(),
        Principal::Guest(id) => id.to_string(),
        Principal::Nobody => "nobody".to_owned(),
    }
}
