//! Principals in audit rows and in words.

use pairing::Principal;
use server::{audit::AuditRow, authenticate::name_of, peer::Peer};

use crate::app::App;

/// An audit row about what a principal does now.
pub(crate) fn row(
    principal: &Principal,
    peer: &Peer,
    action: &'static str,
    target: impl ToString,
) -> AuditRow {
    AuditRow::new(server::clock::now(), name_of(principal), peer, action, target)
}

/// Who types or holds something, for a person who reads it on a screen.
pub(crate) fn in_words(principal: &Principal, app: &App) -> String {
    let called = match principal {
        Principal::Owner => Some("a terminal on the daemon's machine".to_owned()),
        Principal::Device { id, .. } => app.access.label_of(*id),
        Principal::Session(id) => app
            .sessions
            .name_of(id)
            .map(|name| format!("a program in session {name}")),
        Principal::Guest(_) | Principal::Nobody => None,
    };
    called.unwrap_or_else(|| name_of(principal))
}
