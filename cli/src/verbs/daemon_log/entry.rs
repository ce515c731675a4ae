//! One line of the log.

use anstyle::{AnsiColor, Style};
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Map, Value, json};

use crate::escape::escape;

/// How severe something is; what is less severe is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum Level {
    /// The daemon could not do what it must
    Error,
    /// Something is not as it should be
    Warn,
    /// What happened
    Info,
    /// What somebody who looks for a fault wants to know
    Debug,
    /// Everything
    Trace,
}

/// A line that was read.
pub(super) enum Entry<'a> {
    /// As the daemon writes them, and as it stands there.
    Event(Map<String, Value>, &'a str),
    /// Of another shape: it was cut off, or somebody else wrote it.
    Broken(&'a str),
}

impl<'a> Entry<'a> {
    pub(super) fn parse(line: &'a str) -> Self {
        match serde_json::from_str(line) {
            Ok(Value::Object(event)) => Self::Event(event, line),
            Ok(_) | Err(_) => Self::Broken(line),
        }
    }

    /// How severe it is. What cannot be read may be anything.
    pub(super) fn level(&self) -> Level {
        let Self::Event(event, _) = self else {
            return Level::Error;
        };
        let word = event.get("level").and_then(Value::as_str);
        let known = LEVELS.iter().find(|(name, ..)| Some(*name) == word);
        known.map_or(Level::Error, |(_, level, _)| *level)
    }

    /// Whether it was said of the request with this id.
    pub(super) fn is_of(&self, request: &str) -> bool {
        match self {
            Self::Event(event, _) => event.get("request_id").and_then(Value::as_str) == Some(request),
            Self::Broken(_) => false,
        }
    }

    /// As an object, on one line.
    pub(super) fn json(&self) -> String {
        match self {
            Self::Event(_, line) => (*line).to_owned(),
            Self::Broken(line) => json!({ "broken": line }).to_string(),
        }
    }

    /// The time, the level, the sentence, and what else is known of it; nothing in it acts on a terminal.
    pub(super) fn in_words(&self) -> String {
        let Self::Event(event, _) = self else {
            return self.broken_in_words();
        };
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let at = text("timestamp");
        let at = at.parse::<Timestamp>().map_or_else(
            |_| at.to_owned(),
            |at| {
                at.to_zoned_datetime(TimeZone::system())
                    .strftime(TIME)
                    .to_string()
            },
        );
        let level = text("level");
        let style = LEVELS.iter().find(|(name, ..)| *name == level);
        let style = style.map_or(Style::new(), |(_, _, style)| *style);
        let mut words = format!(
            "{DIM}{}{DIM:#} {style}{:<5}{style:#} {}",
            escape(&at),
            escape(level),
            escape(text("message"))
        );
        let said = ["timestamp", "level", "message", "target"];
        for (key, value) in event.iter().filter(|(key, _)| !said.contains(&key.as_str())) {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            words.push_str(&format!("  {DIM}{}={DIM:#}{}", escape(key), escape(&value)));
        }
        words.push_str(&format!("  {DIM}{}{DIM:#}", escape(text("target"))));
        words
    }

    fn broken_in_words(&self) -> String {
        match self {
            Self::Broken(line) => escape(line).into_owned(),
            Self::Event(..) => String::new(),
        }
    }
}

const LEVELS: [(&str, Level, Style); 5] = [
    ("ERROR", Level::Error, AnsiColor::Red.on_default().bold()),
    ("WARN", Level::Warn, AnsiColor::Yellow.on_default()),
    ("INFO", Level::Info, AnsiColor::Green.on_default()),
    ("DEBUG", Level::Debug, AnsiColor::Blue.on_default()),
    ("TRACE", Level::Trace, Style::new().dimmed()),
];
const DIM: Style = Style::new().dimmed();
/// With the zone, since who reads it may be elsewhere than who asks about it.
const TIME: &str = "%Y-%m-%d %H:%M:%S%.3f%:z";

#[cfg(test)]
mod tests {
    use super::{Entry, Level};

    const LINE: &str = r#"{"timestamp":"2026-11-30T20:27:20.123456Z","level":"WARN","message":"it \u001b[2J rained","count":3,"request_id":"00ff","target":"server::edge"}"#;

    #[test]
    fn a_line_is_a_time_a_level_a_sentence_and_what_else_is_known_and_acts_on_no_terminal() {
        let entry = Entry::parse(LINE);
        let words = anstream::adapter::strip_str(&entry.in_words()).to_string();
        let (at, rest) = words.split_once(" WARN ").unwrap();
        assert_eq!(at.len(), "2026-11-30 20:27:20.123+00:00".len(), "{at}");
        assert_eq!(
            rest,
            " it \\u{1b}[2J rained  count=3  request_id=00ff  server::edge"
        );
        assert!(entry.is_of("00ff") && !entry.is_of("00fe"));
        let again: serde_json::Value = serde_json::from_str(&entry.json()).unwrap();
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(LINE).unwrap());
    }

    #[test]
    fn what_is_more_severe_is_less_and_what_cannot_be_read_is_never_left_out() {
        assert_eq!(Entry::parse(LINE).level(), Level::Warn);
        assert!(Level::Error < Level::Warn && Level::Debug < Level::Trace);
        for line in ["{\"timest", "7", "\u{1b}]0;x\u{7}"] {
            let entry = Entry::parse(line);
            assert_eq!(entry.level(), Level::Error);
            assert!(!entry.in_words().contains('\u{1b}'));
            assert!(entry.json().starts_with("{\"broken\":"));
        }
    }
}
