//! Whoever ends TLS in between, and the key that a daemon shows.

use harness::{Elsewhere, Relay, TestDaemon, Tunnel};
use pairing::Role;
use protocol::access::DeviceRecord;

#[tokio::test]
async fn a_relay_with_its_own_certificate_hears_nothing_from_a_paired_machine() {
    let daemon = TestDaemon::start().await;
    let elsewhere = Elsewhere::paired_with(&daemon, Role::Operator).await;
    let relay = Relay::to(&daemon).await;
    elsewhere.go_by(relay.address());
    for verb in [
        &["ls"][..],
        &["whoami"],
        &["new", "cat"],
        &["remote", "rm", "desk"],
    ] {
        let refused = match verb[0] {
            "remote" => elsewhere.cli(verb).await,
            _ => elsewhere.on_desk(verb).await,
        };
        assert_eq!(refused.code, 4, "{verb:?}: {refused:?}");
        assert!(
            refused.stderr.contains(relay.pin()) && refused.stderr.contains("transom remote rm --forget"),
            "{refused:?}"
        );
    }
    assert_eq!(relay.heard(), "");
}

#[tokio::test]
async fn a_relay_hears_nothing_of_an_offer_whose_link_leads_to_it() {
    let daemon = TestDaemon::start().await;
    let (elsewhere, relay) = (Elsewhere::new(), Relay::to(&daemon).await);
    let link = Elsewhere::link(&daemon, Role::Operator, relay.address()).await;
    let refused = elsewhere.cli_with(&["remote", "add", "-"], &link).await;
    assert_eq!(refused.code, 4, "{refused:?}");
    assert_eq!(relay.heard(), "");
}

#[tokio::test]
async fn a_relay_that_was_trusted_at_first_sight_shows_other_digits_and_gets_no_token() {
    let daemon = TestDaemon::start().await;
    let (elsewhere, relay) = (Elsewhere::new(), Relay::to(&daemon).await);
    let address = relay.address().to_string();
    let arguments = ["remote", "add", "--name", "desk", "--yes", &address];
    // Even an owner who does not compare lets nobody in.
    let (refused, seen) = tokio::join!(elsewhere.cli(&arguments), async {
        let request = daemon.owner().asked().await;
        daemon.owner().approve(request.id).await;
        request
    });
    assert_ne!(refused.code, 0, "{refused:?}");
    let code: pairing::PairingCode = seen.code.unwrap().parse().unwrap();
    assert!(!refused.stderr.contains(&code.grouped()), "{refused:?}");
    let heard = relay.heard();
    assert!(
        heard.contains("/exchange") && !heard.contains("tsm_dev_"),
        "{heard}"
    );
    let devices: Vec<DeviceRecord> = daemon.owner().devices().await;
    assert!(devices.is_empty() && !elsewhere.desk_file().exists());
}

#[tokio::test]
async fn a_daemon_with_a_new_key_is_refused_until_it_is_added_again() {
    let daemon = TestDaemon::start().await;
    let elsewhere = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let other = TestDaemon::start().await;
    elsewhere.go_by(other.address());
    let json = elsewhere.on_desk(&["ls", "--json"]).await;
    assert_eq!(
        (json.code, json.json()["code"].as_str()),
        (4, Some("wrong_pin")),
        "{json:?}"
    );
    assert!(json.stdout.contains(daemon.pin()) && json.stdout.contains(other.pin()));
}

#[tokio::test]
async fn every_connection_asks_for_the_identity_by_its_own_name() {
    let daemon = TestDaemon::start().await;
    let tunnel = Tunnel::to(daemon.address()).await;
    let elsewhere = Elsewhere::paired_by(&daemon, Role::Operator, tunnel.address()).await;
    let first_sight = elsewhere
        .cli(&["remote", "add", &tunnel.address().to_string()])
        .await;
    assert_eq!(first_sight.code, 2, "{first_sight:?}");
    let run = elsewhere.on_desk(&["run", "--", "echo", "over the tunnel"]).await;
    assert_eq!((run.code, run.stdout.trim()), (0, "over the tunnel"), "{run:?}");
    let hellos = tunnel.first_bytes();
    assert!(hellos.len() >= 4);
    let name = certs::IDENTITY_SERVER_NAME.as_bytes();
    for hello in hellos {
        assert!(hello.windows(name.len()).any(|window| window == name));
    }
}
