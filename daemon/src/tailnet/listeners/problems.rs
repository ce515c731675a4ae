//! What keeps devices from coming over the tailnet, each with its kind and what to do about it.

use protocol::condition::{TailnetProblem, TailnetProblemKind};

use super::{
    super::{Phase, Seen, certificate::Certificate},
    Fault, TailnetListeners,
};
use crate::config::{Allowed, TailnetMode};

impl TailnetListeners {
    /// All that there is, what is nearest to the listeners first.
    pub(crate) fn problems(&self) -> Vec<TailnetProblem> {
        let (tailnet, seen) = (&self.tailnet, self.tailnet.seen());
        let bound = self.bound();
        let mut problems: Vec<TailnetProblem> = bound.faults.iter().map(unbound).collect();
        let is_away = match tailnet.mode() {
            TailnetMode::Embedded => unjoined(&seen, tailnet.login_page()),
            TailnetMode::Off | TailnetMode::Host => unreachable(&seen),
        };
        problems.extend(is_away.map(|away| away.told(bound.ports.is_empty())));
        let allow = tailnet.allowed().clone();
        let tags = seen.node.as_ref().map_or(&[][..], |node| &node.tags);
        if !tags.is_empty() && allow.contains(&Allowed::Oneself) {
            let detail = format!(
                "this machine's node is tagged ({}) and belongs to no user: \"self\" in tailnet.allow means nobody",
                tags.join(", ")
            );
            problems.push(problem(
                TailnetProblemKind::SelfIsNobody,
                detail,
                Some("name logins or tags"),
            ));
        }
        problems.extend(
            tailnet
                .deafness()
                .map(|deaf| problem(TailnetProblemKind::WhoIs, deaf, None)),
        );
        if let Certificate::Failed { why, hint } = tailnet.certificate() {
            let detail = format!("browsers warn of the certificate: {why}");
            problems.push(problem(TailnetProblemKind::Certificate, detail, hint));
        }
        if allow.is_empty() {
            let detail = "tailnet.allow is empty: nobody may come over the tailnet".to_owned();
            problems.push(problem(TailnetProblemKind::NobodyAllowed, detail, None));
        }
        problems
    }
}

/// Why the node is not in its tailnet.
struct Away {
    why: String,
    hint: Option<&'static str>,
}

impl Away {
    fn new(why: &str, hint: Option<&'static str>) -> Self {
        let why = why.to_owned();
        Self { why, hint }
    }

    fn told(&self, is_without_ports: bool) -> TailnetProblem {
        let what = match is_without_ports {
            true => "the tailnet is not there",
            false => "no listener of the tailnet can be reached",
        };
        problem(
            TailnetProblemKind::Away,
            format!("{what}: {}", self.why),
            self.hint,
        )
    }
}

fn problem(kind: TailnetProblemKind, detail: String, hint: Option<&str>) -> TailnetProblem {
    let hint = hint.map(str::to_owned);
    TailnetProblem { kind, detail, hint }
}

fn unbound(fault: &Fault) -> TailnetProblem {
    let address = fault.at.to_string();
    problem(
        TailnetProblemKind::Unbound { address },
        fault.detail.clone(),
        None,
    )
}

/// Why this machine's node is not.
fn unreachable(seen: &Seen) -> Option<Away> {
    match seen.phase {
        None => {
            let trouble = seen.trouble.as_deref().unwrap_or("tailscaled was not asked yet");
            Some(Away::new(
                trouble,
                Some("see `systemctl status tailscaled` and tailnet.socket"),
            ))
        }
        Some(Phase::Starting) => Some(Away::new("tailscaled is still starting", None)),
        Some(Phase::NeedsLogin) => Some(Away::new(
            "this machine is not signed in",
            Some("`sudo tailscale up` does it"),
        )),
        Some(Phase::Stopped) => Some(Away::new(
            "it is switched off",
            Some("`sudo tailscale up` switches it on"),
        )),
        Some(Phase::Running) => seen
            .addresses()
            .is_some_and(|addresses| addresses.is_empty())
            .then(|| Away::new("this machine has no address in it", None)),
    }
}

/// Why the daemon's own node is not.
fn unjoined(seen: &Seen, page: Option<String>) -> Option<Away> {
    match (seen.phase, page) {
        (Some(Phase::Running), _) => None,
        (Some(Phase::NeedsLogin), Some(page)) => {
            let why = format!("somebody has to take the daemon's own node in, at {page}");
            Some(Away::new(&why, None))
        }
        (Some(Phase::NeedsLogin), None) => Some(Away::new(
            "the key of the daemon's own node is over",
            Some("a new one in the file of tailnet.auth_key_file and a restart take it in again"),
        )),
        (Some(Phase::Starting | Phase::Stopped), _) => Some(Away::new(
            "the daemon's own node is not in its tailnet yet: its control server has not answered",
            Some("where it stays so, see tailnet.control_url and the log"),
        )),
        (None, _) => {
            let trouble = seen
                .trouble
                .as_deref()
                .unwrap_or("the daemon's own node was not started yet");
            let hint = "see tailnet.control_url and tailnet.auth_key_file";
            Some(Away::new(trouble, Some(hint)))
        }
    }
}
