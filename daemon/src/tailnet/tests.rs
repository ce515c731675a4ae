use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use pairing::Generation;
use server::{
    Access, Deps, LockdownFile, NoDoors, RemotePeer, ServerConfig, WhoIs, WhoIsAnswer, store::Store,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use super::{Allowed, LocalApi, OwnNode, Phase, Seen, Tailnet, Way};

/// A tailscaled that knows two phones, and how often it was asked.
struct Tailscaled {
    folder: TempDir,
    asked: Arc<AtomicUsize>,
}

impl Tailscaled {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("sock")).unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer(stream));
            }
        });
        Self { folder, asked }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("sock")
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn answer(mut stream: UnixStream) {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(stream.read_u8().await.unwrap());
    }
    let text = String::from_utf8(text).unwrap();
    let users = HashMap::from([("100.64.0.7", ("42", "alice")), ("100.64.0.8", ("43", "bob"))]);
    let asked = text
        .split_whitespace()
        .nth(1)
        .unwrap()
        .rsplit_once('=')
        .unwrap()
        .1;
    let answer = match users.get(asked) {
        None => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
        Some((id, user)) => {
            let body = format!(
                r#"{{"Node": {{"StableID": "n{id}", "Name": "phone."}},
                    "UserProfile": {{"ID": {id}, "LoginName": "{user}@example.com"}}}}"#
            );
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        }
    };
    stream.write_all(answer.as_bytes()).await.unwrap();
}

fn node() -> OwnNode {
    OwnNode {
        name: Some("box.tail1234.ts.net".to_owned()),
        addresses: vec![address("100.64.0.1"), address("fd7a:115c:a1e0::1")],
        user_id: Some("42".to_owned()),
        user: Some("alice@example.com".to_owned()),
        tags: Vec::new(),
        has_certificates: false,
    }
}

/// A tailnet whose node is alice's, where she and who else is named may come.
fn tailnet(socket: PathBuf, allow: &[Allowed]) -> Tailnet {
    let seen = Seen {
        phase: Some(Phase::Running),
        node: Some(node()),
        trouble: None,
    };
    let tailnet = Tailnet::asking(host(socket), allow.to_vec());
    tailnet.see(seen);
    tailnet
}

fn host(socket: PathBuf) -> Way {
    Way::Host(LocalApi::new(socket))
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn peer(from: &str, to: &str) -> RemotePeer {
    let [address, listener] = [from, to].map(|text| SocketAddr::new(text.parse().unwrap(), 7443));
    RemotePeer {
        address,
        listener,
        generation: Generation(1),
        tailnet: None,
    }
}

fn login(of: &WhoIsAnswer) -> Option<&str> {
    match of {
        WhoIsAnswer::Known(who) | WhoIsAnswer::Unlisted(who) => Some(&who.user),
        WhoIsAnswer::NotATailnet | WhoIsAnswer::Refused => None,
    }
}

#[tokio::test]
async fn a_node_is_asked_about_once_however_many_streams_it_opens() {
    let tailscaled = Tailscaled::start();
    let tailnet = tailnet(tailscaled.socket(), &[Allowed::Oneself]);
    for _ in 0..10 {
        let answer = tailnet.who_is(&peer("100.64.0.7", "100.64.0.1")).await;
        assert!(matches!(answer, WhoIsAnswer::Known(_)), "{answer:?}");
        assert_eq!(login(&answer), Some("alice@example.com"));
    }
    assert_eq!(tailscaled.asked(), 1);
    let answer = tailnet.who_is(&peer("100.64.0.8", "100.64.0.1")).await;
    assert!(matches!(answer, WhoIsAnswer::Unlisted(_)), "{answer:?}");
    assert_eq!(login(&answer), Some("bob@example.com"));
    assert_eq!(tailscaled.asked(), 2);
}

#[tokio::test]
async fn who_is_unknown_is_refused_and_asked_about_again() {
    let tailscaled = Tailscaled::start();
    let tailnet = tailnet(tailscaled.socket(), &[Allowed::Oneself]);
    for asked in 1..=2 {
        // Not even what looks like this machine is let in unasked.
        let answer = tailnet.who_is(&peer("127.0.0.1", "100.64.0.1")).await;
        assert_eq!(answer, WhoIsAnswer::Refused);
        assert_eq!(tailscaled.asked(), asked);
    }
}

#[tokio::test]
async fn over_other_listeners_and_from_this_machine_itself_nobody_is_asked_about() {
    let tailnet = tailnet(PathBuf::from("/nonexistent"), &[Allowed::Oneself]);
    for (from, to) in [
        ("100.64.0.7", "127.0.0.1"),
        ("192.0.2.1", "192.0.2.2"),
        ("100.64.0.1", "100.64.0.1"),
        ("fd7a:115c:a1e0::1", "fd7a:115c:a1e0::1"),
        ("::ffff:100.64.0.1", "100.64.0.1"),
    ] {
        let answer = tailnet.who_is(&peer(from, to)).await;
        assert_eq!(answer, WhoIsAnswer::NotATailnet, "{from}");
    }
}

#[tokio::test]
async fn a_listener_of_the_tailnet_is_guarded_also_where_it_is_not_known_what_this_node_is() {
    let tailnet = tailnet(PathBuf::from("/nonexistent"), &[Allowed::Oneself]);
    let listener = SocketAddr::new(address("100.64.0.1"), 7443);
    tailnet.guard(listener);
    tailnet.see(Seen::default());
    let answer = tailnet.who_is(&peer("100.64.0.7", "100.64.0.1")).await;
    assert_eq!(answer, WhoIsAnswer::Refused);
}

#[tokio::test]
async fn nobody_comes_unasked_to_an_address_of_a_tailnet_while_this_node_is_unknown() {
    let tailnet = Tailnet::asking(host("/nonexistent".into()), vec![Allowed::Oneself]);
    for (from, to) in [
        ("100.64.0.7", "100.64.0.1"),
        ("100.127.255.254", "::ffff:100.127.255.1"),
        ("fd7a:115c:a1e0::7", "fd7a:115c:a1e0::1"),
        ("192.0.2.1", "100.64.0.1"),
    ] {
        let answer = tailnet.who_is(&peer(from, to)).await;
        assert_eq!(answer, WhoIsAnswer::Refused, "{to}");
    }
    for to in [
        "100.63.255.255",
        "100.128.0.1",
        "fd7a:115c:a1e1::1",
        "192.168.1.2",
    ] {
        let answer = tailnet.who_is(&peer("192.0.2.1", to)).await;
        assert_eq!(answer, WhoIsAnswer::NotATailnet, "{to}");
    }
}

#[tokio::test]
async fn an_address_that_this_node_had_once_is_the_tailnets_for_good() {
    let tailnet = Tailnet::asking(host("/nonexistent".into()), vec![Allowed::Oneself]);
    let at = |addresses| Seen {
        phase: Some(Phase::Running),
        node: Some(OwnNode { addresses, ..node() }),
        trouble: None,
    };
    tailnet.see(at(vec![address("198.51.100.1")]));
    tailnet.see(at(Vec::new()));
    let answer = tailnet.who_is(&peer("198.51.100.7", "198.51.100.1")).await;
    assert_eq!(answer, WhoIsAnswer::Refused);
    tailnet.see(Seen::default());
    // Nor is it this machine any more that comes from there.
    let answer = tailnet.who_is(&peer("198.51.100.1", "198.51.100.1")).await;
    assert_eq!(answer, WhoIsAnswer::Refused);
}

#[tokio::test]
async fn where_the_owner_of_this_node_is_unknown_nobody_is_oneself() {
    let tailscaled = Tailscaled::start();
    let tailnet = tailnet(tailscaled.socket(), &[Allowed::Oneself]);
    tailnet.guard(SocketAddr::new(address("100.64.0.1"), 7443));
    tailnet.see(Seen::default());
    let answer = tailnet.who_is(&peer("100.64.0.7", "100.64.0.1")).await;
    assert!(matches!(answer, WhoIsAnswer::Unlisted(_)), "{answer:?}");
}

#[tokio::test]
async fn who_may_come_is_changed_for_those_who_were_asked_about_already() {
    let folder = tempfile::tempdir().unwrap();
    let tailscaled = Tailscaled::start();
    let tailnet = Arc::new(tailnet(tailscaled.socket(), &[Allowed::Oneself]));
    let keys = folder.path().join("keys");
    let identity = certs::Identity::load_or_create(&keys).unwrap();
    let opened = Store::open(&folder.path().join("transom.db"), &keys, server::clock::now()).unwrap();
    let access = Access::new(
        ServerConfig::new("session", "0.1.0"),
        Deps {
            who_is: Arc::clone(&tailnet) as Arc<dyn WhoIs>,
            ..Deps::new(
                opened,
                identity.pin(),
                Arc::new(NoDoors),
                LockdownFile::new(folder.path()),
            )
        },
    );
    let phone = peer("100.64.0.7", "100.64.0.1");
    assert!(matches!(tailnet.who_is(&phone).await, WhoIsAnswer::Known(_)));
    let bob = Allowed::Login("bob@example.com".parse().unwrap());
    assert_eq!(tailnet.allow(vec![bob], &access), 0);
    assert!(matches!(tailnet.who_is(&phone).await, WhoIsAnswer::Unlisted(_)));
    assert_eq!(
        tailscaled.asked(),
        2,
        "a change of who may come empties what is kept"
    );
}

#[test]
fn a_node_that_starts_is_what_it_was_unless_it_is_somebody_elses() {
    let blank = OwnNode {
        name: None,
        addresses: Vec::new(),
        user_id: None,
        user: None,
        ..node()
    };
    let bobs = OwnNode {
        user_id: Some("43".to_owned()),
        ..node()
    };
    let tagged = OwnNode {
        tags: vec!["tag:box".to_owned()],
        ..blank.clone()
    };
    for told in [None, Some(blank.clone()), Some(node())] {
        assert_eq!(OwnNode::or_as_known(told, Some(node())), Some(node()));
    }
    for told in [blank, bobs.clone()] {
        assert_eq!(OwnNode::or_as_known(Some(told.clone()), None), Some(told));
    }
    for told in [bobs, tagged] {
        assert_eq!(OwnNode::or_as_known(Some(told.clone()), Some(node())), Some(told));
    }
}

#[test]
fn addresses_are_given_up_only_where_it_is_known_that_there_are_none() {
    let seen = |phase| Seen {
        phase,
        node: Some(node()),
        trouble: None,
    };
    assert_eq!(seen(Some(Phase::Running)).addresses(), Some(node().addresses));
    assert_eq!(seen(Some(Phase::NeedsLogin)).addresses(), Some(Vec::new()));
    assert_eq!(seen(Some(Phase::Stopped)).addresses(), Some(Vec::new()));
    assert_eq!(seen(Some(Phase::Starting)).addresses(), None);
    assert_eq!(seen(None).addresses(), None);
}
