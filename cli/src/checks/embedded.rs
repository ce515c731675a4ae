//! A node of the daemon's own: what it is, a running daemon tells, and whoever is on this machine cannot come by it.

use std::net::SocketAddr;

use daemon::{Config, config::TailnetMode};
use protocol::{
    access::{Status, TailnetState, TailnetStatus},
    condition::TailnetProblemKind,
};

use super::{Check, Running, phone::of_tailnet, tailnet::in_words};

/// What there is to tell of it, where one is configured: no tailscaled is asked.
pub(crate) fn embedded(config: &Config, running: Option<&Running>) -> Option<Vec<Check>> {
    (config.tailnet_mode == TailnetMode::Embedded).then(|| {
        let mut found = vec![state(running)];
        found.extend(super::tailnet_listeners(config, running));
        found.push(who_may_come(config));
        found.push(https(config));
        found
    })
}

/// That a listener was not come to, where it is in the node: from this machine there is no way into its network stack.
pub(super) fn unreached(check: &'static str, status: &Status, at: SocketAddr) -> Option<Check> {
    let is_embedded = status.tailnet.as_ref().is_some_and(|tailnet| tailnet.embedded);
    (is_embedded && of_tailnet(status, at)).then(|| {
        let detail = format!("{at} is of the daemon's own node, which cannot be come to from this machine");
        Check::skipped(check, detail).hint("open it on another node of the tailnet")
    })
}

fn state(running: Option<&Running>) -> Check {
    let Some(running) = running else {
        let detail = "a node of the daemon's own is configured, of which only a running daemon tells";
        return Check::skipped("tailnet", detail);
    };
    match &running.status.tailnet {
        None => Check::skipped("tailnet", "the daemon has no node of its own yet"),
        Some(tailnet) if !tailnet.embedded => Check::warning(
            "tailnet",
            "a node of the daemon's own is configured by now, and the daemon began with this machine's",
            "`transom restart` takes it up; sessions go on",
        ),
        Some(tailnet) => node(tailnet),
    }
}

fn node(tailnet: &TailnetStatus) -> Check {
    let mut problems = tailnet.problems.iter();
    let away = problems.find(|problem| problem.kind == TailnetProblemKind::Away);
    let detail = away.map_or("the daemon's own node is not in its tailnet", |away| {
        away.detail.as_str()
    });
    let hint = away.and_then(|away| away.hint.as_deref()).unwrap_or(SEE);
    match tailnet.state {
        TailnetState::Running => {
            let name = tailnet.name.as_deref().unwrap_or("without a name");
            let addresses = tailnet.addresses.join(", ");
            Check::ok(
                "tailnet",
                format!("the daemon's own node, which is experimental, is {name} ({addresses})"),
            )
            .hint("of what is on its way to a device some may still leave after a revocation: deploy/README.md says how much")
        }
        TailnetState::Starting => Check::warning("tailnet", detail, hint),
        TailnetState::NeedsLogin | TailnetState::Stopped | TailnetState::Unknown => {
            Check::failed("tailnet", detail, hint)
        }
    }
}

fn who_may_come(config: &Config) -> Check {
    if config.tailnet_allow.is_empty() {
        return Check::failed(
            "whois",
            "tailnet.allow is empty: nobody may come over the tailnet",
            "put the stable id of a node into tailnet.allow, or a tag",
        );
    }
    let allow = in_words(&config.tailnet_allow);
    Check::skipped(
        "whois",
        format!(
            "a node of the daemon's own is told no users: tailnet.allow ({allow}) lets nodes and tags in"
        ),
    )
}

fn https(config: &Config) -> Check {
    if config.pair.is_some() {
        return Check::skipped(
            "https",
            "a node of the daemon's own is given no certificate; yours is shown",
        );
    }
    Check::warning(
        "https",
        "a node of the daemon's own is given no certificate: browsers warn of the daemon's",
        "`transom certs trust` makes one that a phone can be told to trust; or set listen.certificate and listen.key",
    )
}

/// Where more is said.
const SEE: &str = "ask again in a moment; where it stays so, see tailnet.control_url and the log";

#[cfg(test)]
mod tests {
    use protocol::{
        access::TailnetCertificate,
        condition::{TailnetProblem, TailnetProblemKind},
    };

    use super::{super::State, SEE, TailnetState, TailnetStatus, node};

    fn told(state: TailnetState, problems: &[TailnetProblem]) -> (State, String) {
        let check = node(&TailnetStatus {
            embedded: true,
            state,
            name: Some("desk.tail1234.ts.net".to_owned()),
            addresses: vec!["100.64.0.1".to_owned()],
            user: None,
            tags: Vec::new(),
            listeners: Vec::new(),
            certificate: TailnetCertificate::Disabled,
            problems: problems.to_vec(),
        });
        let hint = check.hint.unwrap_or_default();
        (check.state, format!("{} | {hint}", check.detail))
    }

    fn problem(kind: TailnetProblemKind, detail: &str, hint: Option<&str>) -> TailnetProblem {
        TailnetProblem {
            kind,
            detail: detail.to_owned(),
            hint: hint.map(str::to_owned),
        }
    }

    #[test]
    fn a_node_that_is_away_is_told_with_why_and_what_to_do() {
        let nobody = problem(TailnetProblemKind::NobodyAllowed, "nobody may come", None);
        let away = problem(
            TailnetProblemKind::Away,
            "it does not answer",
            Some("see the key"),
        );
        let (state, words) = told(TailnetState::Unknown, &[nobody.clone(), away]);
        assert_eq!(
            (state, words.as_str()),
            (State::Failed, "it does not answer | see the key")
        );
        let away = problem(TailnetProblemKind::Away, "it is not there yet", None);
        let (state, words) = told(TailnetState::Starting, &[away]);
        assert_eq!(
            (state, words),
            (State::Warning, format!("it is not there yet | {SEE}"))
        );
        let (state, words) = told(TailnetState::Unknown, &[nobody]);
        assert_eq!(state, State::Failed);
        assert!(words.starts_with("the daemon's own node is not"), "{words}");
    }

    #[test]
    fn a_node_that_runs_is_told_by_its_name() {
        let (state, words) = told(TailnetState::Running, &[]);
        assert_eq!(state, State::Ok);
        assert!(words.contains("desk.tail1234.ts.net (100.64.0.1)"), "{words}");
        assert!(words.contains("after a revocation"), "{words}");
    }
}
