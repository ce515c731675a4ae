//! Names of sessions: safe in shells, branches and URLs.

/// Why a name is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be a session's name")]
pub(crate) struct MalformedName(pub String);

/// Checks a name that somebody asked for.
///
/// # Errors
/// [`MalformedName`] where it is empty, long, begins with a sign or has anything but letters, digits, `-`, `_`, `.`.
pub(crate) fn check(name: &str) -> Result<(), MalformedName> {
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    // A branch's name neither ends with a dot or `.lock` nor has two dots in a row (git-check-ref-format(1)).
    let is_branch = !name.ends_with('.') && !name.ends_with(".lock") && !name.contains("..");
    // An id that is somebody's name would make "which one?" ambiguous.
    let is_id = name.starts_with("ses_");
    if begins_well && is_branch && !is_id && name.len() <= MAX_LENGTH && name.chars().all(is_safe) {
        Ok(())
    } else {
        Err(MalformedName(
            name.chars()
                .take(MAX_LENGTH)
                .filter(|c| !c.is_control())
                .collect(),
        ))
    }
}

/// A name made from the command, with a number where `is_taken` says so.
pub(crate) fn for_command(command: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let file = command.rsplit('/').next().unwrap_or(command);
    let safe: String = file
        .to_ascii_lowercase()
        .chars()
        .filter(|c| is_safe(*c))
        .take(MAX_LENGTH - 6)
        .collect();
    let trimmed = safe
        .trim_start_matches(|c: char| !c.is_ascii_alphanumeric())
        .trim_end_matches('.');
    let base = if check(trimmed).is_ok() {
        trimmed
    } else {
        "session"
    };
    let numbered = (2..).map(|number| format!("{base}-{number}"));
    std::iter::once(base.to_owned())
        .chain(numbered)
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}

fn is_safe(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
}

/// Characters; what fits a row of a list.
const MAX_LENGTH: usize = 48;

#[cfg(test)]
mod tests {
    use super::{check, for_command};

    #[test]
    fn names_are_safe_everywhere() {
        for good in ["build", "api-server_2", "v1.2"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "-rf",
            "a b",
            "a/b",
            "a..b",
            "a.",
            "a.lock",
            "$(x)",
            "ses_00",
            "é",
            &"x".repeat(49),
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_comes_from_the_command_and_stays_unique() {
        assert_eq!(for_command("/usr/bin/Cargo", |_| false), "cargo");
        assert_eq!(for_command("/bin/[", |_| false), "session");
        assert_eq!(
            for_command("bash", |name| ["bash", "bash-2"].contains(&name)),
            "bash-3"
        );
    }
}
