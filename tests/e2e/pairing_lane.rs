//! `/v1/pairing/…`: the six steps, and what does not lead through them.

mod addresses;
mod crash;
mod offers;
mod words;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use harness::{Answer, Pairing, RawRequest, Relay, TestDaemon, TlsClient};
use pairing::Role;
use protocol::{
    access::WhoAmI,
    pairing::{Poll, PollStatus, RequestStatus},
};
use serde_json::json;

#[tokio::test]
async fn the_six_steps_make_a_device_and_both_sides_compute_the_same_code() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let mut device = daemon.pairing(Role::Viewer).await;
    let id = device.request().await;
    let seen = owner.pairing_request(id).await;
    assert_eq!((seen.state, seen.code), (RequestStatus::Pending, None));
    assert_eq!(device.reveal().await.verdict(), "204");
    let seen = owner.pairing_request(id).await;
    assert_eq!(seen.code, Some(device.code().to_string()));
    assert_eq!(seen.code.unwrap().len(), 6);
    assert_eq!(
        (seen.label.as_str(), seen.peer.as_str()),
        ("a test's phone", "127.0.0.1")
    );
    let approved = owner.approve(id).await;
    assert_eq!(approved.verdict(), "200");
    assert!(!approved.body.contains("tsm_"), "there is no token in the reply");
    let exchanged = device.exchange().await;
    assert_eq!(
        (exchanged.pin.as_str(), exchanged.role),
        (daemon.pin(), Role::Viewer)
    );
    assert_eq!(owner.pairing_request(id).await.state, RequestStatus::Exchanged);
    assert_eq!(device.try_commit(exchanged.token.expose()).await.verdict(), "204");
    let seen = owner.pairing_request(id).await;
    assert_eq!(
        (seen.state, seen.device_id),
        (RequestStatus::Committed, Some(exchanged.device_id))
    );
    let device = device.into_device(&exchanged);
    let who: WhoAmI = device.get("/v1/whoami").await.ok();
    assert_eq!((who.device_id, who.role), (Some(device.id()), Some(Role::Viewer)));
}

#[tokio::test]
async fn a_device_is_a_viewer_by_default_and_an_operator_by_the_offer() {
    let daemon = TestDaemon::start().await;
    let made = daemon.owner().post("/v1/pairing/offers", &json!({})).await.ok();
    let plain = Pairing::with_fragment(&daemon, &fragment(&made))
        .finish(&daemon)
        .await;
    let operator = daemon.device(Role::Operator).await;
    for (device, role) in [(&plain, Role::Viewer), (&operator, Role::Operator)] {
        let who: WhoAmI = device.get("/v1/whoami").await.ok();
        assert_eq!(who.role, Some(role));
    }
}

#[tokio::test]
async fn a_token_opens_nothing_and_nothing_is_stored_before_the_commit() {
    let daemon = TestDaemon::start().await;
    let device = approved(&daemon).await;
    let exchanged = device.exchange().await;
    let stranger = TlsClient::new(daemon.address(), daemon.pin());
    let token = exchanged.token.expose();
    assert_eq!(
        stranger.get("/v1/whoami", Some(token)).await.verdict(),
        "401 invalid_token"
    );
    assert!(daemon.owner().devices().await.is_empty());
    assert_eq!(stored_devices(&daemon), 0);
    assert_eq!(device.try_commit(token).await.verdict(), "204");
    assert_eq!(stored_devices(&daemon), 1);
    // From here on it is a device's; what it opens it opens together with the key.
    assert_eq!(
        stranger.get("/v1/whoami", Some(token)).await.verdict(),
        "401 proof_required"
    );
    let device = device.into_device(&exchanged);
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn asking_again_gives_a_token_that_works_and_kills_the_lost_one() {
    let daemon = TestDaemon::start().await;
    let device = approved(&daemon).await;
    let nonce = exchange_nonce(&device.poll(0).await);
    let lost: protocol::pairing::Exchanged = device.try_exchange(&nonce).await.ok();
    let kept: protocol::pairing::Exchanged = device.try_exchange(&nonce).await.ok();
    assert_eq!(lost.device_id, kept.device_id);
    assert_eq!(
        device.try_commit(lost.token.expose()).await.verdict(),
        "401 unknown_token"
    );
    assert_eq!(device.try_commit(kept.token.expose()).await.verdict(), "204");
    assert_eq!(
        device.try_commit(kept.token.expose()).await.verdict(),
        "204",
        "as after a lost answer"
    );
    assert_eq!(
        device.try_exchange(&nonce).await.verdict(),
        "409 already_committed"
    );
    let stranger = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(
        stranger
            .get("/v1/whoami", Some(lost.token.expose()))
            .await
            .verdict(),
        "401 invalid_token"
    );
    assert_eq!(daemon.owner().devices().await.len(), 1);
}

#[tokio::test]
async fn a_commit_before_the_exchange_or_with_anothers_token_never_commits() {
    let daemon = TestDaemon::start().await;
    let paired = daemon.device(Role::Operator).await;
    let other = approved(&daemon).await;
    let others = other.exchange().await;
    let device = approved(&daemon).await;
    for token in [paired.token(), others.token.expose()] {
        assert_eq!(
            device.try_commit(token).await.verdict(),
            "401 unknown_token",
            "before the exchange"
        );
    }
    assert_eq!(
        device.try_commit(device.request_secret()).await.verdict(),
        "401 malformed_token"
    );
    let exchanged = device.exchange().await;
    for token in [paired.token(), others.token.expose()] {
        assert_eq!(
            device.try_commit(token).await.verdict(),
            "401 unknown_token",
            "after the exchange"
        );
    }
    assert_eq!(daemon.owner().devices().await.len(), 1);
    assert_eq!(device.try_commit(exchanged.token.expose()).await.verdict(), "204");
    assert_eq!(other.try_commit(others.token.expose()).await.verdict(), "204");
}

#[tokio::test]
async fn a_rejected_device_is_told_and_never_gets_a_token() {
    let daemon = TestDaemon::start().await;
    let mut device = daemon.pairing(Role::Viewer).await;
    device.ask().await;
    assert_eq!(decide(&daemon, &device, "reject").await.verdict(), "204");
    let told: Poll = device.poll(25).await.ok();
    assert_eq!(
        (told.status, told.cause.as_deref()),
        (PollStatus::AccessDenied, Some("request_rejected"))
    );
    assert_eq!(device.try_exchange("0").await.verdict(), "409 request_rejected");
    assert_eq!(
        decide(&daemon, &device, "approve").await.verdict(),
        "409 request_rejected"
    );
    assert!(daemon.owner().devices().await.is_empty());
}

#[tokio::test]
async fn the_owner_is_told_the_end_of_a_request_that_its_device_was_told() {
    let daemon = TestDaemon::start().await;
    let mut device = daemon.pairing(Role::Viewer).await;
    device.ask().await;
    let seen = daemon.owner().pairing_request(device.id()).await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let left = seen.expires_at.as_second() - now.as_secs().cast_signed();
    assert!(
        device.expires_in().abs_diff(left.cast_unsigned()) < 60,
        "{left} s"
    );
}

#[tokio::test]
async fn a_no_takes_a_yes_back_until_the_commit_and_not_after_it() {
    let daemon = TestDaemon::start().await;
    let device = approved(&daemon).await;
    let exchanged = device.exchange().await;
    assert_eq!(decide(&daemon, &device, "reject").await.verdict(), "204");
    assert_eq!(
        device.try_commit(exchanged.token.expose()).await.verdict(),
        "401 unknown_token"
    );
    let device = approved(&daemon).await;
    let exchanged = device.exchange().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.verdict(), "204");
    assert_eq!(
        decide(&daemon, &device, "reject").await.verdict(),
        "409 already_committed"
    );
    assert_eq!(daemon.owner().devices().await.len(), 1);
}

#[tokio::test]
async fn approving_before_the_reveal_is_refused_and_approving_twice_gives_one_device() {
    let daemon = TestDaemon::start().await;
    let mut device = daemon.pairing(Role::Viewer).await;
    let id = device.request().await;
    assert_eq!(daemon.owner().approve(id).await.verdict(), "409 not_revealed");
    assert_eq!(device.reveal().await.verdict(), "204");
    assert_eq!(daemon.owner().approve(id).await.verdict(), "200");
    let first = exchange_nonce(&device.poll(25).await);
    assert_eq!(daemon.owner().approve(id).await.verdict(), "200");
    assert_eq!(
        exchange_nonce(&device.poll(25).await),
        first,
        "the second yes changed nothing"
    );
    let exchanged = device.exchange().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.verdict(), "204");
    assert_eq!(daemon.owner().devices().await.len(), 1);
}

#[tokio::test]
async fn an_operator_can_neither_approve_nor_offer_over_tls() {
    let daemon = TestDaemon::start().await;
    let operator = Pairing::with_terms(&daemon, Role::Operator, true)
        .await
        .finish(&daemon)
        .await;
    let mut device = daemon.pairing(Role::Operator).await;
    device.ask().await;
    for act in ["approve", "reject"] {
        let path = format!("/v1/pairing/requests/{}/{act}", device.id());
        assert_eq!(
            operator.post(&path, &json!({})).await.verdict(),
            "403 not_permitted"
        );
    }
    assert_eq!(
        operator.post("/v1/pairing/offers", &json!({})).await.verdict(),
        "403 not_permitted"
    );
    assert_eq!(
        operator.get("/v1/pairing/requests").await.verdict(),
        "403 not_permitted"
    );
    assert_eq!(
        daemon.owner().pairing_request(device.id()).await.state,
        RequestStatus::Pending
    );
}

#[tokio::test]
async fn a_poll_that_waits_is_answered_at_once_when_the_owner_decides() {
    let daemon = TestDaemon::start().await;
    for (act, expected) in [
        ("approve", PollStatus::Approved),
        ("reject", PollStatus::AccessDenied),
    ] {
        let mut device = daemon.pairing(Role::Viewer).await;
        device.ask().await;
        let begun = Instant::now();
        let (answer, decided) = tokio::join!(device.poll(25), async {
            // Another round trip, so that the poll is there before the answer.
            daemon.owner().pairing_request(device.id()).await;
            decide(&daemon, &device, act).await
        });
        assert_eq!(decided.status / 100, 2);
        assert_eq!(status(&answer), expected);
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "it waited its whole time"
        );
    }
}

#[tokio::test]
async fn polls_that_come_too_fast_are_told_so() {
    let daemon = TestDaemon::start().await;
    let mut device = daemon.pairing(Role::Viewer).await;
    device.ask().await;
    let first: Poll = device.poll(0).await.ok();
    let second: Poll = device.poll(0).await.ok();
    assert_eq!(
        (first.status, second.status),
        (PollStatus::AuthorizationPending, PollStatus::SlowDown)
    );
    assert!(second.interval > first.interval);
}

#[tokio::test]
async fn only_the_requests_own_secret_opens_it() {
    let daemon = TestDaemon::start().await;
    let mut device = daemon.pairing(Role::Viewer).await;
    let mut other = daemon.pairing(Role::Viewer).await;
    device.ask().await;
    other.ask().await;
    let client = TlsClient::new(daemon.address(), daemon.pin());
    let path = format!("/v1/pairing/requests/{}", device.id());
    let verdict = async |bearer: Option<&str>| client.get(&path, bearer).await.verdict();
    assert_eq!(verdict(None).await, "401 unauthenticated");
    assert_eq!(verdict(Some(other.request_secret())).await, "401 unknown_request");
    assert_eq!(verdict(Some("tsm_req_nonsense")).await, "401 malformed_token");
    let strange = client
        .get(
            "/v1/pairing/requests/req_0000000000000000",
            Some(other.request_secret()),
        )
        .await;
    assert_eq!(
        strange.verdict(),
        "401 unknown_request",
        "an unknown id answers as a wrong secret does"
    );
    // Nor does it open anything else.
    assert_eq!(
        client
            .get("/v1/whoami", Some(device.request_secret()))
            .await
            .verdict(),
        "401 malformed_token"
    );
}

#[tokio::test]
async fn a_reveal_of_what_was_not_committed_to_is_refused() {
    let daemon = TestDaemon::start().await;
    let mut device = daemon.pairing(Role::Viewer).await;
    let other = daemon.pairing(Role::Viewer).await;
    device.request().await;
    assert_eq!(
        device.reveal_as(&other).await.verdict(),
        "400 commitment_mismatch"
    );
    assert_eq!(device.reveal().await.verdict(), "204");
    assert_eq!(device.reveal_as(&other).await.verdict(), "409 already_revealed");
    assert_eq!(
        daemon.owner().pairing_request(device.id()).await.code,
        Some(device.code().to_string())
    );
}

#[tokio::test]
async fn an_exchange_needs_the_approved_keys_signature_over_this_exchange() {
    let daemon = TestDaemon::start().await;
    let device = approved(&daemon).await;
    let nonce = exchange_nonce(&device.poll(0).await);
    assert_eq!(
        device.try_exchange(&format!("{nonce}x")).await.verdict(),
        "401 bad_signature"
    );
    let other = approved(&daemon).await;
    let foreign = json!({
        "audience": format!("pin:{}", daemon.pin()),
        "signature": protocol::Bytes64(other.sign_exchange(device.id(), &nonce)),
    });
    let path = format!("/v1/pairing/requests/{}/exchange", device.id());
    let client = TlsClient::new(daemon.address(), daemon.pin());
    let answer = client.post(&path, Some(device.request_secret()), &foreign).await;
    assert_eq!(answer.verdict(), "401 bad_signature");
    assert_eq!(device.try_exchange(&nonce).await.verdict(), "200");
}

#[tokio::test]
async fn behind_a_relay_the_codes_differ_and_what_is_signed_does_not_verify() {
    let daemon = TestDaemon::start().await;
    let relay = Relay::to(&daemon).await;
    let mut victim = Pairing::without_offer(relay.address(), relay.pin());
    let shown = victim.ask().await;
    let owner = daemon.owner();
    assert_ne!(
        owner.pairing_request(victim.id()).await.code,
        Some(shown.to_string())
    );
    // Even an owner who does not compare gives the relay nothing.
    assert_eq!(owner.approve(victim.id()).await.verdict(), "200");
    let nonce = exchange_nonce(&victim.poll(25).await);
    assert_eq!(victim.try_exchange(&nonce).await.verdict(), "401 wrong_audience");
    // And whoever knows the pin, as from an offer, does not even begin.
    let careful = TlsClient::new(relay.address(), daemon.pin());
    let refused = careful.build("GET", "/v1/health", None, None::<&()>).send().await;
    assert!(refused.unwrap_err().is_connect());
}

#[tokio::test]
async fn one_peer_has_two_requests_without_an_offer_and_an_offer_stands_outside_of_that() {
    let daemon = TestDaemon::start().await;
    let without = || Pairing::without_offer(daemon.address(), daemon.pin());
    let mut first = without();
    first.ask().await;
    without().request().await;
    let refused = without().try_request("a third").await;
    assert_eq!(refused.verdict(), "429 too_many_pending");
    assert!(refused.problem().retry_after.is_some());
    assert_eq!(
        refused.headers["retry-after"],
        refused.problem().retry_after.unwrap().to_string()
    );
    daemon.device(Role::Viewer).await;
    // Those who waited wait on.
    assert_eq!(daemon.owner().approve(first.id()).await.verdict(), "200");
    let exchanged = first.exchange().await;
    assert_eq!(first.try_commit(exchanged.token.expose()).await.verdict(), "204");
}

#[tokio::test]
async fn a_request_without_a_key_is_no_request() {
    let daemon = TestDaemon::start().await;
    let host = daemon.address().to_string();
    for body in [
        json!({"label": "phone"}),
        json!({"label": "phone", "commitment": ""}),
        json!([]),
    ] {
        let request = RawRequest::new("POST", "/v1/pairing/requests")
            .header("Host", &host)
            .json(&body);
        let answer = request.over_tls(daemon.address(), daemon.pin()).await;
        assert_eq!(answer.verdict(), "400 malformed_request", "{body}");
    }
}

/// A device that the owner has said yes to.
async fn approved(daemon: &TestDaemon) -> Pairing {
    let mut device = daemon.pairing(Role::Viewer).await;
    device.ask().await;
    assert_eq!(daemon.owner().approve(device.id()).await.verdict(), "200");
    device
}

async fn decide(daemon: &TestDaemon, device: &Pairing, act: &str) -> Answer {
    daemon
        .owner()
        .post(&format!("/v1/pairing/requests/{}/{act}", device.id()), &json!({}))
        .await
}

/// What an offer's link holds behind its `#`.
fn fragment(offer: &protocol::pairing::OfferMade) -> String {
    offer
        .url
        .expose()
        .split_once('#')
        .expect("a link has a fragment")
        .1
        .to_owned()
}

fn status(answer: &Answer) -> PollStatus {
    answer.ok::<Poll>().status
}

fn exchange_nonce(answer: &Answer) -> String {
    answer
        .ok::<Poll>()
        .exchange_nonce
        .expect("the request is approved")
}

/// How many devices are on the disk, whatever the daemon says.
fn stored_devices(daemon: &TestDaemon) -> u32 {
    let store = rusqlite::Connection::open(daemon.folder().join("transom.db")).unwrap();
    store
        .query_row("SELECT count(*) FROM devices", [], |row| row.get(0))
        .unwrap()
}
