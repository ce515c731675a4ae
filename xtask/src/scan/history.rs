//! Secrets in the repository's history: whatever was once committed is everybody's who clones.

use anyhow::{Context, Result, ensure};
use regex::Regex;

use super::Outcome;
use crate::steps::{command, output};

/// Looks at every line that any commit added.
pub(super) fn scan() -> Result<Outcome> {
    let is_shallow = output(&mut command("git", &["rev-parse", "--is-shallow-repository"]))?;
    if is_shallow.trim() == "true" {
        return Ok(Outcome::Skipped(
            "this clone has no history: fetch it (git fetch --unshallow)".to_owned(),
        ));
    }
    let mut git = command(
        "git",
        &[
            "log",
            "--all",
            "--patch",
            "--unified=0",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
        ],
    );
    let log = git
        .args(["--format=commit %H"])
        .output()
        .context("git could not be started")?;
    ensure!(log.status.success(), "git log ended with {}", log.status);
    let log = String::from_utf8_lossy(&log.stdout);
    let commits = log.lines().filter(|line| line.starts_with("commit ")).count();
    let found = secrets(&log)?;
    ensure!(
        found.is_empty(),
        "{}; whoever cloned it has it: make it worthless",
        found.join("; ")
    );
    Ok(Outcome::Well(format!(
        "nothing that looks like a key or a token in {commits} commits"
    )))
}

/// Where each is, and what it looks like; never the secret itself.
fn secrets(log: &str) -> Result<Vec<String>> {
    let patterns = PATTERNS
        .iter()
        .map(|(what, pattern)| Ok((*what, Regex::new(pattern)?)))
        .collect::<Result<Vec<_>>>()?;
    let (mut commit, mut path) = ("", "");
    let mut found = Vec::new();
    for line in log.lines() {
        if let Some(hash) = line.strip_prefix("commit ") {
            commit = hash.get(..12).unwrap_or(hash);
        } else if let Some(added) = line.strip_prefix("+++ ") {
            path = added.strip_prefix("b/").unwrap_or(added);
        } else if let Some(added) = line.strip_prefix('+')
            && !EXAMPLES.iter().any(|(folder, _)| path.starts_with(folder))
        {
            let looks = patterns.iter().filter(|(_, pattern)| pattern.is_match(added));
            found.extend(looks.map(|(what, _)| format!("{what} in {path} of {commit}")));
        }
    }
    Ok(found)
}

/// What is recognized by its shape alone. Each has more characters than an example in a text would.
const PATTERNS: &[(&str, &str)] = &[
    ("a private key", r"^\s*-----BEGIN ([A-Z]+ )*PRIVATE KEY-----\s*$"),
    (
        "a token of this daemon's",
        r"tsm_[a-z]{3}_[1-9A-HJ-NP-Za-km-z]{40,}",
    ),
    (
        "a key of a tailnet's",
        r"tskey-[a-z]+-[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}",
    ),
    ("a key of AWS", r"\b(AKIA|ASIA)[0-9A-Z]{16}\b"),
    (
        "a token of GitHub's",
        r"\b(gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,})",
    ),
    ("a token of GitLab's", r"\bglpat-[0-9A-Za-z_-]{20}"),
    ("a token of npm's", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a token of crates.io's", r"\bcio[A-Za-z0-9]{32}\b"),
    ("a token of Slack's", r"\bxox[abprs]-[0-9A-Za-z-]{20,}"),
    ("a key of Google's", r"\bAIza[0-9A-Za-z_-]{35}\b"),
    ("a key of an AI service's", r"\bsk-[A-Za-z0-9_-]{40,}"),
    (
        "a signed token",
        r"\beyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}",
    ),
];

/// Folders of what is no secret, and why.
const EXAMPLES: &[(&str, &str)] = &[(
    "tests/fuzz/corpus/token/",
    "tokens that were made to be read, of no device",
)];

#[cfg(test)]
mod tests {
    use super::secrets;

    #[test]
    fn an_added_secret_is_told_by_its_place_and_not_repeated() {
        let token = format!("ghp_{}", "a1".repeat(18));
        let log = format!(
            "commit 0123456789abcdef\n+++ b/deploy/x.env\n+TOKEN={token}\n-OLD=glpat-{}\n+++ b/README.md\n+ghp_short\n",
            "b".repeat(20)
        );
        assert_eq!(
            secrets(&log).unwrap(),
            ["a token of GitHub's in deploy/x.env of 0123456789ab"]
        );
    }

    #[test]
    fn a_private_key_is_told_by_its_first_line_alone() {
        let log = |line: &str| format!("commit 1\n+++ b/x\n+{line}\n");
        let begin = ["-----BEGIN EC PRIVATE", " KEY-----"].concat();
        assert_eq!(secrets(&log(&begin)).unwrap().len(), 1);
        assert!(
            secrets(&log(&format!("if text.starts_with(\"{begin}\")")))
                .unwrap()
                .is_empty()
        );
    }
}
