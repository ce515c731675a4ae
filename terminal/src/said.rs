//! What a program said about itself last, and when it wrote: what tells whether it works, waits or is idle.
//!
//! Pure: moments are milliseconds since the session began, and stand in the arguments.

use crate::screen::Signal;

/// What a program said about itself last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Its last word, and when it came; none if it said nothing, or what it said was answered.
    pub word: Option<(u64, Word)>,
    /// Whether the shell marks its prompts: then its silence means nothing.
    pub has_marks: bool,
}

/// A word of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// It calls somebody (BEL, a notification), if with words, with these.
    Calls(Option<String>),
    /// A command runs.
    Runs,
    /// The shell waits for a command.
    AtPrompt,
}

impl Said {
    /// Takes in what the program said.
    pub fn hear(&mut self, at_ms: u64, signal: &Signal) {
        let word = match signal {
            Signal::Notification { text } => Word::Calls(Some(text.clone())),
            // A bell says less than the notification that it belongs to.
            Signal::Bell if matches!(self.word, Some((_, Word::Calls(Some(_))))) => return,
            Signal::Bell => Word::Calls(None),
            Signal::OutputStart => Word::Runs,
            Signal::Prompt | Signal::CommandStart | Signal::CommandEnd { .. } => Word::AtPrompt,
        };
        self.has_marks |= !matches!(word, Word::Calls(_));
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

    /// A person has answered: what the program called for is done with. Returns whether there was anything.
    pub fn answered(&mut self, at_ms: u64) -> bool {
        let is_called = matches!(self.word, Some((_, Word::Calls(_))));
        if is_called {
            self.word = self.has_marks.then_some((at_ms, Word::Runs));
        }
        is_called
    }
}

/// The last stretch of output, from when to when, once there is some at `now_ms`. A stretch ends with a silence of [`QUIET_MS`].
pub(crate) fn stretch(former: Option<(u64, u64)>, now_ms: u64) -> (u64, u64) {
    match former {
        Some((since, last)) if now_ms.saturating_sub(last) < QUIET_MS => (since, now_ms.max(last)),
        _ => (now_ms, now_ms),
    }
}

/// Whether a stretch of output is the echo of what somebody typed, or is drawn anew for another size: no work of the program's.
pub(crate) fn is_echo((since, last): (u64, u64), disturbed: Option<u64>) -> bool {
    disturbed.is_some_and(|at| at <= since && last <= at.saturating_add(ECHO_MS))
}

/// A silence of so many milliseconds is no pause of a program that works: spinners turn and progress is told several times a
/// second, compilers are silent for a second or two.
pub const QUIET_MS: u64 = 3_000;

/// Milliseconds in which what was typed is echoed, and a screen drawn anew.
const ECHO_MS: u64 = 500;

#[cfg(test)]
mod tests {
    use super::{QUIET_MS, Said, Word, is_echo, stretch};
    use crate::screen::Signal;

    fn note(text: &str) -> Signal {
        Signal::Notification { text: text.into() }
    }

    fn calls(at: u64, text: Option<&str>) -> Option<(u64, Word)> {
        Some((at, Word::Calls(text.map(str::to_owned))))
    }

    #[test]
    fn an_echo_is_no_work_and_what_follows_it_is() {
        assert!(is_echo((50_010, 50_400), Some(50_000)));
        assert!(!is_echo((50_010, 50_900), Some(50_000)));
        assert!(!is_echo((49_000, 50_100), Some(50_000)));
        assert!(!is_echo((49_000, 50_100), None));
    }

    #[test]
    fn a_stretch_of_output_ends_with_a_silence() {
        assert_eq!(stretch(None, 7), (7, 7));
        assert_eq!(stretch(Some((7, 8)), 7 + QUIET_MS), (7, 7 + QUIET_MS));
        assert_eq!(stretch(Some((7, 8)), 8 + QUIET_MS), (8 + QUIET_MS, 8 + QUIET_MS));
    }

    #[test]
    fn a_bell_and_a_notification_stand_until_somebody_answers() {
        let mut said = Said::default();
        said.hear(1_000, &Signal::Bell);
        assert_eq!(said.word, calls(1_000, None));
        said.hear(6_000, &note("may I?"));
        said.hear(6_001, &Signal::Bell);
        assert_eq!(said.word, calls(6_000, Some("may I?")));
        assert!(said.answered(10_000) && !said.answered(10_001));
        assert_eq!(said.word, None);
    }

    #[test]
    fn the_end_of_a_command_does_not_answer_what_it_called_for() {
        let mut said = Said::default();
        said.hear(100, &Signal::OutputStart);
        said.hear(200, &note("done"));
        said.hear(201, &Signal::CommandEnd { exit: Some(0) });
        said.hear(202, &Signal::Prompt);
        assert_eq!(said.word, calls(200, Some("done")));
        assert!(said.answered(300));
        assert_eq!(said.word, Some((300, Word::Runs)));
        said.hear(400, &Signal::Prompt);
        said.hear(500, &Signal::CommandStart);
        assert_eq!(said.word, Some((400, Word::AtPrompt)));
    }
}
