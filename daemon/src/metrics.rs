//! The product's figures of a scrape; those of the access layer stand before them.

use protocol::sessions::SessionState;
use server::metrics::{Exposition, Kind, Label};

use crate::sessions::Sessions;

/// Writes what is known of sessions, as it stands.
pub(crate) fn write(sessions: &Sessions, to: &mut Exposition) {
    let mut family = to.family(
        "transom_sessions",
        Kind::Gauge,
        "Sessions by state: running, exited, lost (nobody knows how it ended), or deleted and kept for a while.",
    );
    let states = sessions.states();
    let living = [
        ("running", SessionState::Running),
        ("exited", SessionState::Exited),
        ("lost", SessionState::Lost),
    ];
    for (word, wanted) in living {
        let count = states.iter().filter(|state| **state == Some(wanted)).count();
        family.figure(&[("state", Label::Word(word))], count as u64);
    }
    let deleted = states.iter().filter(|state| state.is_none()).count();
    family.figure(&[("state", Label::Word("deleted"))], deleted as u64);
}
