//! The headers of a daemon's answers: of pages and of refusals alike.

use anyhow::{Context, Result, ensure};

use super::{Outcome, daemon::Daemon};
use crate::{
    steps::{command, output},
    tools,
};

/// What each answer says, and what none does.
pub(super) fn scan(daemon: &Daemon) -> Result<Outcome> {
    if !tools::found("curl") {
        return Ok(Outcome::Skipped(
            "curl is not installed (on Debian: apt-get install curl)".to_owned(),
        ));
    }
    let url = format!("https://{}", daemon.address);
    let mut answers = 0;
    for (path, foreign_host, status) in ASKED {
        let mut curl = command(
            "curl",
            &["--silent", "--show-error", "--insecure", "--max-time", "20"],
        );
        curl.args(["--output", "/dev/null", "--dump-header", "-"]);
        if *foreign_host {
            curl.args(["--header", "Host: evil.example"]);
        }
        let head = output(curl.arg(format!("{url}{path}")))?;
        judge(&head, status).with_context(|| format!("the answer to {path}"))?;
        answers += 1;
    }
    Ok(Outcome::Well(format!(
        "{answers} answers, pages and refusals, each with what guards it"
    )))
}

fn judge(head: &str, status: &str) -> Result<()> {
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default();
    ensure!(
        first.split(' ').nth(1) == Some(status),
        "`{first}` is not {status}"
    );
    let headers: Vec<(String, &str)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim()))
        .collect();
    let value_of = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name == wanted);
        found
            .map(|(_, value)| *value)
            .with_context(|| format!("there is no {wanted}"))
    };
    for (name, value) in REQUIRED {
        let found = value_of(name)?;
        ensure!(found == *value, "{name} is `{found}` and must be `{value}`");
    }
    let policy = value_of("content-security-policy")?;
    for part in POLICY {
        ensure!(
            policy.split("; ").any(|found| found == *part),
            "the policy has no `{part}`: {policy}"
        );
    }
    for (name, _) in &headers {
        ensure!(!FORBIDDEN.contains(&name.as_str()), "there is a {name}");
    }
    Ok(())
}

/// Path, whether the host is a foreign one, and the status that it is answered with.
const ASKED: &[(&str, bool, &str)] = &[
    ("/", false, "200"),
    ("/sw.js", false, "200"),
    ("/v1/whoami", false, "401"),
    ("/v1/sessions", false, "401"),
    ("/metrics", false, "401"),
    ("/v1/nothing-of-this-name", false, "404"),
    ("/", true, "403"),
];

const REQUIRED: &[(&str, &str)] = &[
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

const POLICY: &[&str] = &[
    "default-src 'none'",
    "script-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
];

/// Nothing is told of what serves, no other origin may read, no cookie is a credential; and a browser that was told to insist on
/// TLS would for every other program on this host.
const FORBIDDEN: &[&str] = &[
    "server",
    "x-powered-by",
    "set-cookie",
    "access-control-allow-origin",
    "access-control-allow-credentials",
    "strict-transport-security",
];

#[cfg(test)]
mod tests {
    use super::{POLICY, REQUIRED, judge};

    #[test]
    fn what_is_missing_and_what_is_too_much_is_named() {
        let mut head = format!(
            "HTTP/2 200 \r\ncontent-security-policy: {}\r\n",
            POLICY.join("; ")
        );
        for (name, value) in REQUIRED {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        judge(&head, "200").unwrap();
        assert!(judge(&head, "401").is_err());
        let with_cookie = judge(&format!("{head}Set-Cookie: a=b\r\n"), "200").unwrap_err();
        assert_eq!(with_cookie.to_string(), "there is a set-cookie");
        assert!(judge(&head.replace("nosniff", "sniff"), "200").is_err());
        assert!(
            judge(
                &head.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'"),
                "200"
            )
            .is_err()
        );
    }
}
