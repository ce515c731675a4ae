//! Offers: one device each, and dead afterwards.

use harness::{DaemonOptions, Pairing, TestDaemon, until};
use pairing::Role;
use protocol::pairing::{OfferMade, OfferView, PollStatus, RequestStatus};
use serde_json::json;

use super::{fragment, status};

#[tokio::test]
async fn an_offer_that_a_second_key_claims_belongs_to_the_first_which_goes_on() {
    let daemon = TestDaemon::start().await;
    let link = fragment(&daemon.owner().offer(Role::Viewer, false).await);
    let mut first = Pairing::with_fragment(&daemon, &link);
    let mut second = Pairing::with_fragment(&daemon, &link);
    second.request().await;
    first.ask().await;
    assert_eq!(second.reveal().await.verdict(), "409 offer_claimed");
    assert_eq!(status(&second.poll(0).await), PollStatus::AccessDenied);
    assert_eq!(
        daemon.owner().approve(second.id()).await.verdict(),
        "409 offer_claimed"
    );
    assert_eq!(
        daemon.owner().pairing_request(first.id()).await.state,
        RequestStatus::Pending
    );
    assert_eq!(daemon.owner().approve(first.id()).await.verdict(), "200");
    let exchanged = first.exchange().await;
    assert_eq!(first.try_commit(exchanged.token.expose()).await.verdict(), "204");
    assert_eq!(daemon.owner().devices().await.len(), 1);
}

#[tokio::test]
async fn the_same_key_that_asks_again_gets_the_same_request_and_its_former_secret_is_dead() {
    let daemon = TestDaemon::start().await;
    let mut device = daemon.pairing(Role::Viewer).await;
    let first = device.request().await;
    let lost = device.request_secret().to_owned();
    let code = device.ask().await;
    assert_eq!(device.id(), first);
    assert_ne!(device.request_secret(), lost);
    let path = format!("/v1/pairing/requests/{first}");
    let client = harness::TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(
        client.get(&path, Some(&lost)).await.verdict(),
        "401 unknown_request"
    );
    assert_eq!(
        daemon.owner().pairing_request(first).await.code,
        Some(code.to_string())
    );
}

#[tokio::test]
async fn five_wrong_secrets_burn_an_offer() {
    let daemon = TestDaemon::start().await;
    let link = fragment(&daemon.owner().offer(Role::Viewer, false).await);
    for guess in 1..=5 {
        let mut guesser = Pairing::with_fragment(&daemon, &with_secret(&link, guess));
        assert_eq!(
            guesser.try_request("a guesser").await.verdict(),
            "401 unknown_offer"
        );
    }
    let mut late = Pairing::with_fragment(&daemon, &link);
    assert_eq!(late.try_request("a phone").await.verdict(), "409 offer_burned");
    assert_eq!(offers(&daemon).await[0].state, "burned");
    let refused = Pairing::with_fragment(&daemon, &with_secret(&link, 1))
        .try_request("a guesser")
        .await;
    assert_eq!(
        refused.verdict(),
        "401 unknown_offer",
        "a guesser is not told what became of it"
    );
}

#[tokio::test]
async fn four_wrong_secrets_leave_an_offer_to_who_knows_the_right_one() {
    let daemon = TestDaemon::start().await;
    let link = fragment(&daemon.owner().offer(Role::Viewer, false).await);
    for guess in 1..=4 {
        Pairing::with_fragment(&daemon, &with_secret(&link, guess))
            .try_request("a guesser")
            .await
            .problem();
    }
    Pairing::with_fragment(&daemon, &link).finish(&daemon).await;
}

#[tokio::test]
async fn guesses_at_a_claimed_offer_do_not_stop_who_claimed_it() {
    let daemon = TestDaemon::start().await;
    let link = fragment(&daemon.owner().offer(Role::Viewer, false).await);
    let mut device = Pairing::with_fragment(&daemon, &link);
    device.ask().await;
    for guess in 1..=20 {
        Pairing::with_fragment(&daemon, &with_secret(&link, guess))
            .try_request("a guesser")
            .await
            .problem();
    }
    device.finish_revealed(&daemon).await;
}

#[tokio::test]
async fn an_offer_that_is_used_up_makes_no_second_device() {
    let daemon = TestDaemon::start().await;
    let link = fragment(&daemon.owner().offer(Role::Operator, false).await);
    let device = Pairing::with_fragment(&daemon, &link).finish(&daemon).await;
    let mut second = Pairing::with_fragment(&daemon, &link);
    assert_eq!(
        second.try_request("a second phone").await.verdict(),
        "409 offer_used"
    );
    assert_eq!(offers(&daemon).await[0].state, "used");
    assert_eq!(daemon.owner().devices().await.len(), 1);
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn an_offer_that_is_withdrawn_is_dead_and_paired_devices_are_untouched() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let offer = daemon.owner().offer(Role::Viewer, false).await;
    let mut waiting = Pairing::with_fragment(&daemon, &fragment(&offer));
    waiting.ask().await;
    let path = format!("/v1/pairing/offers/{}", offer.id);
    assert_eq!(
        daemon
            .owner()
            .request("DELETE", &path, None::<&()>)
            .await
            .verdict(),
        "204"
    );
    assert_eq!(status(&waiting.poll(0).await), PollStatus::AccessDenied);
    let mut late = Pairing::with_fragment(&daemon, &fragment(&offer));
    assert_eq!(late.try_request("a phone").await.verdict(), "409 offer_withdrawn");
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
    assert_eq!(daemon.owner().devices().await.len(), 1);
}

#[tokio::test]
async fn an_offer_that_expires_is_dead_and_paired_devices_are_untouched() {
    let config = "[pairing]\noffer_ttl = \"2s\"\n".to_owned();
    let daemon = TestDaemon::start_with(DaemonOptions {
        config,
        ..DaemonOptions::default()
    })
    .await;
    let device = daemon.device(Role::Viewer).await;
    let offer = daemon.owner().offer(Role::Viewer, false).await;
    until("the offer's end", || async {
        offers(&daemon)
            .await
            .into_iter()
            .find(|view| view.id == offer.id && view.state == "expired")
    })
    .await;
    let mut late = Pairing::with_fragment(&daemon, &fragment(&offer));
    assert_eq!(late.try_request("a phone").await.verdict(), "409 offer_expired");
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn an_offer_does_not_survive_a_restart() {
    let mut daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let link = fragment(&daemon.owner().offer(Role::Viewer, false).await);
    daemon.kill_and_restart().await;
    let mut late = Pairing::with_fragment(&daemon, &link);
    assert_eq!(late.try_request("a phone").await.verdict(), "401 unknown_offer");
    assert!(offers(&daemon).await.is_empty());
    let mut device = device;
    device.follow(&daemon);
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn what_the_owner_says_with_the_yes_stands_before_the_offer() {
    let daemon = TestDaemon::start().await;
    let mut device = Pairing::with_terms(&daemon, Role::Operator, true).await;
    device.ask().await;
    let path = format!("/v1/pairing/requests/{}/approve", device.id());
    let terms = json!({"role": "viewer", "can_revoke": false, "label": "kitchen", "expires_in": 3600});
    assert_eq!(daemon.owner().post(&path, &terms).await.verdict(), "200");
    let exchanged = device.exchange().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.verdict(), "204");
    let record = daemon.owner().devices().await.remove(0);
    assert_eq!(
        (record.role, record.can_revoke, record.label.as_str()),
        (Role::Viewer, false, "kitchen")
    );
    assert!(record.expires_at.is_some());
}

async fn offers(daemon: &TestDaemon) -> Vec<OfferView> {
    daemon.owner().get("/v1/pairing/offers").await.ok()
}

/// The link with another secret of the right shape.
pub(super) fn with_secret(link: &str, guess: u8) -> String {
    let parts: Vec<&str> = link.split('.').collect();
    let secret = serde_json::to_value(protocol::Bytes64(vec![guess; 32])).unwrap();
    [parts[0], secret.as_str().unwrap(), parts[2]].join(".")
}

#[tokio::test]
async fn an_offers_list_tells_no_secret() {
    let daemon = TestDaemon::start().await;
    let made: OfferMade = daemon.owner().offer(Role::Viewer, false).await;
    let link = fragment(&made);
    let secret = link.split('.').nth(1).unwrap();
    assert!(
        !daemon
            .owner()
            .get("/v1/pairing/offers")
            .await
            .body
            .contains(secret)
    );
}
