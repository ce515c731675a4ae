//! What a program says about itself beside its output: bells, notifications, the marks of a shell.

use std::collections::VecDeque;
use std::ops::Range;

/// Something that a program said to whoever minds its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// BEL. Bells in a row are one.
    Bell,
    /// A notification: OSC 9, OSC 99 (kitty) or OSC 777 (urxvt).
    Notification {
        /// At most 888 bytes, without control characters.
        text: String,
    },
    /// A shell is about to write its prompt (OSC 133 A).
    Prompt,
    /// The prompt is written; what the user types follows (OSC 133 B).
    CommandStart,
    /// A command was started; its output follows (OSC 133 C).
    OutputStart,
    /// A command has ended (OSC 133 D).
    CommandEnd {
        /// The exit code, if the shell said it.
        exit: Option<i32>,
    },
}

/// Collects signals until they are taken.
#[derive(Debug, Default)]
pub(super) struct Signals {
    waiting: VecDeque<Signal>,
    /// A kitty notification whose end is to come: its id, title and body.
    unfinished: Option<(Vec<u8>, String, String)>,
    /// The line where the last command's output begins, and the one behind its last, if it has ended.
    output: Option<(u64, Option<u64>)>,
}

impl Signals {
    /// The signals since the last call.
    pub(super) fn take(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.waiting).into()
    }

    /// BEL.
    pub(super) fn bell(&mut self) {
        if self.waiting.back() != Some(&Signal::Bell) {
            self.push(Signal::Bell);
        }
    }

    /// An operating system command, its parameters taken apart, seen with the cursor in a column of a line.
    pub(super) fn command(&mut self, parameters: &[&[u8]], line: u64, column: usize) {
        match parameters {
            [b"9", rest @ ..] => self.growl(rest),
            [b"99", metadata, payload @ ..] => self.kitty(metadata, &payload.join(&b';')),
            [b"777", b"notify", rest @ ..] => {
                let texts: Vec<String> = rest.iter().map(|text| clean(text)).collect();
                self.notify(&texts.join(": "));
            }
            [b"133", mark, rest @ ..] => self.mark(mark, rest, line, column),
            _ => {}
        }
    }

    /// The lines of the last command's output, of which `end` is the one behind the last that there is.
    pub(super) fn output(&self, end: u64) -> Option<Range<u64>> {
        let (start, known) = self.output?;
        Some(start..known.unwrap_or(end).max(start))
    }

    /// Where the last command's output begins, and the line behind its last, if it has ended.
    pub(super) fn marked(&self) -> Option<(u64, Option<u64>)> {
        self.output
    }

    /// Goes on as if a shell had marked this.
    pub(super) fn set_output(&mut self, output: Option<(u64, Option<u64>)>) {
        self.output = output;
    }

    /// The lines that are remembered by their numbers.
    pub(super) fn marks(&self) -> Vec<u64> {
        self.output
            .iter()
            .flat_map(|(start, end)| std::iter::once(*start).chain(*end))
            .collect()
    }

    /// Follows lines that got other numbers.
    pub(super) fn move_marks(&mut self, from: &[u64], to: &[u64]) {
        let moved = |mark: u64| {
            from.iter()
                .position(|old| *old == mark)
                .map_or(mark, |index| to[index])
        };
        self.output = self.output.map(|(start, end)| (moved(start), end.map(moved)));
    }

    /// OSC 9, whose numbered commands (ConEmu's, such as 9;4 for progress) are no notifications.
    fn growl(&mut self, parameters: &[&[u8]]) {
        let is_numbered = parameters.len() > 1 && parameters[0].iter().all(u8::is_ascii_digit);
        if !is_numbered {
            self.notify(&clean(&parameters.join(&b';')));
        }
    }

    /// OSC 99: parts of one id are joined until one says that it is the last (`d=1`, which is the default).
    fn kitty(&mut self, metadata: &[u8], payload: &[u8]) {
        let value = |key: u8| {
            metadata
                .split(|&byte| byte == b':')
                .find_map(|pair| pair.strip_prefix(&[key, b'=']))
        };
        let id = value(b'i').unwrap_or_default();
        let (mut title, mut body) = match self.unfinished.take() {
            Some((same, title, body)) if same == id => (title, body),
            _ => <_>::default(),
        };
        let decoded;
        let payload = if value(b'e') == Some(b"1") {
            decoded = from_base64(payload);
            &decoded
        } else {
            payload
        };
        match value(b'p').unwrap_or(b"title") {
            b"title" => title += &clean(payload),
            b"body" => body += &clean(payload),
            _ => return,
        }
        if value(b'd') == Some(b"0") {
            title.truncate(title.floor_char_boundary(MAX_TEXT));
            body.truncate(body.floor_char_boundary(MAX_TEXT));
            self.unfinished = Some((id[..id.len().min(MAX_ID)].to_vec(), title, body));
        } else if body.is_empty() || title.is_empty() {
            self.notify(&(title + &body));
        } else {
            self.notify(&format!("{title}: {body}"));
        }
    }

    fn mark(&mut self, mark: &[u8], rest: &[&[u8]], line: u64, column: usize) {
        match mark {
            b"A" => self.push(Signal::Prompt),
            b"B" => self.push(Signal::CommandStart),
            b"C" => {
                self.output = Some((line, None));
                self.push(Signal::OutputStart);
            }
            b"D" => {
                if let Some((_, end @ None)) = &mut self.output {
                    *end = Some(line + u64::from(column > 0));
                }
                let exit = rest.first().and_then(|code| std::str::from_utf8(code).ok());
                self.push(Signal::CommandEnd {
                    exit: exit.and_then(|code| code.parse().ok()),
                });
            }
            _ => {}
        }
    }

    fn notify(&mut self, text: &str) {
        if !text.is_empty() {
            let text = text[..text.floor_char_boundary(MAX_TEXT)].to_owned();
            self.push(Signal::Notification { text });
        }
    }

    fn push(&mut self, signal: Signal) {
        if self.waiting.len() == MAX_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(signal);
    }
}

/// Text without control characters.
fn clean(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(4 * MAX_TEXT)])
        .chars()
        .filter(|character| !character.is_control())
        .collect()
}

/// Decodes base64 (RFC 4648) as far as it is any.
fn from_base64(text: &[u8]) -> Vec<u8> {
    let mut bits = 0_u32;
    let mut count = 0;
    let mut bytes = Vec::new();
    for &character in text {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    bytes
}

/// Signals kept for whoever takes them; the oldest go first.
const MAX_WAITING: usize = 64;
/// Bytes of a notification; a journal keeps the last one.
pub(crate) const MAX_TEXT: usize = 888;
/// Bytes of a notification's id.
const MAX_ID: usize = 64;

#[cfg(test)]
mod tests {
    use super::{Signal, Signals, from_base64};

    fn signals(commands: &[&str]) -> Vec<Signal> {
        let mut signals = Signals::default();
        for command in commands {
            let parameters: Vec<&[u8]> = command.as_bytes().split(|&byte| byte == b';').collect();
            signals.command(&parameters, 0, 0);
        }
        signals.take()
    }

    fn note(text: &str) -> Signal {
        Signal::Notification { text: text.into() }
    }

    #[test]
    fn every_kind_of_notification_is_one() {
        let expected = [note("done; really"), note("build: failed"), note("kitty")];
        assert_eq!(
            signals(&["9;done; really", "777;notify;build;failed", "99;;kitty"]),
            expected
        );
    }

    #[test]
    fn progress_is_no_notification() {
        assert_eq!(signals(&["9;4;1;50", "9;9;/home/ann", "9;4"]), [note("4")]);
    }

    #[test]
    fn parts_of_a_notification_are_joined() {
        let parts = [
            "99;i=1:d=0;Hello ",
            "99;i=1:d=0;world",
            "99;i=1:p=body:e=1;Ym9keQ==",
        ];
        assert_eq!(signals(&parts), [note("Hello world: body")]);
        assert_eq!(signals(&["99;i=1:d=0;lost", "99;i=2;other"]), [note("other")]);
        assert_eq!(from_base64(b"aGk="), b"hi");
    }

    #[test]
    fn a_shell_marks_its_commands() {
        let mut marks = Signals::default();
        for (mark, line, column) in [("A", 1, 0), ("B", 1, 2), ("C", 2, 0)] {
            marks.command(&[b"133", mark.as_bytes()], line, column);
        }
        assert_eq!(marks.output(5), Some(2..5));
        marks.command(&[b"133", b"D", b"1"], 4, 3);
        assert_eq!(marks.output(9), Some(2..5));
        assert_eq!(
            marks.take(),
            [
                Signal::Prompt,
                Signal::CommandStart,
                Signal::OutputStart,
                Signal::CommandEnd { exit: Some(1) }
            ]
        );
    }

    #[test]
    fn signals_that_nobody_takes_have_an_end() {
        let mut signals = Signals::default();
        let long = "x".repeat(100_000);
        for _ in 0..1_000 {
            signals.bell();
            signals.command(&[b"9", long.as_bytes()], 0, 0);
            signals.command(&[b"99", b"d=0", long.as_bytes()], 0, 0);
        }
        let taken = signals.take();
        assert_eq!(taken.len(), 64);
        assert!(signals.unfinished.unwrap().1.len() <= 1_024);
    }
}
