//! What a session wants of a person: from its program's own words first, else from when it wrote.
//!
//! Pure: moments are milliseconds since the session began, and what time it is stands in the arguments. Nothing ticks; who
//! shows a session asks, and is told when the answer will be another one.

use protocol::sessions::AttentionState;
use terminal::Signal;

/// What is known of one session's program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attention {
    /// The program's last word, and when it came.
    word: Option<(u64, Word)>,
    /// Whether the shell marks its prompts: then its silence means nothing.
    has_marks: bool,
    /// When the last stretch of output began, and when its last bytes came.
    output: Option<(u64, u64)>,
    /// When somebody last typed, or changed the size.
    disturbed: Option<u64>,
}

/// An answer: the state, since when, and what the program said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) state: AttentionState,
    pub(super) since_ms: u64,
    pub(super) message: Option<String>,
    /// When it will be another one, if nothing happens.
    pub(super) until_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    /// It calls somebody (BEL, a notification).
    Calls(Option<String>),
    /// A command runs.
    Runs,
    /// The shell waits for a command.
    AtPrompt,
}

impl Attention {
    /// Takes in what the program said.
    pub(super) fn hear(&mut self, at_ms: u64, signal: &Signal) {
        let word = match signal {
            Signal::Notification { text } => Word::Calls(Some(text.clone())),
            // A bell says less than the notification that it belongs to.
            Signal::Bell if self.calls_with_words() => return,
            Signal::Bell => Word::Calls(None),
            Signal::OutputStart => Word::Runs,
            Signal::Prompt | Signal::CommandStart | Signal::CommandEnd { .. } => Word::AtPrompt,
        };
        let is_mark = !matches!(word, Word::Calls(_));
        self.has_marks |= is_mark;
        // A prompt is drawn again and again, and the shell at it still waits since the first time. What a command called for
        // is not answered by its end.
        let stays = match (&self.word, &word) {
            (Some((_, former)), new) if former == new => !matches!(new, Word::Calls(_)),
            (Some((_, Word::Calls(_))), Word::AtPrompt) => true,
            _ => false,
        };
        if !stays {
            self.word = Some((at_ms, word));
        }
    }

    /// Takes in when the last stretch of output began, and when its last bytes came. The echo of what somebody typed, and
    /// what is drawn anew for another size, is no work of the program's.
    pub(super) fn wrote(&mut self, since_ms: u64, last_ms: u64) {
        let is_echo = self
            .disturbed
            .is_some_and(|at| at <= since_ms && last_ms <= at.saturating_add(ECHO_MS));
        if !is_echo {
            self.output = Some((since_ms, last_ms));
        }
    }

    /// Somebody typed, or changed the size.
    pub(super) fn disturbed(&mut self, at_ms: u64) {
        self.disturbed = Some(at_ms);
    }

    /// A person has answered: what the program called for is done with.
    pub(super) fn answered(&mut self, at_ms: u64) {
        if let Some((_, Word::Calls(_))) = self.word {
            self.word = self.has_marks.then_some((at_ms, Word::Runs));
        }
    }

    /// What it wants now.
    pub(super) fn seen(&self, now_ms: u64) -> Seen {
        let lasting = |state, since_ms, message| Seen {
            state,
            since_ms,
            message,
            until_ms: None,
        };
        match &self.word {
            Some((at, Word::Calls(message))) => {
                return lasting(AttentionState::Waiting, *at, message.clone());
            }
            Some((at, Word::Runs)) => return lasting(AttentionState::Working, *at, None),
            Some((at, Word::AtPrompt)) => return lasting(AttentionState::Idle, *at, None),
            None => {}
        }
        match self.output {
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

    fn calls_with_words(&self) -> bool {
        matches!(self.word, Some((_, Word::Calls(Some(_)))))
    }
}

/// A stretch of output ends with a silence of so long, and a program that wrote nothing for so long is taken for idle.
const QUIET_MS: u64 = terminal::QUIET_MS;

/// Milliseconds in which what was typed is echoed, and a screen drawn anew.
const ECHO_MS: u64 = 500;

#[cfg(test)]
mod tests {
    use protocol::sessions::AttentionState::{self, Idle, Unknown, Waiting, Working};
    use terminal::Signal;

    use super::{Attention, QUIET_MS};

    fn state(attention: &Attention, now_ms: u64) -> (AttentionState, u64) {
        let seen = attention.seen(now_ms);
        (seen.state, seen.since_ms)
    }

    fn note(text: &str) -> Signal {
        Signal::Notification { text: text.into() }
    }

    #[test]
    fn a_program_that_says_nothing_is_judged_by_its_output() {
        let mut attention = Attention::default();
        assert_eq!(state(&attention, 9_000), (Unknown, 0));
        attention.wrote(10_000, 12_000);
        assert_eq!(state(&attention, 12_500), (Working, 10_000));
        assert_eq!(attention.seen(12_500).until_ms, Some(12_000 + QUIET_MS));
        assert_eq!(state(&attention, 12_000 + QUIET_MS), (Idle, 12_000));
        assert_eq!(attention.seen(99_000).until_ms, None);
        attention.wrote(20_000, 20_000);
        assert_eq!(state(&attention, 20_000), (Working, 20_000));
    }

    #[test]
    fn an_echo_is_no_work_and_what_follows_it_is() {
        let mut attention = Attention::default();
        attention.wrote(1_000, 2_000);
        attention.disturbed(50_000);
        attention.wrote(50_010, 50_400);
        assert_eq!(state(&attention, 50_450), (Idle, 2_000));
        attention.wrote(50_010, 50_900);
        assert_eq!(state(&attention, 51_000), (Working, 50_010));
    }

    #[test]
    fn a_bell_and_a_notification_wait_until_somebody_answers() {
        let mut attention = Attention::default();
        attention.wrote(1_000, 1_000);
        attention.hear(1_000, &Signal::Bell);
        attention.wrote(5_000, 5_000);
        assert_eq!(state(&attention, 9_000), (Waiting, 1_000));
        attention.hear(6_000, &note("may I?"));
        attention.hear(6_001, &Signal::Bell);
        let seen = attention.seen(9_000);
        assert_eq!((seen.state, seen.since_ms), (Waiting, 6_000));
        assert_eq!(seen.message.as_deref(), Some("may I?"));
        attention.answered(10_000);
        assert_eq!(state(&attention, 10_000), (Idle, 5_000));
    }

    #[test]
    fn a_shell_that_marks_its_commands_is_believed_before_any_timing() {
        let mut attention = Attention::default();
        attention.hear(100, &Signal::Prompt);
        attention.hear(110, &Signal::CommandStart);
        attention.wrote(110, 110);
        assert_eq!(state(&attention, 120), (Idle, 100));
        attention.hear(2_000, &Signal::OutputStart);
        assert_eq!(state(&attention, 60_000), (Working, 2_000));
        attention.hear(61_000, &Signal::CommandEnd { exit: Some(0) });
        attention.hear(61_001, &Signal::Prompt);
        assert_eq!(state(&attention, 70_000), (Idle, 61_000));
    }

    #[test]
    fn the_end_of_a_command_does_not_answer_what_it_called_for() {
        let mut attention = Attention::default();
        attention.hear(100, &Signal::OutputStart);
        attention.hear(200, &note("done"));
        attention.hear(201, &Signal::CommandEnd { exit: Some(0) });
        attention.hear(202, &Signal::Prompt);
        assert_eq!(state(&attention, 300), (Waiting, 200));
        attention.hear(400, &Signal::OutputStart);
        assert_eq!(state(&attention, 500), (Working, 400));
    }
}
