//! The tailnet: whether this machine is in it, who it is there, and what keeps devices from coming over it.

use daemon::{
    Config, Probe, ProbedNode, Trouble,
    config::{Allowed, TailnetMode},
};
use protocol::{
    access::{TailnetCertificate, TailnetState, TailnetStatus},
    condition::{TailnetProblem, TailnetProblemKind},
};

use super::{Check, Running, day, ports::taken};

/// Asks tailscaled what this machine is in its tailnet.
pub(crate) async fn tailnet(config: &Config) -> (Check, Option<Probe>) {
    if config.tailnet_mode == TailnetMode::Off {
        let off = "none is configured (tailnet.mode): devices come by SSH, or from this machine";
        return (Check::skipped("tailnet", off), None);
    }
    match daemon::probe(config).await {
        Ok(probe) => (state(&probe), Some(probe)),
        Err(Trouble { detail, hint }) => (Check::failed("tailnet", detail, hint), None),
    }
}

fn state(probe: &Probe) -> Check {
    let failed = |detail: &str, hint: &str| Check::failed("tailnet", detail, hint);
    match probe.state {
        TailnetState::Running if probe.addresses.is_empty() => failed(
            "this machine is in the tailnet, and has no address there",
            "see what `tailscale status` says",
        ),
        TailnetState::Running => {
            let addresses: Vec<String> = probe.addresses.iter().map(ToString::to_string).collect();
            let addresses = addresses.join(", ");
            Check::ok(
                "tailnet",
                match &probe.name {
                    Some(name) => format!("this machine is {name} ({addresses})"),
                    None => format!("this machine is {addresses}, without a name"),
                },
            )
        }
        TailnetState::NeedsLogin => failed(
            "this machine is not signed in to its tailnet, or waits to be approved there",
            "`sudo tailscale up` signs it in; an admin of the tailnet approves it on the page of its machines",
        ),
        TailnetState::Stopped => failed(
            "the tailnet is switched off on this machine",
            "`sudo tailscale up` switches it on",
        ),
        TailnetState::Starting | TailnetState::Unknown => Check::warning(
            "tailnet",
            "tailscaled is still starting",
            "ask again in a moment; where it stays so, see what `tailscale status` says",
        ),
    }
}

/// Who this machine is to its own tailnet, and whether its owner's nodes are let in.
pub(crate) fn who_is_itself(config: &Config, probe: &Probe) -> Check {
    if config.tailnet_allow.is_empty() {
        return Check::failed(
            "whois",
            "tailnet.allow is empty: nobody may come over the tailnet",
            "put \"self\" into tailnet.allow for your own nodes, or logins and tags",
        );
    }
    match &probe.own {
        Err(Trouble { detail, hint }) => Check::failed(
            "whois",
            format!("who comes cannot be asked: {detail}"),
            hint.clone(),
        ),
        Ok(None) => Check::failed(
            "whois",
            "the tailnet knows nobody at this machine's own address: whoever comes over it is closed",
            "see what `tailscale whois` says of that address; `sudo systemctl restart tailscaled` often helps",
        ),
        Ok(Some(own)) => allowed(config, own),
    }
}

fn allowed(config: &Config, own: &ProbedNode) -> Check {
    let allow = in_words(&config.tailnet_allow);
    if own.is_allowed {
        return Check::ok(
            "whois",
            format!("this machine is {}, whom {allow} lets in", whose(own)),
        );
    }
    if !own.tags.is_empty() && config.tailnet_allow == [Allowed::Oneself] {
        return Check::failed(
            "whois",
            format!(
                "this machine's node is tagged ({}) and belongs to nobody: \"self\" in tailnet.allow lets nobody in",
                own.tags.join(", ")
            ),
            "name logins or tags in tailnet.allow, such as [\"alice@example.com\"]",
        );
    }
    Check::warning(
        "whois",
        format!("nodes of {} are not let in: tailnet.allow is {allow}", whose(own)),
        "put \"self\" into tailnet.allow, unless others alone shall come; a changed file is taken up at once",
    )
}

/// Whether the daemon listens in the tailnet, as it is configured; none where there is nothing to tell.
pub(crate) fn tailnet_listeners(config: &Config, running: Option<&Running>) -> Option<Check> {
    let Some(running) = running else {
        // Without a daemon only what is configured can be told.
        return config.tailnet_ports.is_empty().then(unlistened);
    };
    let Some(status) = &running.status.tailnet else {
        return Some(Check::warning(
            "listener",
            "a tailnet is configured by now, and the daemon began without it",
            "`transom restart` takes it up; sessions go on",
        ));
    };
    if let Some(fault) = status
        .problems
        .iter()
        .find_map(|problem| unbound(problem, status.embedded))
    {
        return Some(fault);
    }
    match (status.listeners.is_empty(), config.tailnet_ports.is_empty()) {
        (true, true) => Some(unlistened()),
        (true, false) => Some(Check::failed(
            "listener",
            "none of the tailnet is open, so no device comes over it",
            "see what is said of the tailnet: it opens by itself once the node is there",
        )),
        (false, _) => None,
    }
}

/// What keeps an address of the tailnet from being listened at, if that is the problem.
fn unbound(problem: &TailnetProblem, is_embedded: bool) -> Option<Check> {
    let TailnetProblemKind::Unbound { address } = &problem.kind else {
        return None;
    };
    let again = match is_embedded {
        true => "the log may say more; it is tried again by itself",
        false => "see whether `ip addr` shows the address: it is tried again by itself",
    };
    // What a node of the daemon's own has is no address of the kernel's, where others could have taken it.
    let address = address.parse().ok().filter(|_| !is_embedded);
    let taken = address.and_then(|address| Some((address, taken(address)?)));
    let (detail, hint) = match taken {
        Some((address, taken)) => (taken.in_words(address), taken.hint(address)),
        None => (problem.detail.clone(), again.to_owned()),
    };
    Some(Check::failed("listener", detail, hint))
}

fn unlistened() -> Check {
    Check::warning(
        "listener",
        "a tailnet is configured, and the daemon does not listen in it",
        "add \"tailnet:7443\" to listen.tls",
    )
}

/// Whether phones see a certificate that they trust under this machine's name.
pub(crate) fn https(probe: &Probe, status: Option<&TailnetStatus>) -> Check {
    if probe.name.is_none() {
        return Check::warning(
            "https",
            "this machine has no name in the tailnet, so there is no certificate for it",
            "switch MagicDNS on in the tailnet's settings (https://login.tailscale.com/admin/dns)",
        );
    }
    if !probe.has_certificates {
        return Check::warning(
            "https",
            "HTTPS is not switched on in the tailnet: browsers warn of the daemon's own certificate",
            "switch on HTTPS Certificates in its settings (https://login.tailscale.com/admin/dns); the daemon then gets one by \
             itself",
        );
    }
    match status.map(|status| (status.certificate, status)) {
        None => Check::skipped(
            "https",
            "it is switched on; a running daemon gets the certificate",
        ),
        Some((TailnetCertificate::Served { until }, _)) => {
            let detail = format!(
                "the certificate for the name is served, and good until {}",
                day(until)
            );
            Check::ok("https", detail)
        }
        Some((TailnetCertificate::Awaited | TailnetCertificate::Disabled, _)) => Check::warning(
            "https",
            "the certificate for the name is being fetched, which takes up to a minute",
            "ask again in a minute: until then browsers warn",
        ),
        Some((TailnetCertificate::Failed, status)) => failed_certificate(status),
    }
}

fn failed_certificate(status: &TailnetStatus) -> Check {
    let mut problems = status.problems.iter();
    let why = problems.find(|problem| problem.kind == TailnetProblemKind::Certificate);
    let detail = why.map_or("the certificate for the name could not be had", |why| {
        why.detail.as_str()
    });
    let hint = why.and_then(|why| why.hint.as_deref());
    Check::warning(
        "https",
        detail,
        hint.unwrap_or("see what `tailscale cert` says; it is tried again by itself"),
    )
}

/// Whether a phone is in the tailnet that may come.
pub(crate) fn nodes(config: &Config, probe: &Probe) -> Check {
    let others = match &probe.others {
        Ok(others) => others,
        Err(Trouble { detail, hint }) => {
            return Check::warning(
                "nodes",
                format!("which nodes there are is not known: {detail}"),
                hint.clone(),
            );
        }
    };
    let is_phone = |node: &&ProbedNode| PHONES.iter().any(|phone| node.system.eq_ignore_ascii_case(phone));
    let phones: Vec<&ProbedNode> = others.iter().filter(is_phone).collect();
    let allowed: Vec<&&ProbedNode> = phones.iter().filter(|phone| phone.is_allowed).collect();
    if let Some(phone) = allowed.iter().find(|phone| phone.is_online) {
        return Check::ok("nodes", format!("{} is online, and may come", phone.name));
    }
    if let Some(phone) = allowed.first() {
        return Check::warning(
            "nodes",
            format!("{} may come, and is not online in the tailnet", phone.name),
            "open Tailscale on it and switch it on",
        );
    }
    let allow = in_words(&config.tailnet_allow);
    match phones.first() {
        Some(phone) => Check::warning(
            "nodes",
            format!(
                "{} is of {}, whom tailnet.allow ({allow}) does not let in",
                phone.name,
                whose(phone)
            ),
            format!(
                "sign in on it as somebody who is let in, or put {} into tailnet.allow",
                quoted(phone)
            ),
        ),
        None => Check::warning(
            "nodes",
            format!("no phone is in the tailnet that tailnet.allow ({allow}) lets in"),
            match &probe.user {
                Some(user) => format!("install Tailscale on it, and sign in as {user}"),
                None => "install Tailscale on it, and sign in".to_owned(),
            },
        ),
    }
}

fn whose(node: &ProbedNode) -> String {
    match (node.tags.is_empty(), node.user.is_empty()) {
        (false, _) => node.tags.join(", "),
        (true, false) => node.user.clone(),
        (true, true) => "a user without a name".to_owned(),
    }
}

fn quoted(node: &ProbedNode) -> String {
    let name = node.tags.first().unwrap_or(&node.user);
    format!("\"{name}\"")
}

pub(super) fn in_words(allow: &[Allowed]) -> String {
    let one = |allowed: &Allowed| match allowed {
        Allowed::Oneself => "self".to_owned(),
        Allowed::Login(login) => login.to_string(),
        Allowed::Tag(tag) => tag.clone(),
        Allowed::Node(node) => node.clone(),
    };
    let all: Vec<String> = allow
        .iter()
        .map(|allowed| format!("\"{}\"", one(allowed)))
        .collect();
    format!("[{}]", all.join(", "))
}

/// What Tailscale calls the systems of phones and tablets.
const PHONES: [&str; 2] = ["iOS", "android"];
