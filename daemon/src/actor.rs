//! Principals in audit rows and in words.

use pairing::Principal;
use server::{audit::AuditRow, authenticate::name_of, peer::Peer};

/// An audit row about what a principal does now.
pub(crate) fn row(
    principal: &Principal,
    peer: &Peer,
    action: &'static str,
    target: impl ToString,
) -> AuditRow {
    AuditRow::new(server::clock::now(), name_of(principal), peer, action, target)
}

/// Who holds something, for a person who reads it on a screen.
pub(crate) fn in_words(principal: &Principal) -> String {
    match principal {
        Principal::Owner => "a terminal on the daemon's machine".to_owned(),
        Principal::Session(session) => format!("a program in session {session}"),
        other => name_of(other),
    }
}
