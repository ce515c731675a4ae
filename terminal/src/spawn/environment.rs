//! A program's environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::id::SessionId;

/// The environment of a program in a session: `base` less every `TRANSOM_*`, and added where it is and what its
/// terminal is. `socket` is the daemon's Unix socket.
#[must_use]
pub fn program_environment(
    base: impl IntoIterator<Item = (OsString, OsString)>,
    session: SessionId,
    socket: &Path,
) -> Vec<(OsString, OsString)> {
    let mut variables: BTreeMap<OsString, OsString> = base
        .into_iter()
        .filter(|(name, _)| !name.as_bytes().starts_with(b"TRANSOM_"))
        .collect();
    // They describe the terminal that the caller was in.
    for name in [
        "COLUMNS",
        "LINES",
        "TERMCAP",
        "TERM_PROGRAM",
        "TERM_PROGRAM_VERSION",
        "WINDOWID",
    ] {
        variables.remove(OsStr::new(name));
    }
    let mut set = |name: &str, value: &OsStr| variables.insert(name.into(), value.into());
    set("TRANSOM_SESSION", session.to_string().as_ref());
    set("TRANSOM_SOCKET", socket.as_os_str());
    set("TERM", "xterm-256color".as_ref());
    set("COLORTERM", "truecolor".as_ref());
    if !has_locale(&variables) {
        variables.insert("LANG".into(), "C.UTF-8".into());
    }
    variables.into_iter().collect()
}

/// Whether the character set is chosen, by the first of these that is set and not empty (POSIX 8.2).
fn has_locale(variables: &BTreeMap<OsString, OsString>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"].iter().any(|name| {
        variables
            .get(OsStr::new(name))
            .is_some_and(|value| !value.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::program_environment;
    use crate::id::SessionId;

    fn environment(base: &[(&str, &str)]) -> Vec<(String, String)> {
        let base = base
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        program_environment(base, SessionId::from_bytes([1; 8]), Path::new("/run/t.sock"))
            .into_iter()
            .map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap()))
            .collect()
    }

    fn value(environment: &[(String, String)], name: &str) -> Option<String> {
        environment
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.clone())
    }

    #[test]
    fn a_program_learns_its_session_and_nothing_else_of_transom() {
        let environment = environment(&[
            ("TRANSOM_TOKEN", "secret"),
            ("TRANSOM_SESSION", "other"),
            ("HOME", "/h"),
        ]);
        assert_eq!(value(&environment, "TRANSOM_TOKEN"), None);
        assert_eq!(
            value(&environment, "TRANSOM_SESSION").as_deref(),
            Some("ses_0101010101010101")
        );
        assert_eq!(
            value(&environment, "TRANSOM_SOCKET").as_deref(),
            Some("/run/t.sock")
        );
        assert_eq!(value(&environment, "HOME").as_deref(), Some("/h"));
    }

    #[test]
    fn a_program_learns_what_its_terminal_is() {
        let environment = environment(&[("TERM", "dumb"), ("COLUMNS", "200")]);
        assert_eq!(value(&environment, "TERM").as_deref(), Some("xterm-256color"));
        assert_eq!(value(&environment, "COLORTERM").as_deref(), Some("truecolor"));
        assert_eq!(value(&environment, "COLUMNS"), None);
    }

    #[test]
    fn a_locale_is_added_only_where_none_is_chosen() {
        assert_eq!(
            value(&environment(&[("LANG", "")]), "LANG").as_deref(),
            Some("C.UTF-8")
        );
        assert_eq!(value(&environment(&[("LC_ALL", "de_DE.UTF-8")]), "LANG"), None);
        assert_eq!(
            value(&environment(&[("LANG", "ja_JP.UTF-8")]), "LANG").as_deref(),
            Some("ja_JP.UTF-8")
        );
    }
}
