use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use pairing::Generation;
use protocol::{access::TailnetState, condition::TailnetProblemKind};
use server::{Listener, RemotePeer, UserspaceListener, UserspaceStream, WhoIs, WhoIsAnswer};
use tokio::{
    io::duplex,
    sync::{Notify, mpsc},
};

use super::{Embedded, FAILURES, NodeError, NodeFacts, Own, Stack, Starter};
use crate::{
    config::{Allowed, NodeOptions, TailnetMode},
    tailnet::{NotOwn, Phase, Tailnet, listeners::tests::serving, way::Way},
};

/// A node that says what the test wants.
#[derive(Default)]
struct Fake {
    own: Mutex<Option<Result<Own, NodeError>>>,
    others: Mutex<Vec<NodeFacts>>,
    asked: AtomicUsize,
    /// Who connects: which of them is taken up by whoever listens.
    ports: Mutex<Vec<mpsc::UnboundedSender<UserspaceStream>>>,
    listening: Notify,
}

impl Stack for Fake {
    fn own(&self) -> BoxFuture<'_, Result<Own, NodeError>> {
        let own = self.own.lock().unwrap().clone();
        match own {
            Some(own) => Box::pin(std::future::ready(own)),
            None => Box::pin(std::future::pending()),
        }
    }

    fn node_at(&self, address: IpAddr) -> BoxFuture<'_, Result<Option<NodeFacts>, NodeError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let others = self.others.lock().unwrap();
        let node = others
            .iter()
            .find(|node| node.addresses.contains(&address))
            .cloned();
        Box::pin(std::future::ready(Ok(node)))
    }

    fn listen(&self, at: SocketAddr) -> BoxFuture<'_, Result<Box<dyn UserspaceListener>, NodeError>> {
        let (into, streams) = mpsc::unbounded_channel();
        self.ports.lock().unwrap().push(into);
        self.listening.notify_one();
        let listener = Port(at, tokio::sync::Mutex::new(streams));
        Box::pin(std::future::ready(Ok(
            Box::new(listener) as Box<dyn UserspaceListener>
        )))
    }
}

impl Fake {
    fn running() -> Arc<Self> {
        let fake = Self::default();
        *fake.own.lock().unwrap() = Some(Ok(Own::Inside(node("nBox", "100.64.0.1", &["tag:box"]))));
        Arc::new(fake)
    }

    fn connect(&self, from: &str) {
        let (_, theirs) = duplex(64);
        let stream = UserspaceStream {
            peer: SocketAddr::new(from.parse().unwrap(), 9),
            stream: Box::new(theirs),
        };
        self.ports.lock().unwrap().last().unwrap().send(stream).unwrap();
    }
}

#[derive(Debug)]
struct Port(
    SocketAddr,
    tokio::sync::Mutex<mpsc::UnboundedReceiver<UserspaceStream>>,
);

impl UserspaceListener for Port {
    fn address(&self) -> SocketAddr {
        self.0
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<UserspaceStream>> {
        Box::pin(async {
            let next = self.1.lock().await.recv().await;
            next.ok_or_else(|| io::ErrorKind::BrokenPipe.into())
        })
    }
}

fn node(stable_id: &str, address: &str, tags: &[&str]) -> NodeFacts {
    NodeFacts {
        stable_id: stable_id.to_owned(),
        name: format!("{stable_id}.tail1234.ts.net."),
        addresses: vec![address.parse().unwrap()],
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        is_expired: false,
    }
}

/// Starts these in turn, and then none.
fn starting(stacks: Vec<Arc<Fake>>) -> Embedded {
    let left = Arc::new(Mutex::new(stacks.into_iter()));
    let starter: Starter = Box::new(move || {
        let next = left.lock().unwrap().next().map(|stack| stack as Arc<dyn Stack>);
        Box::pin(std::future::ready(
            next.ok_or_else(|| NodeError("it does not start".to_owned())),
        ))
    });
    Embedded {
        quick: Duration::from_millis(10),
        ..Embedded::started_by(starter, &NodeOptions::default())
    }
}

/// A tailnet with the nodes of alice's, where these may come.
async fn tailnet(allow: &[Allowed]) -> (Arc<Fake>, Tailnet) {
    let fake = Fake::running();
    *fake.others.lock().unwrap() = vec![
        node("nPhone", "100.64.0.7", &[]),
        node("nKiosk", "100.64.0.8", &["tag:kiosk"]),
        node("nLaptop", "100.64.0.9", &[]),
    ];
    let embedded = starting(vec![Arc::clone(&fake)]);
    embedded.start().await.unwrap();
    let tailnet = Tailnet::asking(Way::Embedded(embedded), allow.to_vec());
    tailnet.look().await.unwrap();
    (fake, tailnet)
}

fn peer(from: &str) -> RemotePeer {
    RemotePeer {
        address: SocketAddr::new(from.parse().unwrap(), 9),
        listener: at(),
        generation: Generation(1),
        tailnet: None,
    }
}

fn at() -> SocketAddr {
    "100.64.0.1:7443".parse().unwrap()
}

#[tokio::test]
async fn a_peer_is_known_by_its_node_and_its_tags_and_comes_by_one_of_them() {
    let allow = [
        Allowed::Node("nPhone".to_owned()),
        Allowed::Tag("tag:kiosk".to_owned()),
    ];
    let (_, tailnet) = tailnet(&allow).await;
    for (from, node, tags) in [
        ("100.64.0.7", "nPhone", vec![]),
        ("100.64.0.8", "nKiosk", vec!["tag:kiosk".to_owned()]),
    ] {
        let WhoIsAnswer::Known(who) = tailnet.who_is_in_userspace(&peer(from)).await else {
            panic!("{from} may come");
        };
        assert_eq!((who.node_id.as_str(), who.tags), (node, tags));
        assert_eq!(who.node, format!("{}.tail1234.ts.net", node.to_lowercase()));
        assert_eq!((who.user_id, who.user), (String::new(), String::new()));
    }
}

#[tokio::test]
async fn who_is_not_listed_or_not_known_is_refused_and_nobody_is_invited_by_login() {
    let (_, tailnet) = tailnet(&[Allowed::Node("nPhone".to_owned())]).await;
    // Another node of the same user, a tagged one, nobody's address, and the node's own.
    for from in ["100.64.0.9", "100.64.0.8", "100.64.0.66", "100.64.0.1"] {
        assert_eq!(
            tailnet.who_is_in_userspace(&peer(from)).await,
            WhoIsAnswer::Refused,
            "{from}"
        );
    }
    assert!(!tailnet.knows_logins());
}

#[tokio::test]
async fn an_empty_list_and_one_that_names_users_let_nobody_come() {
    let users = [
        Allowed::Oneself,
        Allowed::Login("alice@example.com".parse().unwrap()),
    ];
    for allow in [&[][..], &users] {
        let (_, tailnet) = tailnet(allow).await;
        assert_eq!(
            tailnet.who_is_in_userspace(&peer("100.64.0.7")).await,
            WhoIsAnswer::Refused
        );
    }
}

#[tokio::test]
async fn the_kernels_addresses_are_none_of_the_nodes() {
    let (fake, tailnet) = tailnet(&[Allowed::Node("nPhone".to_owned())]).await;
    assert_eq!(
        tailnet.who_is(&peer("100.64.0.7")).await,
        WhoIsAnswer::NotATailnet
    );
    // Nobody is asked about who comes there, so that no listener of the kernel's is taken for one of the tailnet.
    assert_eq!(tailnet.disowns(at().ip()), Some(NotOwn::Another));
    assert_eq!(fake.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_key_that_is_over_and_a_node_without_an_id_are_nobodys() {
    let (fake, tailnet) = tailnet(&[Allowed::Tag("tag:kiosk".to_owned())]).await;
    let over = NodeFacts {
        is_expired: true,
        ..node("nOver", "100.64.0.10", &["tag:kiosk"])
    };
    let nameless = node("", "100.64.0.11", &["tag:kiosk"]);
    fake.others.lock().unwrap().extend([over, nameless]);
    for from in ["100.64.0.10", "100.64.0.11"] {
        assert_eq!(
            tailnet.who_is_in_userspace(&peer(from)).await,
            WhoIsAnswer::Refused,
            "{from}"
        );
    }
}

#[tokio::test]
async fn it_is_asked_about_once_however_many_streams_it_opens() {
    let (fake, tailnet) = tailnet(&[Allowed::Node("nPhone".to_owned())]).await;
    for _ in 0..10 {
        tailnet.who_is_in_userspace(&peer("100.64.0.7")).await;
    }
    assert_eq!(fake.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_node_is_its_name_its_addresses_and_its_tags_and_never_a_users() {
    let (_, tailnet) = tailnet(&[]).await;
    assert_eq!(tailnet.mode(), TailnetMode::Embedded);
    let own = tailnet.seen().running().unwrap();
    assert_eq!(own.name.as_deref(), Some("nbox.tail1234.ts.net"));
    assert_eq!(own.addresses, ["100.64.0.1".parse::<IpAddr>().unwrap()]);
    assert_eq!((own.user_id, own.user, own.has_certificates), (None, None, false));
    assert_eq!(own.tags, ["tag:box"]);
}

#[tokio::test]
async fn one_that_is_not_in_its_tailnet_yet_starts_and_one_that_ends_is_started_again() {
    let (first, second) = (Arc::new(Fake::default()), Fake::running());
    let embedded = starting(vec![Arc::clone(&first), second]);
    assert_eq!(embedded.status().await.unwrap(), (Phase::Starting, None));
    embedded.start().await.unwrap();
    assert_eq!(embedded.status().await.unwrap(), (Phase::Starting, None));
    let gone = NodeError("the control server cannot be reached".to_owned());
    *first.own.lock().unwrap() = Some(Ok(Own::Ended(gone.clone())));
    assert_eq!(embedded.status().await, Err(gone));
    assert!(embedded.who_is("100.64.0.7".parse().unwrap()).await.is_err());
    embedded.start().await.unwrap();
    assert_eq!(embedded.status().await.unwrap().0, Phase::Running);
}

#[tokio::test]
async fn why_it_does_not_start_is_said_until_it_does() {
    let embedded = starting(Vec::new());
    let trouble = embedded.start().await.unwrap_err();
    assert_eq!(embedded.status().await, Err(trouble));
    let gone = NodeError("it ended".to_owned());
    let (first, second) = (Fake::running(), Fake::running());
    *first.own.lock().unwrap() = Some(Ok(Own::Ended(gone.clone())));
    let embedded = starting(vec![first, second]);
    embedded.start().await.unwrap();
    assert_eq!(embedded.status().await, Err(gone.clone()));
    assert_eq!(embedded.status().await, Err(gone));
    embedded.start().await.unwrap();
    assert_eq!(embedded.status().await.unwrap().0, Phase::Running);
}

#[tokio::test]
async fn one_that_cannot_tell_for_a_moment_goes_on_and_one_that_never_can_again_is_started_anew() {
    let (first, second) = (Fake::running(), Fake::running());
    *first.others.lock().unwrap() = vec![node("nPhone", "100.64.0.7", &[])];
    let embedded = starting(vec![Arc::clone(&first), second]);
    embedded.start().await.unwrap();
    let tells = first.own.lock().unwrap().clone();
    let busy = NodeError("a part of it begins anew".to_owned());
    for _ in 0..2 {
        *first.own.lock().unwrap() = Some(Err(busy.clone()));
        for _ in 1..FAILURES {
            assert_eq!(embedded.status().await, Err(busy.clone()));
        }
        let phone = embedded.who_is("100.64.0.7".parse().unwrap()).await.unwrap();
        assert_eq!(phone.unwrap().node_id, "nPhone");
        first.own.lock().unwrap().clone_from(&tells);
        assert_eq!(embedded.status().await.unwrap().0, Phase::Running);
    }
    *first.own.lock().unwrap() = Some(Err(busy.clone()));
    for _ in 0..FAILURES {
        assert_eq!(embedded.status().await, Err(busy.clone()));
    }
    assert_eq!(Arc::strong_count(&first), 1, "it is let go of");
    embedded.start().await.unwrap();
    assert_eq!(embedded.status().await.unwrap().0, Phase::Running);
}

#[tokio::test]
async fn a_node_that_has_to_be_taken_in_names_the_page_and_one_whose_key_is_over_has_none() {
    let fake = Fake::running();
    let embedded = starting(vec![Arc::clone(&fake)]);
    embedded.start().await.unwrap();
    let page = "https://login.example/a/1".to_owned();
    *fake.own.lock().unwrap() = Some(Ok(Own::Outside(page.clone())));
    assert_eq!(embedded.status().await.unwrap(), (Phase::NeedsLogin, None));
    assert_eq!(embedded.login_page(), Some(page));
    let over = NodeFacts {
        is_expired: true,
        ..node("nBox", "100.64.0.1", &[])
    };
    *fake.own.lock().unwrap() = Some(Ok(Own::Inside(over)));
    assert_eq!(embedded.status().await.unwrap().0, Phase::NeedsLogin);
    assert_eq!(embedded.login_page(), None);
}

#[tokio::test]
async fn a_listener_goes_on_in_the_node_that_comes_after() {
    let (first, second) = (Fake::running(), Fake::running());
    let embedded = starting(vec![Arc::clone(&first), Arc::clone(&second)]);
    assert!(embedded.listen(at()).await.is_err());
    embedded.start().await.unwrap();
    let listener = embedded.listen(at()).await.unwrap();
    assert_eq!(listener.address(), at());
    first.connect("100.64.0.7");
    assert_eq!(
        listener.accept().await.unwrap().peer.ip().to_string(),
        "100.64.0.7"
    );
    *first.own.lock().unwrap() = Some(Ok(Own::Ended(NodeError("it ended".to_owned()))));
    let mut accepting = Box::pin(listener.accept());
    assert!((&mut accepting).now_or_never().is_none());
    embedded.status().await.unwrap_err();
    assert!(
        (&mut accepting).now_or_never().is_none(),
        "nothing comes, and nothing fails"
    );
    assert_eq!(Arc::strong_count(&first), 1, "what ended is let go of");
    embedded.start().await.unwrap();
    let connecting = async {
        second.listening.notified().await;
        second.connect("100.64.0.8");
    };
    let (accepted, ()) = tokio::join!(accepting, connecting);
    assert_eq!(accepted.unwrap().peer.ip().to_string(), "100.64.0.8");
}

#[tokio::test]
async fn it_listens_in_the_nodes_own_stack_alone() {
    let (fake, tailnet) = tailnet(&[Allowed::Node("nPhone".to_owned())]).await;
    let (_home, listeners) = serving(tailnet, &[7443]);
    let bound = listeners.bind().await;
    assert!(matches!(bound[..], [Listener::Userspace { .. }]), "{bound:?}");
    assert_eq!(listeners.open(), [at()]);
    assert_eq!(fake.ports.lock().unwrap().len(), 1);
    assert!(listeners.problems().is_empty(), "{:?}", listeners.problems());
    let status = listeners.status(false);
    assert_eq!((status.embedded, status.state), (true, TailnetState::Running));
    assert_eq!(status.listeners, ["100.64.0.1:7443"]);
}

#[tokio::test]
async fn what_keeps_the_node_away_is_said_with_what_to_do_and_no_listener_starts() {
    let fake = Arc::new(Fake::default());
    let embedded = starting(vec![Arc::clone(&fake)]);
    embedded.start().await.unwrap();
    let (_home, listeners) = serving(Tailnet::asking(Way::Embedded(embedded), Vec::new()), &[7443]);
    let page = "https://login.example/a/1".to_owned();
    let gone = NodeError("the control server cannot be reached".to_owned());
    for (own, words) in [
        (None, "its control server has not answered"),
        (Some(Ok(Own::Outside(page.clone()))), page.as_str()),
        (Some(Err(gone)), "cannot be reached; see tailnet.control_url"),
    ] {
        *fake.own.lock().unwrap() = own;
        listeners.tailnet().look().await.ok();
        assert!(listeners.bind().await.is_empty());
        let problems = listeners.problems();
        let [away, nobody] = &problems[..] else {
            panic!("{problems:?}")
        };
        assert_eq!(away.kind, TailnetProblemKind::Away);
        assert_eq!(nobody.kind, TailnetProblemKind::NobodyAllowed);
        let said = away.in_words();
        assert!(
            said.contains("no listener of the tailnet can be reached") && said.contains(words),
            "{said}"
        );
    }
}

#[tokio::test]
async fn what_is_configured_otherwise_is_named() {
    let embedded = starting(Vec::new());
    assert!(embedded.differing(&NodeOptions::default()).is_empty());
    let other = NodeOptions {
        hostname: Some("desk".to_owned()),
        auth_key: None,
        control: Some("https://headscale.example".to_owned()),
    };
    assert_eq!(
        embedded.differing(&other),
        ["tailnet.hostname", "tailnet.control_url"]
    );
}
