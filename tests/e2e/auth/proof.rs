//! Who is believed to have a device's key.

use harness::{Relay, TestDaemon, TlsClient};
use pairing::Role;
use protocol::access::{PrincipalKind, Proven};

use super::audited;
use crate::devices::{add, bind_to_a_node};

#[tokio::test]
async fn a_device_token_without_the_key_opens_the_auth_lane_and_nothing_else() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Operator).await;
    let stolen = TlsClient::new(daemon.address(), daemon.pin());
    for path in ["/v1/whoami", "/v1/sessions", "/v1/devices/self", "/v1/events"] {
        let answer = stolen.get(path, Some(device.token())).await;
        assert_eq!(answer.verdict(), "401 proof_required", "{path}");
    }
    let signed_out = stolen
        .request("DELETE", "/v1/devices/self", Some(device.token()), None::<&()>)
        .await;
    assert_eq!(signed_out.verdict(), "401 proof_required");
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn a_key_without_its_own_token_proves_nothing() {
    let mut daemon = TestDaemon::start().await;
    let (one, two) = (
        daemon.device(Role::Viewer).await,
        daemon.device(Role::Viewer).await,
    );
    let client = TlsClient::new(daemon.address(), daemon.pin());
    let challenge = one.challenge().await;
    let pin = format!("pin:{}", daemon.pin());
    let own = one.proof(&challenge);
    let without = client.post("/v1/auth/proof", None, &own).await;
    assert_eq!(without.verdict(), "401 unauthenticated");
    // The key of one, and the token of two: whomever the signature names.
    for proof in [own.clone(), one.proof_for(&challenge, &pin, two.id())] {
        let answer = client.post("/v1/auth/proof", Some(two.token()), &proof).await;
        assert_eq!(answer.verdict(), "401 bad_signature");
    }
    // An access token is not what a proof needs besides the key.
    let access = one.access().await;
    let answer = client.post("/v1/auth/proof", Some(&access), &own).await;
    assert_eq!(answer.verdict(), "401 malformed_token");
    assert_eq!(one.prove(&own).await.verdict(), "200");
    let refused = (
        "proof_refused".to_owned(),
        two.id().to_string(),
        "bad_signature".to_owned(),
    );
    // One row a minute, whoever tries how often.
    assert_eq!(
        audited(&mut daemon)
            .await
            .iter()
            .filter(|row| **row == refused)
            .count(),
        1
    );
}

#[tokio::test]
async fn every_401_of_a_listener_carries_a_challenge_and_no_other_answer_does() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let client = TlsClient::new(daemon.address(), daemon.pin());
    let poll = "/v1/pairing/requests/req_0000000000000000";
    for (path, bearer) in [
        ("/v1/whoami", None),
        ("/v1/whoami", Some("nonsense")),
        ("/v1/whoami", Some(device.token())),
        (
            "/v1/sessions/ses_0000000000000000/attach?mode=view&from=screen",
            Some("tsm_acc_x"),
        ),
        (poll, None),
    ] {
        let answer = client.get(path, bearer).await;
        assert_eq!(answer.status, 401, "{path}");
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
        let challenge = answer.problem().challenge.unwrap();
        // Any of them is as good as another.
        assert_eq!(device.prove(&device.proof(&challenge)).await.verdict(), "200");
    }
    for path in ["/v1/devices", "/v1/nothing"] {
        assert_eq!(device.get(path).await.problem().challenge, None);
    }
    let local = daemon.owner().get(poll).await;
    assert_eq!((local.status, local.problem().challenge), (401, None));
}

#[tokio::test]
async fn a_proof_gives_a_token_for_fifteen_minutes_and_the_challenge_of_the_next_proof() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let mut challenge = device.challenge().await;
    for _ in 0..3 {
        let proof = device.proof(&challenge);
        let proven: Proven = device.prove(&proof).await.ok();
        assert_eq!(
            (proven.expires_in, proven.principal),
            (900, PrincipalKind::Device)
        );
        let opened = device
            .client()
            .get("/v1/whoami", Some(proven.access_token.expose()))
            .await;
        assert_eq!(opened.verdict(), "200");
        let again = device.prove(&proof).await;
        assert_eq!(again.verdict(), "401 challenge_used");
        challenge = proven.challenge;
    }
    for foreign in ["", "nonsense", &challenge[1..]] {
        let answer = device.prove(&device.proof(foreign)).await;
        assert_eq!(answer.verdict(), "401 unknown_challenge");
    }
}

#[tokio::test]
async fn a_relay_that_ends_tls_gets_nothing_from_what_a_native_client_signs() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Operator).await;
    let relay = Relay::to(&daemon).await;
    // One that checks its pin does not even ask.
    let careful = TlsClient::new(relay.address(), daemon.pin());
    assert!(
        careful
            .build("GET", "/v1/health", None, None::<&()>)
            .send()
            .await
            .is_err()
    );
    // One that does not signs the key that it sees, and the relay passes challenge, proof and token on.
    let careless = TlsClient::new(relay.address(), relay.pin());
    let refused = careless.get("/v1/whoami", None).await;
    let challenge = refused.problem().challenge.unwrap();
    let seen = format!("pin:{}", relay.pin());
    let proof = device.proof_for(&challenge, &seen, device.id());
    let answer = careless
        .post("/v1/auth/proof", Some(device.token()), &proof)
        .await;
    assert_eq!(answer.verdict(), "401 wrong_audience");
    let mut renamed = proof;
    renamed.audience = format!("pin:{}", daemon.pin());
    let answer = careless
        .post("/v1/auth/proof", Some(device.token()), &renamed)
        .await;
    assert_eq!(answer.verdict(), "401 bad_signature");
}

#[tokio::test]
async fn a_page_signs_the_origin_that_it_was_loaded_from_and_no_other() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let port = daemon.address().port();
    for (audience, verdict) in [
        (format!("origin:https://127.0.0.1:{port}"), "200"),
        // The near end of a tunnel has any port.
        ("origin:https://localhost:9000".to_owned(), "200"),
        ("origin:https://evil.example".to_owned(), "401 wrong_audience"),
        (format!("origin:https://127.0.0.2:{port}"), "401 wrong_audience"),
    ] {
        let challenge = device.challenge().await;
        let proof = device.proof_for(&challenge, &audience, device.id());
        assert_eq!(device.prove(&proof).await.verdict(), verdict, "{audience}");
    }
    let mut proof = device.proof(&device.challenge().await);
    proof.audience = "origin:null".to_owned();
    assert_eq!(device.prove(&proof).await.verdict(), "400 malformed_audience");
}

#[tokio::test]
async fn a_device_that_is_bound_to_a_node_is_refused_where_nodes_are_not_known() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.device(Role::Viewer).await;
    bind_to_a_node(&mut daemon, device.id()).await;
    device.follow(&daemon);
    for _ in 0..3 {
        assert_eq!(device.get("/v1/whoami").await.verdict(), "403 unknown_node");
    }
    assert_eq!(daemon.owner().devices().await.len(), 1, "the device is untouched");
    let refused = (
        "node_refused".to_owned(),
        device.id().to_string(),
        "unknown_node".to_owned(),
    );
    assert_eq!(
        audited(&mut daemon)
            .await
            .iter()
            .filter(|row| **row == refused)
            .count(),
        1
    );
}

#[tokio::test]
async fn a_device_without_a_key_has_nothing_to_prove_and_the_owners_socket_neither() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let added = add(&daemon, Role::Viewer).await;
    let proof = device.proof(&device.challenge().await);
    let client = TlsClient::new(daemon.address(), daemon.pin());
    let answer = client
        .post("/v1/auth/proof", Some(added.token.expose()), &proof)
        .await;
    assert_eq!(answer.verdict(), "400 no_device_key");
    let local = daemon.owner().post("/v1/auth/proof", &proof).await;
    assert_eq!(local.verdict(), "400 malformed_request");
}
