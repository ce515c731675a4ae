//! What a session wants of a person: from its program's own words first, else from when it wrote.
//!
//! Pure: moments are milliseconds since the session began, and what time it is stands in the arguments. Nothing ticks; who
//! shows a session asks, and is told when the answer will be another one.

use protocol::sessions::AttentionState;
use terminal::{QUIET_MS, Said, Word};

/// An answer: the state, since when, and what the program said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) state: AttentionState,
    pub(super) since_ms: u64,
    pub(super) message: Option<String>,
    /// When it will be another one, if nothing happens.
    pub(super) until_ms: Option<u64>,
}

/// What it wants now, by what it said last, and from when to when it last wrote.
pub(super) fn seen(said: &Said, worked: Option<(u64, u64)>, now_ms: u64) -> Seen {
    let lasting = |state, since_ms, message| Seen {
        state,
        since_ms,
        message,
        until_ms: None,
    };
    match &said.word {
        Some((at, Word::Calls(message))) => {
            return lasting(AttentionState::Waiting, *at, message.clone());
        }
        Some((at, Word::Runs)) => return lasting(AttentionState::Working, *at, None),
        Some((at, Word::AtPrompt)) => return lasting(AttentionState::Idle, *at, None),
        None => {}
    }
    match worked {
        // Nothing says yet what it is about.
        None => lasting(AttentionState::Unknown, 0, None),
        Some((since, until)) if now_ms < until.saturating_add(QUIET_MS) => Seen {
            state: AttentionState::Working,
            since_ms: since,
            message: None,
            until_ms: Some(until.saturating_add(QUIET_MS)),
        },
        Some((_, until)) => lasting(AttentionState::Idle, until, None),
    }
}

#[cfg(test)]
mod tests {
    use protocol::sessions::AttentionState::{self, Idle, Unknown, Waiting, Working};
    use terminal::{Said, Signal};

    use super::{QUIET_MS, seen};

    fn state(said: &Said, worked: Option<(u64, u64)>, now_ms: u64) -> (AttentionState, u64) {
        let seen = seen(said, worked, now_ms);
        (seen.state, seen.since_ms)
    }

    #[test]
    fn a_program_that_says_nothing_is_judged_by_its_output() {
        let nothing = Said::default();
        assert_eq!(state(&nothing, None, 9_000), (Unknown, 0));
        let worked = Some((10_000, 12_000));
        assert_eq!(state(&nothing, worked, 12_500), (Working, 10_000));
        assert_eq!(seen(&nothing, worked, 12_500).until_ms, Some(12_000 + QUIET_MS));
        assert_eq!(state(&nothing, worked, 12_000 + QUIET_MS), (Idle, 12_000));
        assert_eq!(seen(&nothing, worked, 99_000).until_ms, None);
    }

    #[test]
    fn a_program_that_calls_waits_until_somebody_answers() {
        let mut said = Said::default();
        let text = "may I?".to_owned();
        said.hear(6_000, &Signal::Notification { text });
        let worked = Some((1_000, 5_000));
        let waiting = seen(&said, worked, 9_000);
        assert_eq!((waiting.state, waiting.since_ms), (Waiting, 6_000));
        assert_eq!(waiting.message.as_deref(), Some("may I?"));
        said.answered(10_000);
        assert_eq!(state(&said, worked, 10_000), (Idle, 5_000));
    }

    #[test]
    fn a_shell_that_marks_its_commands_is_believed_before_any_timing() {
        let mut said = Said::default();
        said.hear(100, &Signal::Prompt);
        said.hear(110, &Signal::CommandStart);
        assert_eq!(state(&said, Some((110, 110)), 120), (Idle, 100));
        said.hear(2_000, &Signal::OutputStart);
        assert_eq!(state(&said, Some((110, 110)), 60_000), (Working, 2_000));
        said.hear(61_000, &Signal::CommandEnd { exit: Some(0) });
        said.hear(61_001, &Signal::Prompt);
        assert_eq!(state(&said, Some((110, 110)), 70_000), (Idle, 61_000));
    }
}
