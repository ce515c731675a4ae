//! Which lines are in the log.

use std::{fmt, str::FromStr};

use tracing_subscriber::filter::{LevelFilter, Targets};

/// The least severe level that is written, for all and for single parts: `info,server=debug`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLevels(String);

/// Text that names no levels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it takes a level (off, error, warn, info, debug or trace) and levels for single parts, like \"info,server=debug\""
)]
pub struct NoLevels;

impl LogLevels {
    /// What is written by them.
    pub(super) fn targets(&self) -> Targets {
        self.0.parse().expect("they were read when they were made")
    }
}

impl FromStr for LogLevels {
    type Err = NoLevels;

    /// A word that is no level would be taken for a part, all of which is written: nobody who mistypes one wants that.
    fn from_str(text: &str) -> Result<Self, NoLevels> {
        let is_level = |word: &str| !word.is_empty() && word.parse::<LevelFilter>().is_ok();
        let is_part = |word: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_:".contains(&byte);
            !word.is_empty() && word.bytes().all(is_plain)
        };
        let are_known = text.split(',').all(|one| match one.split_once('=') {
            Some((part, level)) => is_part(part) && is_level(level),
            None => is_level(one),
        });
        match are_known && text.parse::<Targets>().is_ok() {
            true => Ok(Self(text.to_owned())),
            false => Err(NoLevels),
        }
    }
}

impl fmt::Display for LogLevels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::LogLevels;

    #[test]
    fn a_level_is_for_all_and_one_with_a_part_for_that_alone() {
        let levels: LogLevels = "info,server=debug,daemon::doors=trace".parse().unwrap();
        let targets = levels.targets();
        for (part, level, is_written) in [
            ("daemon::up", Level::INFO, true),
            ("daemon::up", Level::DEBUG, false),
            ("server::edge", Level::DEBUG, true),
            ("daemon::doors::change", Level::TRACE, true),
        ] {
            assert_eq!(targets.would_enable(part, &level), is_written, "{part} {level}");
        }
        let off: LogLevels = "off".parse().unwrap();
        assert!(!off.targets().would_enable("daemon::up", &Level::ERROR));
    }

    #[test]
    fn a_word_that_is_no_level_is_refused_and_not_taken_for_a_part() {
        for text in [
            "",
            "inof",
            "info,",
            "server",
            "server=",
            "=info",
            "server=loud",
            "a b=info",
            "x[{y}]=info",
        ] {
            assert!(text.parse::<LogLevels>().is_err(), "{text}");
        }
    }
}
