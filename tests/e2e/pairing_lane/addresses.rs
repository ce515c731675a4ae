//! Twenty addresses, hence twenty peers, in a network of the test's own: this needs root.

use std::net::Ipv4Addr;

use harness::{DaemonOptions, Pairing, TestDaemon, Tunnel, in_own_network};
use pairing::Role;
use protocol::pairing::{OfferView, PollStatus, RequestStatus, RequestView};

use super::{fragment, offers::with_secret, status};

#[test]
fn wrong_secrets_from_twenty_addresses_burn_an_offer_for_good() {
    in_own_network(&addresses(), async || {
        let mut daemon = TestDaemon::start_with(options()).await;
        let link = fragment(&daemon.owner().offer(Role::Viewer, false).await);
        let peers = peers(&daemon).await;
        // Two of each: of one peer alone so many would be too many failures.
        for guess in 1..=2 {
            for peer in &peers {
                let mut guesser = Pairing::with_fragment(&daemon, &with_secret(&link, guess)).through(peer);
                let refused = guesser.try_request("a guesser").await;
                assert_eq!(refused.verdict(), "401 unknown_offer");
            }
        }
        let offers: Vec<OfferView> = daemon.owner().get("/v1/pairing/offers").await.ok();
        assert_eq!(offers[0].state, "burned");
        let late = Pairing::with_fragment(&daemon, &link)
            .try_request("a phone")
            .await;
        assert_eq!(late.verdict(), "409 offer_burned");
        restart(&mut daemon).await;
        let late = Pairing::with_fragment(&daemon, &link)
            .try_request("a phone")
            .await;
        assert_eq!(late.verdict(), "401 unknown_offer");
        assert!(daemon.owner().devices().await.is_empty());
    });
}

#[test]
fn requests_from_twenty_addresses_keep_to_the_cap_an_offer_stands_outside_and_no_request_survives_a_restart()
{
    in_own_network(&addresses(), async || {
        let mut daemon = TestDaemon::start_with(options()).await;
        let peers = peers(&daemon).await;
        let mut asked = Vec::new();
        for peer in &peers {
            for _ in 0..2 {
                let mut device = Pairing::without_offer(daemon.address(), daemon.pin()).through(peer);
                device.ask().await;
                asked.push(device);
            }
            let mut third = Pairing::without_offer(daemon.address(), daemon.pin()).through(peer);
            let refused = third.try_request("a third").await;
            assert_eq!(refused.verdict(), "429 too_many_pending");
        }
        let waiting = pending(&daemon).await;
        assert_eq!(waiting.len(), 16);
        let newest = asked.last().unwrap();
        assert!(waiting.iter().any(|request| request.id == newest.id()));
        assert_eq!(status(&asked[0].poll(0).await), PollStatus::ExpiredToken);
        daemon.device(Role::Viewer).await;
        assert_eq!(pending(&daemon).await, waiting);
        restart(&mut daemon).await;
        assert_eq!(pending(&daemon).await, []);
        for device in &mut asked[38..] {
            device.follow(&daemon);
            assert_eq!(device.poll(0).await.verdict(), "401 unknown_request");
            let approved = daemon.owner().approve(device.id()).await;
            assert_eq!(approved.verdict(), "404 unknown_request");
        }
        assert_eq!(daemon.owner().devices().await.len(), 1);
    });
}

/// The daemon's, and those of twenty others.
fn addresses() -> Vec<Ipv4Addr> {
    (1..=21).map(|last| Ipv4Addr::new(192, 0, 2, last)).collect()
}

/// A daemon that is reached by an address, as one in a local network is.
fn options() -> DaemonOptions {
    DaemonOptions {
        config: "[listen]\ntls = [\"192.0.2.1:0\"]\ndangerous_allow_any_interface = true\n".to_owned(),
        listens_as_configured: true,
        ..DaemonOptions::default()
    }
}

/// A way to the daemon from each of the others.
async fn peers(daemon: &TestDaemon) -> Vec<Tunnel> {
    let mut peers = Vec::new();
    for address in &addresses()[1..] {
        peers.push(Tunnel::from(&address.to_string(), daemon.address()).await);
    }
    peers
}

async fn restart(daemon: &mut TestDaemon) {
    daemon.kill().await;
    daemon.start_again_with(&options()).await;
}

async fn pending(daemon: &TestDaemon) -> Vec<RequestView> {
    let mut requests: Vec<RequestView> = daemon.owner().get("/v1/pairing/requests").await.ok();
    requests.retain(|request| request.state == RequestStatus::Pending);
    requests
}
