//! Principals in audit rows and in words.

use pairing::Principal;
use server::{audit::AuditRow, authenticate::name_of, clock, peer::Peer};

use crate::{app::App, tally::Counted};

/// An audit row about what a principal does now.
pub(crate) fn row(
    principal: &Principal,
    peer: &Peer,
    action: &'static str,
    target: impl ToString,
) -> AuditRow {
    AuditRow::new(clock::now(), name_of(principal), peer, action, target)
}

/// The row about what a principal typed into a session.
pub(crate) fn input_row(
    principal: &Principal,
    peer: &Peer,
    session: impl ToString,
    Counted { bytes, first, last }: Counted,
) -> AuditRow {
    let (from, to) = (clock::timestamp(first), clock::timestamp(last));
    row(principal, peer, "input", session).detail(format!("{bytes} bytes from {from} to {to}"))
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
