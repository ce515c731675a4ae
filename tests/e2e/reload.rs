//! `POST /v1/reload`, `transom reload`, SIGHUP, and files that change: each kind of reload, under traffic.

use std::net::{SocketAddr, TcpListener, TcpStream};

use certs::{IDENTITY_SERVER_NAME, SpkiPin};
use harness::{Authority, DaemonOptions, Device, RawRequest, TerminalOf, TestDaemon, accepts, shown, until};
use pairing::Role;
use protocol::{access::Status, attach::Mode, condition::DegradedKind};
use rustix::process::Signal;

/// A daemon that listens where its configuration says.
async fn configured(config: &str) -> TestDaemon {
    TestDaemon::start_with(DaemonOptions {
        config: config.to_owned(),
        listens_as_configured: true,
        ..DaemonOptions::default()
    })
    .await
}

fn listening(addresses: &[SocketAddr]) -> String {
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    format!("[listen]\ntls = {addresses:?}\n")
}

/// Puts the configuration in its place in one step, as editors do.
fn configure(daemon: &TestDaemon, config: &str) {
    let partial = daemon.folder().join("config.new");
    std::fs::write(&partial, config).unwrap();
    std::fs::rename(partial, daemon.folder().join("config.toml")).unwrap();
}

/// An address where nobody listens.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

async fn status(daemon: &TestDaemon) -> Status {
    daemon.owner().get("/v1/status").await.ok()
}

async fn until_degraded(daemon: &TestDaemon, why: &str) -> Status {
    until(why, async || {
        let status = status(daemon).await;
        let is_said = status.degraded.iter().any(|said| said.detail.contains(why));
        is_said.then_some(status)
    })
    .await
}

async fn pin_at(address: SocketAddr, name: &str) -> String {
    SpkiPin::of_certificate(&shown(address, name).await)
        .unwrap()
        .to_string()
}

/// Asks as fast as it is answered until it is told to stop; each answer must be good, and each is on the same connection or on
/// one that was made for it.
struct Traffic {
    stop: tokio::sync::watch::Sender<bool>,
    task: tokio::task::JoinHandle<u64>,
}

impl Traffic {
    async fn at(daemon: &TestDaemon) -> Self {
        let device = daemon.device(Role::Viewer).await;
        let (address, pin) = (daemon.address(), daemon.pin().to_owned());
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let task = tokio::spawn(async move {
            let mut count = 0;
            while !*stopped.borrow() {
                assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
                let host = address.to_string();
                let stranger = RawRequest::get("/v1/health").header("Host", &host);
                assert_eq!(stranger.over_tls(address, &pin).await.verdict(), "200");
                count += 2;
            }
            count
        });
        Self { stop, task }
    }

    async fn end(self) -> u64 {
        self.stop.send(true).unwrap();
        self.task.await.unwrap()
    }
}

async fn holds(device: &Device) -> bool {
    device.get("/v1/whoami").await.verdict() == "200"
}

#[tokio::test]
async fn a_new_name_is_taken_up_by_itself_and_no_request_is_lost() {
    let daemon = configured(&listening(&["127.0.0.1:0".parse().unwrap()])).await;
    let traffic = Traffic::at(&daemon).await;
    let host = format!("desk.example:{}", daemon.address().port());
    let asked = RawRequest::get("/v1/health").header("Host", &host);
    let by_name = || asked.over_tls(daemon.address(), daemon.pin());
    assert_eq!(by_name().await.verdict(), "403 wrong_host");
    configure(
        &daemon,
        "[listen]\ntls = [\"127.0.0.1:0\"]\nnames = [\"desk.example\"]\n",
    );
    let leaf = until("the new name", async || {
        let leaf = shown(daemon.address(), "desk.example").await;
        accepts(daemon.address(), "desk.example", &leaf)
            .await
            .ok()
            .map(|()| leaf)
    })
    .await;
    assert_eq!(SpkiPin::of_certificate(&leaf).unwrap().to_string(), daemon.pin());
    assert_eq!(by_name().await.verdict(), "200");
    assert!(traffic.end().await > 0);
    let rows = daemon
        .cli(&["audit", "--action", "reloaded", "--json"])
        .await
        .json();
    assert_eq!(rows[0]["detail"], "listen.names", "{rows}");
}

#[tokio::test]
async fn an_address_that_changes_moves_the_listener_and_ends_what_the_old_one_accepted() {
    let daemon = configured(&listening(&["127.0.0.1:0".parse().unwrap()])).await;
    let mut device = daemon.device(Role::Operator).await;
    let session = daemon.owner().shell("cat").await;
    let mut attached = device.attach(&session.id, Mode::Write, "screen").await;
    attached.next().await.unwrap();
    let (former, new) = (daemon.address(), free());
    configure(&daemon, &listening(&[new]));
    let reloaded = daemon.cli(&["reload", "--json"]).await;
    assert_eq!(reloaded.code, 0, "{reloaded:?}");
    attached.until_closed().await;
    until("the former address to be closed", async || {
        TcpStream::connect(former).is_err().then_some(())
    })
    .await;
    let endpoints = status(&daemon).await.tls;
    assert_eq!(
        endpoints.iter().map(|at| at.address.clone()).collect::<Vec<_>>(),
        [new.to_string()]
    );
    device.go_by(new);
    assert!(holds(&device).await, "its trust stayed");
    assert_eq!(daemon.owner().session(&session.id).await.exit, None);
}

#[tokio::test]
async fn a_listener_that_comes_and_goes_beside_another_loses_no_request_of_that() {
    let first = "127.0.0.1:0".parse().unwrap();
    let daemon = configured(&listening(&[first])).await;
    let traffic = Traffic::at(&daemon).await;
    for _ in 0..3 {
        let second = free();
        configure(&daemon, &listening(&[first, second]));
        assert_eq!(daemon.cli(&["reload"]).await.code, 0);
        assert_eq!(pin_at(second, "localhost").await, daemon.pin());
        configure(&daemon, &listening(&[first]));
        assert_eq!(daemon.cli(&["reload"]).await.code, 0);
        assert!(TcpStream::connect(second).is_err());
    }
    assert!(traffic.end().await > 0);
}

#[tokio::test]
async fn an_address_that_cannot_be_bound_leaves_the_former_one_and_is_said_until_it_can() {
    let daemon = configured(&listening(&["127.0.0.1:0".parse().unwrap()])).await;
    let mut device = daemon.device(Role::Viewer).await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let wanted = taken.local_addr().unwrap();
    configure(&daemon, &listening(&[wanted]));
    let reloaded = daemon.cli(&["reload"]).await;
    assert_eq!(reloaded.code, 1, "{reloaded:?}");
    assert!(reloaded.stderr.contains(&wanted.to_string()), "{reloaded:?}");
    assert!(holds(&device).await, "the former one stays");
    let said = until_degraded(&daemon, &wanted.to_string()).await;
    assert_eq!(said.tls.len(), 1);
    let shown = TerminalOf::start(&daemon.command(&["status"]), 100, 30).await;
    shown.until_shows("degraded").await;
    drop(taken);
    assert_eq!(daemon.cli(&["reload"]).await.code, 0);
    device.go_by(wanted);
    assert!(holds(&device).await);
    assert!(status(&daemon).await.degraded.is_empty());
}

#[tokio::test]
async fn a_listener_that_reaches_further_than_what_is_wanted_is_closed_though_that_cannot_be_bound() {
    let any = SocketAddr::new([0, 0, 0, 0].into(), free().port());
    let open = format!("{}dangerous_allow_any_interface = true\n", listening(&[any]));
    let daemon = configured(&open).await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    configure(&daemon, &listening(&[taken.local_addr().unwrap()]));
    assert_eq!(daemon.cli(&["reload"]).await.code, 1);
    let here = SocketAddr::new([127, 0, 0, 1].into(), any.port());
    assert!(TcpStream::connect(here).is_err());
    let status = status(&daemon).await;
    assert_eq!((status.tls.len(), status.degraded.len()), (0, 1), "{status:?}");
}

#[tokio::test]
async fn a_listener_may_come_nearer_and_go_further_away_at_the_same_port() {
    let port = free().port();
    let [any, here] = [[0, 0, 0, 0], [127, 0, 0, 1]].map(|ip| SocketAddr::new(ip.into(), port));
    let open = format!("{}dangerous_allow_any_interface = true\n", listening(&[any]));
    let daemon = configured(&open).await;
    configure(&daemon, &listening(&[here]));
    let reloaded = daemon.cli(&["reload"]).await;
    assert_eq!(reloaded.code, 0, "{reloaded:?}");
    assert_eq!(status(&daemon).await.tls[0].address, here.to_string());
    configure(&daemon, &open);
    let reloaded = daemon.cli(&["reload"]).await;
    assert_eq!(reloaded.code, 0, "{reloaded:?}");
    assert_eq!(status(&daemon).await.tls[0].address, any.to_string());
}

#[tokio::test]
async fn a_bad_file_changes_nothing_and_says_so_until_it_is_mended() {
    let good = listening(&["127.0.0.1:0".parse().unwrap()]);
    let daemon = configured(&good).await;
    let traffic = Traffic::at(&daemon).await;
    for (bad, why) in [
        ("[listen]\ntls = [\"nowhere\"]\n", "nowhere"),
        ("[listen\n", "not valid TOML"),
        ("[listen]\nport = 1\n", "not a key"),
    ] {
        configure(&daemon, bad);
        let refused = daemon.cli(&["reload", "--json"]).await;
        assert_eq!(
            (refused.code, refused.json()["code"].as_str()),
            (64, Some("bad_configuration"))
        );
        let said = until_degraded(&daemon, why).await;
        assert_eq!(said.degraded[0].kind, DegradedKind::Refused);
        assert_eq!(said.tls[0].address, daemon.address().to_string());
    }
    configure(&daemon, "[pairing]\nmax_pending = none\n");
    let shown = daemon.cli(&["config", "show"]).await;
    assert_eq!(shown.code, 64, "{shown:?}");
    assert!(
        shown.stderr.starts_with("\nthe running daemon goes on with:\n")
            && shown.stdout.contains("max_pending"),
        "{shown:?}"
    );
    configure(&daemon, &good);
    until("the mended file", async || {
        status(&daemon).await.degraded.is_empty().then_some(())
    })
    .await;
    assert!(traffic.end().await > 0);
}

#[tokio::test]
async fn a_pair_that_cannot_be_used_keeps_nothing_open_that_shall_be_closed() {
    let any = SocketAddr::new([0, 0, 0, 0].into(), free().port());
    let open = format!("{}dangerous_allow_any_interface = true\n", listening(&[any]));
    let daemon = configured(&open).await;
    let near = free();
    let pair = "certificate = \"/nowhere.pem\"\nkey = \"/nowhere.key\"\n";
    configure(&daemon, &format!("{}{pair}", listening(&[near])));
    let reloaded = daemon.cli(&["reload"]).await;
    assert_eq!(reloaded.code, 1, "{reloaded:?}");
    assert!(reloaded.stderr.contains("/nowhere.pem"), "{reloaded:?}");
    assert!(TcpStream::connect(SocketAddr::new([127, 0, 0, 1].into(), any.port())).is_err());
    let said = until_degraded(&daemon, "/nowhere.pem").await;
    assert_eq!(said.tls[0].address, near.to_string());
    assert_eq!(pin_at(near, "localhost").await, daemon.pin());
    configure(&daemon, &listening(&[near]));
    assert_eq!(daemon.cli(&["reload"]).await.code, 0);
    assert!(status(&daemon).await.degraded.is_empty());
}

#[tokio::test]
async fn a_store_that_hangs_keeps_nothing_open_that_shall_be_closed() {
    let daemon = configured(&listening(&["127.0.0.1:0".parse().unwrap()])).await;
    let disk = rusqlite::Connection::open(daemon.folder().join("transom.db")).unwrap();
    disk.execute_batch("BEGIN IMMEDIATE").unwrap();
    configure(&daemon, &listening(&[]));
    daemon.signal(Signal::HUP);
    until("the listener to be closed", async || {
        TcpStream::connect(daemon.address()).is_err().then_some(())
    })
    .await;
    // The store itself gives up later.
    let log = daemon.log();
    assert!(log.contains("the row of a reload waits for the disk"), "{log}");
}

#[tokio::test]
async fn a_configuration_that_vanishes_is_kept_until_the_owner_says_that_it_is_meant() {
    let daemon = TestDaemon::start_with(DaemonOptions {
        config: "[pairing]\nmax_pending = 3\n".to_owned(),
        ..DaemonOptions::default()
    })
    .await;
    let file = daemon.folder().join("config.toml");
    std::fs::remove_file(&file).unwrap();
    until_degraded(&daemon, "gone or empty").await;
    std::fs::write(&file, "[pairing]\nmax_pending = 3\n").unwrap();
    until("the file that is back", async || {
        status(&daemon).await.degraded.is_empty().then_some(())
    })
    .await;
    std::fs::write(&file, "").unwrap();
    until_degraded(&daemon, "gone or empty").await;
    let reloaded = daemon.cli(&["reload", "--json"]).await;
    assert_eq!(reloaded.code, 0, "{reloaded:?}");
    assert_eq!(
        reloaded.json()["changed"],
        serde_json::json!(["pairing.max_pending"])
    );
    assert!(status(&daemon).await.degraded.is_empty());
}

#[tokio::test]
async fn an_own_pair_comes_is_renewed_and_goes_without_a_request_lost() {
    let authority = Authority::new();
    let names = "names = [\"desk.example\"]\n";
    let plain = format!("[listen]\ntls = [\"127.0.0.1:0\"]\n{names}");
    let daemon = configured(&plain).await;
    let traffic = Traffic::at(&daemon).await;
    let files = authority.issue("desk", &["desk.example"]);
    configure(
        &daemon,
        &format!("{}tls = [\"127.0.0.1:0\"]\n{names}", files.config()),
    );
    let is_accepted = async || authority.accepts(daemon.address(), "desk.example").await.ok();
    until("the own pair", is_accepted).await;
    assert_eq!(pin_at(daemon.address(), IDENTITY_SERVER_NAME).await, daemon.pin());
    let first = shown(daemon.address(), "desk.example").await;
    authority.issue("desk", &["desk.example"]);
    until("the renewed pair", async || {
        (shown(daemon.address(), "desk.example").await != first).then_some(())
    })
    .await;
    assert!(is_accepted().await.is_some());
    let good = shown(daemon.address(), "desk.example").await;
    std::fs::write(&files.certificate, "no certificate").unwrap();
    until_degraded(&daemon, "holds no certificate").await;
    assert_eq!(shown(daemon.address(), "desk.example").await, good);
    configure(&daemon, &plain);
    let pin = async || (pin_at(daemon.address(), "desk.example").await == daemon.pin()).then_some(());
    until("the daemon's own leaf", pin).await;
    assert!(status(&daemon).await.degraded.is_empty());
    assert!(traffic.end().await > 0);
}

#[tokio::test]
async fn a_hangup_signal_reloads_and_ends_nothing() {
    let daemon = configured(&listening(&["127.0.0.1:0".parse().unwrap()])).await;
    let before = status(&daemon).await;
    let traffic = Traffic::at(&daemon).await;
    daemon.signal(Signal::HUP);
    let reloads = async || {
        let rows = daemon
            .cli(&["audit", "--action", "reloaded", "--json"])
            .await
            .json();
        (rows.as_array().unwrap().len() == 1).then_some(())
    };
    until("the reload", reloads).await;
    assert!(traffic.end().await > 0);
    assert_eq!(status(&daemon).await.life, before.life);
}

#[tokio::test]
async fn a_reload_while_it_is_locked_down_opens_nothing_until_that_is_lifted() {
    let daemon = configured(&listening(&["127.0.0.1:0".parse().unwrap()])).await;
    let mut device = daemon.device(Role::Viewer).await;
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    let new = free();
    configure(&daemon, &listening(&[new]));
    assert_eq!(daemon.cli(&["reload"]).await.code, 0);
    assert!(TcpStream::connect(new).is_err() && TcpStream::connect(daemon.address()).is_err());
    assert_eq!(daemon.cli(&["lockdown", "--lift"]).await.code, 0);
    assert!(
        TcpStream::connect(daemon.address()).is_err(),
        "the former address is gone"
    );
    device.go_by(new);
    assert!(holds(&device).await);
}

#[tokio::test]
async fn a_lock_down_after_a_reload_closes_what_that_opened_and_its_end_opens_it_again() {
    let daemon = configured(&listening(&["127.0.0.1:0".parse().unwrap()])).await;
    let mut device = daemon.device(Role::Viewer).await;
    let new = free();
    configure(&daemon, &listening(&[new]));
    assert_eq!(daemon.cli(&["reload"]).await.code, 0);
    device.go_by(new);
    assert!(holds(&device).await);
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    assert!(TcpStream::connect(new).is_err() && TcpStream::connect(daemon.address()).is_err());
    assert_eq!(daemon.cli(&["lockdown", "--lift"]).await.code, 0);
    assert!(TcpStream::connect(daemon.address()).is_err());
    device.go_by(new);
    assert!(holds(&device).await);
}

#[tokio::test]
async fn lock_downs_and_reloads_at_once_leave_the_daemon_shut_whoever_came_first() {
    let daemon = configured(&listening(&["127.0.0.1:0".parse().unwrap()])).await;
    for _ in 0..8 {
        let new = free();
        configure(&daemon, &listening(&[new]));
        let (reloaded, locked) = tokio::join!(daemon.cli(&["reload"]), daemon.cli(&["lockdown"]));
        assert_eq!((reloaded.code, locked.code), (0, 0), "{reloaded:?} {locked:?}");
        assert!(TcpStream::connect(new).is_err());
        assert_eq!(daemon.cli(&["lockdown", "--lift"]).await.code, 0);
        assert!(TcpStream::connect(new).is_ok());
    }
}

#[tokio::test]
async fn limits_of_sessions_and_pairing_act_on_what_comes_next() {
    let listens = listening(&["127.0.0.1:0".parse().unwrap()]);
    let daemon = configured(&listens).await;
    daemon.owner().shell("sleep 600").await;
    let traffic = Traffic::at(&daemon).await;
    configure(
        &daemon,
        &format!("{listens}[sessions]\nmax = 1\n[pairing]\noffer_ttl = \"7s\"\n"),
    );
    let reloaded = daemon.cli(&["reload", "--json"]).await.json();
    assert_eq!(reloaded["degraded"], serde_json::json!([]), "{reloaded}");
    let refused = daemon.cli(&["new", "--json", "--", "true"]).await;
    assert_eq!(refused.json()["code"], "too_many_sessions", "{refused:?}");
    assert_eq!(daemon.owner().offer(Role::Viewer, false).await.expires_in, 7);
    assert!(traffic.end().await > 0);
}
