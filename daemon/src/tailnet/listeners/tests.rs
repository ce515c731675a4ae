use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use certs::{Identity, Names};
use protocol::condition::TailnetProblemKind;
use tempfile::TempDir;

use super::{Bound, TailnetListeners};
use crate::{
    certificates::{self, Certificates},
    config::Allowed,
    tailnet::{LocalApi, OwnNode, Phase, Seen, Tailnet, Way, certificate::Certificate},
};

fn listeners(allow: &[Allowed]) -> (TempDir, TailnetListeners) {
    let way = Way::Host(LocalApi::new(PathBuf::from("/nonexistent")));
    serving(Tailnet::asking(way, allow.to_vec()), &[0])
}

/// Listeners of the ports, and the folder with what they show.
pub(in crate::tailnet) fn serving(tailnet: Tailnet, ports: &[u16]) -> (TempDir, TailnetListeners) {
    let home = tempfile::tempdir().unwrap();
    let keys = home.path().join("keys");
    let identity = Identity::load_or_create(&keys).unwrap();
    let instance = "0011223344556677";
    let names = Names::new(instance);
    let before = Names::default();
    let now = certificates::now();
    let certificates = Certificates::open(keys, identity, instance, names, before, now).unwrap();
    (
        home,
        TailnetListeners::new(Arc::new(tailnet), certificates, ports),
    )
}

/// A node that runs at these addresses, which are this machine's as it happens.
fn running(addresses: &[&str]) -> Seen {
    let node = OwnNode {
        name: Some("box.tail1234.ts.net".to_owned()),
        addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
        user_id: Some("42".to_owned()),
        user: Some("alice@example.com".to_owned()),
        tags: Vec::new(),
        has_certificates: false,
    };
    Seen {
        phase: Some(Phase::Running),
        node: Some(node),
        trouble: None,
    }
}

fn hosts(open: &[SocketAddr]) -> Vec<String> {
    open.iter().map(|at| at.ip().to_string()).collect()
}

#[tokio::test]
async fn it_listens_at_the_addresses_of_the_tailnet_alone_and_follows_them() {
    let (_home, listeners) = listeners(&[Allowed::Oneself]);
    let tailnet = Arc::clone(listeners.tailnet());
    tailnet.see(running(&["127.0.0.2"]));
    assert_eq!(listeners.bind().await.len(), 1);
    let first = listeners.open()[0];
    assert_eq!(hosts(&listeners.open()), ["127.0.0.2"]);
    assert!(listeners.problems().is_empty());
    tailnet.see(running(&["127.0.0.2", "127.0.0.3"]));
    let change = listeners.plan().await;
    assert_eq!((change.open.len(), change.close.len()), (1, 0));
    let second = listeners.open()[1];
    assert_eq!(second.port(), first.port(), "devices find it where it was");
    tailnet.see(running(&["127.0.0.3"]));
    let change = listeners.plan().await;
    assert_eq!((change.open.len(), change.close), (0, vec![first]));
    assert_eq!(listeners.open(), [second]);
}

#[tokio::test]
async fn what_is_not_known_changes_nothing_and_a_tailnet_that_is_left_closes_everything() {
    let (_home, listeners) = listeners(&[Allowed::Oneself]);
    let tailnet = Arc::clone(listeners.tailnet());
    tailnet.see(running(&["127.0.0.2"]));
    let _bound = listeners.bind().await;
    let open = listeners.open();
    for phase in [None, Some(Phase::Starting)] {
        tailnet.see(Seen {
            phase,
            ..running(&["127.0.0.2"])
        });
        let change = listeners.plan().await;
        assert!(change.open.is_empty() && change.close.is_empty());
        assert_eq!(listeners.open(), open);
    }
    tailnet.see(Seen {
        phase: Some(Phase::Stopped),
        ..running(&["127.0.0.2"])
    });
    assert_eq!(listeners.plan().await.close, open);
    assert!(listeners.open().is_empty());
    let problems = listeners.problems();
    assert_eq!(problems[0].kind, TailnetProblemKind::Away);
    let hint = problems[0].hint.as_deref().unwrap();
    assert!(hint.contains("`sudo tailscale up`"), "{problems:?}");
}

#[tokio::test]
async fn an_address_that_cannot_be_bound_is_said_and_keeps_no_other_from_it() {
    let (_home, listeners) = listeners(&[Allowed::Oneself]);
    let tailnet = Arc::clone(listeners.tailnet());
    // Of TEST-NET-1 (RFC 5737): no machine has it.
    tailnet.see(running(&["192.0.2.1", "127.0.0.2"]));
    assert_eq!(listeners.bind().await.len(), 1);
    assert!(listeners.has_faults());
    let problems = listeners.problems();
    let address = "192.0.2.1:0".to_owned();
    assert!(problems[0].detail.starts_with(&address), "{problems:?}");
    assert_eq!(problems[0].kind, TailnetProblemKind::Unbound { address });
    tailnet.see(running(&["127.0.0.2"]));
    listeners.plan().await;
    assert!(!listeners.has_faults() && listeners.problems().is_empty());
}

#[test]
fn the_log_is_told_a_fault_once_and_again_what_was_well_meanwhile() {
    let mut bound = Bound::default();
    let mut attempt = |faults: &[&str]| -> Vec<bool> {
        bound.begin();
        let at = "127.0.0.2:7443".parse().unwrap();
        faults.iter().map(|fault| bound.note(at, fault)).collect()
    };
    assert_eq!(attempt(&["this"]), [true]);
    assert_eq!(attempt(&["this", "that"]), [false, true]);
    assert_eq!(attempt(&["this", "that"]), [false, false]);
    assert_eq!(attempt(&["that"]), [false]);
    assert_eq!(attempt(&["this", "that"]), [true, false]);
}

#[tokio::test]
async fn other_ports_come_and_go_with_the_configuration() {
    let (_home, listeners) = listeners(&[Allowed::Oneself]);
    listeners.tailnet().see(running(&["127.0.0.2"]));
    let _bound = listeners.bind().await;
    let open = listeners.open();
    listeners.set_ports(&[0], false);
    let change = listeners.plan().await;
    assert!(change.open.is_empty() && change.close.is_empty());
    listeners.set_ports(&[], false);
    assert_eq!(listeners.plan().await.close, open);
}

#[tokio::test]
async fn a_port_that_went_stays_at_an_address_until_another_can_be_bound_there() {
    let (_home, listeners) = listeners(&[Allowed::Oneself]);
    listeners.tailnet().see(running(&["127.0.0.2", "127.0.0.3"]));
    let _bound = listeners.bind().await;
    let [first, second] = listeners.open()[..] else {
        panic!("{:?}", listeners.open())
    };
    let taken = std::net::TcpListener::bind("127.0.0.2:0").unwrap();
    let other = taken.local_addr().unwrap().port();
    listeners.set_ports(&[other], false);
    let change = listeners.plan().await;
    assert_eq!((change.open.len(), change.close), (1, vec![second]));
    assert_eq!(listeners.faults().len(), 1);
    drop(taken);
    let change = listeners.plan().await;
    assert_eq!((change.open.len(), change.close), (1, vec![first]));
    assert!(!listeners.has_faults());
}

#[tokio::test]
async fn of_two_ports_the_one_that_gave_way_to_what_could_not_be_bound_comes_back() {
    let (_home, listeners) = listeners(&[Allowed::Oneself]);
    listeners.tailnet().see(running(&["127.0.0.2"]));
    let ports = [(); 2].map(|()| {
        let free = std::net::TcpListener::bind("127.0.0.2:0").unwrap();
        free.local_addr().unwrap().port()
    });
    let [goes, stays] = ports;
    listeners.set_ports(&ports, false);
    assert_eq!(listeners.bind().await.len(), 2);
    let open = listeners.open();
    let everywhere = SocketAddr::new([0, 0, 0, 0].into(), goes);
    let given = listeners.give_way(everywhere, &[stays]);
    assert_eq!(given.iter().map(SocketAddr::port).collect::<Vec<_>>(), [goes]);
    listeners.set_ports(&[stays], true);
    let change = listeners.plan().await;
    assert_eq!((change.open.len(), change.close.len()), (1, 0));
    assert_eq!(listeners.open(), open);
    // And goes once it can.
    listeners.set_ports(&[stays], false);
    assert_eq!(listeners.plan().await.close, given);
}

#[tokio::test]
async fn what_shall_not_be_there_any_more_closes_though_tailscaled_does_not_answer() {
    let (_home, listeners) = listeners(&[Allowed::Oneself]);
    listeners.tailnet().see(running(&["127.0.0.2"]));
    let _bound = listeners.bind().await;
    let open = listeners.open();
    listeners.tailnet().see(Seen {
        phase: None,
        ..running(&["127.0.0.2"])
    });
    listeners.set_ports(&[], false);
    assert_eq!(listeners.plan().await.close, open);
}

#[test]
fn what_keeps_devices_away_is_said_with_what_to_do() {
    let said = |allow: &[Allowed], seen: Seen| {
        let (_home, listeners) = listeners(allow);
        listeners.tailnet().see(seen);
        let problems = listeners.problems().into_iter();
        let (kinds, words): (Vec<_>, Vec<_>) = problems
            .map(|problem| (problem.kind.clone(), problem.in_words()))
            .unzip();
        (kinds, words.join(" / "))
    };
    let mut tagged = running(&["127.0.0.2"]);
    tagged.node.as_mut().unwrap().tags = vec!["tag:box".to_owned()];
    let oneself = [Allowed::Oneself];
    for (allow, seen, kind, wants) in [
        (
            &oneself[..],
            Seen::default(),
            TailnetProblemKind::Away,
            "tailnet.socket",
        ),
        (&oneself, running(&[]), TailnetProblemKind::Away, "no address"),
        (
            &[],
            running(&["127.0.0.2"]),
            TailnetProblemKind::NobodyAllowed,
            "tailnet.allow is empty",
        ),
        (
            &oneself,
            tagged.clone(),
            TailnetProblemKind::SelfIsNobody,
            "(tag:box)",
        ),
    ] {
        let (kinds, words) = said(allow, seen);
        assert!(kinds == [kind] && words.contains(wants), "{words}");
    }
    let (kinds, words) = said(&[Allowed::Tag("tag:phone".to_owned())], tagged);
    assert!(kinds.is_empty(), "{words}");
}

#[test]
fn a_certificate_that_could_not_be_had_is_said_with_why_and_what_to_do() {
    let (_home, listeners) = listeners(&[Allowed::Oneself]);
    listeners.tailnet().see(running(&["127.0.0.2"]));
    let failed = Certificate::Failed {
        why: "access denied".to_owned(),
        hint: Some("ask for it"),
    };
    listeners.tailnet().certificate.send_replace(failed);
    let [problem] = &listeners.problems()[..] else {
        panic!("{:?}", listeners.problems())
    };
    assert_eq!(problem.kind, TailnetProblemKind::Certificate);
    assert!(problem.detail.ends_with("access denied"), "{problem:?}");
    assert_eq!(problem.hint.as_deref(), Some("ask for it"));
}
