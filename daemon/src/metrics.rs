//! The product's figures of a scrape; those of the access layer stand before them.

use protocol::sessions::SessionState;
use server::metrics::{Exposition, Kind, Label};

use crate::{keeper::KeeperState, sessions::Sessions};

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
    attachments(sessions, to);
    keeper(sessions, to);
}

fn attachments(sessions: &Sessions, to: &mut Exposition) {
    let there = sessions.attached();
    to.family(
        "transom_attachments",
        Kind::Gauge,
        "Attachments to sessions: those that view, and those that may type.",
    )
    .figure(&[("mode", Label::Word("view"))], there.viewers.into())
    .figure(&[("mode", Label::Word("write"))], there.writers.into());
    to.family(
        "transom_skipped_replays_total",
        Kind::Counter,
        "Snapshots that viewers got in the place of output that they would not have drawn in good time.",
    )
    .figure(&[], terminal::skipped_replays());
}

fn keeper(sessions: &Sessions, to: &mut Exposition) {
    let (state, losses) = sessions.keeper_state();
    let mut family = to.family(
        "transom_keeper_state",
        Kind::Gauge,
        "1 for the state of the keeper of sessions, 0 for the others: none (it begins with the first session), connected, \
         or mourned (it died, and what it held is being ended).",
    );
    let states = [
        ("none", KeeperState::None),
        ("connected", KeeperState::Connected),
        ("mourned", KeeperState::Mourned),
    ];
    for (word, each) in states {
        family.figure(&[("state", Label::Word(word))], (state == each).into());
    }
    to.family(
        "transom_keeper_losses_total",
        Kind::Counter,
        "Keepers that died while sessions were theirs.",
    )
    .figure(&[], losses);
}
