//! How much a principal may have us remember of a session: all of it is in every list and in every event.

use std::collections::BTreeMap;

use pairing::is_invisible;
use protocol::sessions::NewSession;

use super::SessionError;

/// Checks the labels of a session.
///
/// # Errors
/// [`SessionError::TooLarge`] or [`SessionError::MalformedLabel`], with the first that is wrong.
pub(super) fn labels(labels: &BTreeMap<String, String>) -> Result<(), SessionError> {
    at_most("labels", labels.len(), MAX_LABELS)?;
    for (key, value) in labels {
        let is_plain = |text: &str| !text.chars().any(is_invisible);
        if key.is_empty() || !is_plain(key) || !is_plain(value) {
            let shown = key.chars().filter(|c| !is_invisible(*c)).take(MAX_LABEL_KEY);
            return Err(SessionError::MalformedLabel(shown.collect()));
        }
        at_most("bytes of a label's name", key.len(), MAX_LABEL_KEY)?;
        at_most("bytes of a label's value", value.len(), MAX_LABEL_VALUE)?;
    }
    Ok(())
}

/// Checks the command of a session that is to be made.
///
/// # Errors
/// [`SessionError::TooLarge`] with the first that is too much.
pub(super) fn program(new: &NewSession) -> Result<(), SessionError> {
    at_most("arguments", new.args.len(), MAX_ARGUMENTS)?;
    let arguments: usize = new.args.iter().map(String::len).sum();
    at_most(
        "bytes of command and arguments",
        new.command.len() + arguments,
        MAX_COMMAND,
    )?;
    at_most(
        "bytes of a directory",
        new.cwd.as_ref().map_or(0, String::len),
        MAX_PATH,
    )?;
    let variables = new.env.iter().flatten();
    let environment: usize = variables.map(|(name, value)| name.len() + value.len()).sum();
    at_most("bytes of environment", environment, MAX_ENVIRONMENT)
}

fn at_most(what: &'static str, given: usize, most: usize) -> Result<(), SessionError> {
    if given <= most {
        Ok(())
    } else {
        Err(SessionError::TooLarge { what, given, most })
    }
}

/// Labels of one session.
const MAX_LABELS: usize = 32;
/// Bytes.
const MAX_LABEL_KEY: usize = 64;
/// Bytes.
const MAX_LABEL_VALUE: usize = 256;
/// Arguments of one program.
const MAX_ARGUMENTS: usize = 1_024;
/// Bytes: a script as an argument fits, 64 sessions of it in a list are a few megabytes.
const MAX_COMMAND: usize = 64 * 1024;
/// Bytes: PATH_MAX of Linux.
const MAX_PATH: usize = 4 * 1024;
/// Bytes; not remembered, but passed on whole.
const MAX_ENVIRONMENT: usize = 512 * 1024;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use protocol::sessions::NewSession;

    use super::{SessionError, labels, program};

    fn label(key: &str, value: &str) -> Result<(), SessionError> {
        labels(&BTreeMap::from([(key.to_owned(), value.to_owned())]))
    }

    #[test]
    fn labels_are_bounded_in_number_and_size() {
        assert!(label("branch", "main").is_ok());
        assert!(label("", "x").is_err());
        assert!(label("a\x1b", "x").is_err());
        assert!(label("a", "x\n").is_err());
        assert!(label("a", "x\u{202e}y").is_err());
        assert!(label("a\u{200b}", "x").is_err());
        assert!(label(&"k".repeat(65), "x").is_err());
        let long = label("k", &"v".repeat(257)).unwrap_err();
        assert_eq!(
            long.to_string(),
            "257 bytes of a label's value are too many: at most 256 are taken"
        );
        let many = (0..33).map(|number| (number.to_string(), String::new()));
        assert!(labels(&many.collect()).is_err());
    }

    #[test]
    fn a_command_is_bounded_in_arguments_and_bytes() {
        let with = |args: Vec<String>| NewSession {
            args,
            ..NewSession::default()
        };
        assert!(program(&with(vec!["x".repeat(1000)])).is_ok());
        assert!(program(&with(vec![String::new(); 1025])).is_err());
        assert!(program(&with(vec!["x".repeat(64 * 1024 + 1)])).is_err());
    }
}
