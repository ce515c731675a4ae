//! Another list of who may come, while they are there.

use harness::{DaemonOptions, Tailscaled, TestDaemon, Tunnel, until};
use protocol::{
    access::Status,
    attach::Mode,
    condition::{DegradedKind, TailnetProblemKind},
};

use super::{BOB, NODE, PHONE, attached_phone, listener_at, paired, says, shut_out, status, tailnet};

/// Why the daemon is not as it is configured.
fn degraded_of(status: &Status) -> String {
    let degraded: Vec<&str> = status.degraded.iter().map(|one| &*one.detail).collect();
    degraded.join(" ")
}

/// Takes up another configuration.
async fn reload(daemon: &TestDaemon, config: &str) {
    std::fs::write(daemon.folder().join("config.toml"), config).unwrap();
    daemon.cli(&["reload"]).await;
}

#[tokio::test]
async fn who_is_taken_off_the_list_while_attached_is_closed_and_types_nothing_more_and_others_stay() {
    let tailscaled = tailnet();
    let both = r#"["self", "bob@example.com"]"#;
    let daemon = tailscaled.daemon(both).await;
    let at = listener_at(&daemon, NODE).await;
    let (alice, bob) = (Tunnel::from(PHONE, at).await, Tunnel::from(BOB, at).await);
    let (alices, bobs) = (paired(&daemon, &alice).await, paired(&daemon, &bob).await);
    let local = daemon.device(pairing::Role::Operator).await;
    let session = daemon.owner().shell("cat").await;
    let mut stays = alices.attach(&session.id, Mode::Write, "0").await;
    let mut near = local.attach(&session.id, Mode::View, "0").await;
    let mut goes = bobs.attach(&session.id, Mode::Write, "0").await;
    goes.send_input(b"before\n").await;
    near.until("before").await;
    reload(&daemon, &tailscaled.config(r#"["self"]"#)).await;
    goes.send_input(b"never\n").await;
    goes.until_closed().await;
    stays.send_input(b"after\n").await;
    stays.until("after").await;
    near.until("after").await;
    assert!(!near.text().contains("never"), "{}", near.text());
    shut_out(BOB, at).await;
    // And whoever is put on it again comes again, with what they had.
    reload(&daemon, &tailscaled.config(both)).await;
    assert_eq!(bobs.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn what_is_switched_off_closes_at_once_and_what_waits_for_a_restart_says_so() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let mut phone = attached_phone(&daemon, Mode::Write).await;
    let elsewhere = tailscaled
        .config(r#"["self"]"#)
        .replace("tailscaled.sock", "another.sock");
    reload(&daemon, &elsewhere).await;
    let degraded = status(&daemon).await.degraded;
    assert_eq!(degraded[0].kind, DegradedKind::AwaitsRestart, "{degraded:?}");
    assert!(degraded[0].detail.contains("tailnet.socket"), "{degraded:?}");
    phone.attached.send_input(b"still here\n").await;
    phone.attached.until("still here").await;
    reload(&daemon, &tailscaled.config("[]")).await;
    phone.attached.until_closed().await;
    let said = async || {
        says(&daemon, TailnetProblemKind::NobodyAllowed)
            .await
            .then_some(())
    };
    until("the status to say so", said).await;
}

fn free_at(address: &str) -> u16 {
    let listener = std::net::TcpListener::bind((address, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn listening(tailscaled: &Tailscaled, tls: &str) -> String {
    let tailnet = tailscaled.config(r#"["self"]"#);
    format!("[listen]\ntls = [\"{tls}\"]\ndangerous_allow_any_interface = true\n{tailnet}")
}

async fn configured(config: String) -> TestDaemon {
    TestDaemon::start_with(DaemonOptions {
        config,
        listens_as_configured: true,
        ..DaemonOptions::default()
    })
    .await
}

#[tokio::test]
async fn a_listener_of_the_tailnet_may_become_one_of_all_addresses_at_the_same_port_and_come_back() {
    let tailscaled = tailnet();
    let port = free_at("0.0.0.0");
    let [near, all] = [format!("tailnet:{port}"), format!("0.0.0.0:{port}")];
    let daemon = configured(listening(&tailscaled, &near)).await;
    listener_at(&daemon, NODE).await;
    std::fs::write(daemon.folder().join("config.toml"), listening(&tailscaled, &all)).unwrap();
    let reloaded = daemon.cli(&["reload"]).await;
    assert_eq!(reloaded.code, 0, "{reloaded:?}");
    let open = |status: &Status| status.tls.iter().map(|at| at.address.clone()).collect::<Vec<_>>();
    assert_eq!(open(&status(&daemon).await), [all]);
    std::fs::write(daemon.folder().join("config.toml"), listening(&tailscaled, &near)).unwrap();
    assert_eq!(daemon.cli(&["reload"]).await.code, 0);
    assert_eq!(open(&status(&daemon).await), [format!("{NODE}:{port}")]);
}

#[tokio::test]
async fn a_listener_of_the_tailnet_stays_where_what_shall_be_in_its_place_cannot_be_bound_and_that_is_said() {
    let tailscaled = tailnet();
    // At all addresses: nobody else has the port at one of them.
    let taken = std::net::TcpListener::bind(("0.0.0.0", 0)).unwrap();
    let wanted = taken.local_addr().unwrap().port();
    let daemon = configured(listening(&tailscaled, "tailnet:0")).await;
    let at = listener_at(&daemon, NODE).await;
    let tunnel = Tunnel::from(PHONE, at).await;
    let device = paired(&daemon, &tunnel).await;
    for elsewhere in [format!("tailnet:{wanted}"), format!("0.0.0.0:{wanted}")] {
        std::fs::write(
            daemon.folder().join("config.toml"),
            listening(&tailscaled, &elsewhere),
        )
        .unwrap();
        let reloaded = daemon.cli(&["reload"]).await;
        assert_eq!(reloaded.code, 1, "{reloaded:?}");
        let status = status(&daemon).await;
        assert!(degraded_of(&status).contains(&wanted.to_string()), "{status:?}");
        assert_eq!(status.tailnet.unwrap().listeners, [at.to_string()]);
        assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
    }
    drop(taken);
    assert_eq!(daemon.cli(&["reload"]).await.code, 0);
    let status = status(&daemon).await;
    assert!(status.degraded.is_empty() && status.tailnet.unwrap().listeners.is_empty());
    assert!(std::net::TcpStream::connect(at).is_err());
}

#[tokio::test]
async fn a_listener_of_the_tailnet_closes_for_an_address_of_a_network_though_that_cannot_be_bound() {
    let tailscaled = tailnet();
    let daemon = configured(listening(&tailscaled, "tailnet:0")).await;
    let at = listener_at(&daemon, NODE).await;
    // Of TEST-NET-1 (RFC 5737): no machine has it.
    let elsewhere = listening(&tailscaled, "192.0.2.1:7443");
    std::fs::write(daemon.folder().join("config.toml"), elsewhere).unwrap();
    let reloaded = daemon.cli(&["reload"]).await;
    assert_eq!(reloaded.code, 1, "{reloaded:?}");
    assert!(std::net::TcpStream::connect(at).is_err());
    let status = status(&daemon).await;
    assert!(degraded_of(&status).contains("192.0.2.1:7443"), "{status:?}");
    assert_eq!(status.tailnet.unwrap().listeners, [""; 0]);
}

#[tokio::test]
async fn the_last_listener_stays_until_the_restart_that_what_shall_be_in_its_place_waits_for() {
    let tailscaled = tailnet();
    let daemon = configured("[listen]\ntls = [\"127.0.0.1:0\"]\n".to_owned()).await;
    let device = daemon.device(pairing::Role::Viewer).await;
    let tailnet = tailscaled.config(r#"["self"]"#);
    for wanted in ["tailnet:0", "100.64.0.5:7443"] {
        let config = format!("[listen]\ntls = [\"{wanted}\"]\n{tailnet}");
        std::fs::write(daemon.folder().join("config.toml"), config).unwrap();
        let reloaded = daemon.cli(&["reload"]).await;
        let waits = reloaded.stderr.lines().all(|line| line.starts_with("warning: "));
        assert!(
            waits && reloaded.stderr.contains("waits for a restart"),
            "{reloaded:?}"
        );
        assert_eq!(device.get("/v1/whoami").await.verdict(), "200", "{wanted}");
        assert_eq!(status(&daemon).await.tls.len(), 1);
    }
}

#[tokio::test]
async fn an_address_that_looks_like_a_tailnets_and_is_not_this_machines_needs_the_dangerous_flag() {
    let mut tailscaled = tailnet();
    let tailnet = tailscaled.config(r#"["self"]"#);
    let listening = |tls: &str| format!("[listen]\ntls = [\"{tls}\"]\n{tailnet}");
    let mut daemon = configured(listening("127.0.0.1:0")).await;
    let config = daemon.folder().join("config.toml");
    std::fs::write(&config, listening("100.64.77.1:7443")).unwrap();
    let reloaded = daemon.cli(&["reload"]).await;
    assert!(
        reloaded.stderr.contains("dangerous_allow_any_interface"),
        "{reloaded:?}"
    );
    daemon.kill().await;
    let refused = daemon.cli(&["up"]).await;
    assert_eq!(refused.code, 64, "{refused:?}");
    assert!(refused.stderr.contains("write tailnet:7443"), "{refused:?}");
    // Nor where nobody says whose it is.
    tailscaled.kill().await;
    let refused = daemon.cli(&["up"]).await;
    assert!(
        refused.code == 1 && refused.stderr.contains("cannot be told"),
        "{refused:?}"
    );
    // Its own it may have, which this machine does not, as it happens.
    tailscaled.move_to(&["100.64.77.1"]);
    tailscaled.start_again();
    let refused = daemon.cli(&["up"]).await;
    assert!(refused.stderr.contains("cannot be bound"), "{refused:?}");
}

#[tokio::test]
async fn its_listener_comes_and_goes_with_the_configuration_and_touches_no_other() {
    let tailscaled = tailnet();
    let listening = |tls: &str| format!("[listen]\ntls = {tls}\n{}", tailscaled.config(r#"["self"]"#));
    let (both, near) = (
        listening(r#"["127.0.0.1:0", "tailnet:0"]"#),
        listening(r#"["127.0.0.1:0"]"#),
    );
    let daemon = TestDaemon::start_with(DaemonOptions {
        config: both.clone(),
        listens_as_configured: true,
        ..DaemonOptions::default()
    })
    .await;
    let at = listener_at(&daemon, NODE).await;
    let phone = Tunnel::from(PHONE, at).await;
    let (device, local) = (
        paired(&daemon, &phone).await,
        daemon.device(pairing::Role::Operator).await,
    );
    let session = daemon.owner().shell("cat").await;
    let mut over = device.attach(&session.id, Mode::Write, "0").await;
    let mut stays = local.attach(&session.id, Mode::Write, "0").await;
    reload(&daemon, &near).await;
    over.until_closed().await;
    assert_eq!(status(&daemon).await.tls.len(), 1);
    stays.send_input(b"still here\n").await;
    stays.until("still here").await;
    reload(&daemon, &both).await;
    let again = Tunnel::from(PHONE, listener_at(&daemon, NODE).await).await;
    paired(&daemon, &again).await;
    stays.send_input(b"and after\n").await;
    stays.until("and after").await;
}
