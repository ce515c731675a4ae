mod rebind;

use std::sync::Arc;

use http::{Method, StatusCode, header};
use http_body_util::Full;
use pairing::{Audience, Device, PublicKey, Scope, TailnetIdentity, proof_text};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, net::TcpStream};

use crate::{
    peer::WhoIsAnswer,
    router::Routes,
    testing::{Answer, Client, Tailnet, TestDevice, TestServer},
};

impl Tailnet {
    fn everybody_is_at(&self, name: &str) {
        self.everybody_is(WhoIsAnswer::Known(node(name)));
    }
}

fn node(name: &str) -> TailnetIdentity {
    TailnetIdentity {
        user_id: "u1".to_owned(),
        user: "alice".to_owned(),
        node_id: name.to_owned(),
        node: format!("{name}.example.ts.net"),
        tags: Vec::new(),
    }
}

async fn serve() -> (TestServer, Arc<Tailnet>) {
    TestServer::start_in_a_tailnet(Routes::new()).await
}

fn key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap()
}

/// Proves the key on a connection of its own.
async fn prove(server: &TestServer, device: &TestDevice, key: &EcdsaKeyPair) -> Answer {
    let mut client = server.http1().await;
    let proof = proof(server, device, key, &mut client).await;
    show(&mut client, device, &proof).await
}

/// The proof of a fresh challenge.
async fn proof(server: &TestServer, device: &TestDevice, key: &EcdsaKeyPair, client: &mut Client) -> Value {
    let challenge = client.get("/v1/whoami", None).await.json()["challenge"].clone();
    proof_of(server, device, key, &challenge)
}

fn proof_of(server: &TestServer, device: &TestDevice, key: &EcdsaKeyPair, challenge: &Value) -> Value {
    let audience = format!("pin:{}", server.pin);
    let parsed: Audience = audience.parse().unwrap();
    let text = proof_text(challenge.as_str().unwrap(), &parsed, device.id);
    let signature = key.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
    let signature = protocol::Bytes64(signature.as_ref().to_vec());
    json!({ "challenge": challenge, "audience": audience, "signature": signature })
}

async fn show(client: &mut Client, device: &TestDevice, proof: &Value) -> Answer {
    let request = client
        .request(Method::POST, "/v1/auth/proof")
        .header(header::AUTHORIZATION, format!("Bearer {}", device.token))
        .header(header::CONTENT_TYPE, "application/json");
    client
        .answer(request.body(Full::from(proof.to_string())).unwrap())
        .await
}

async fn whoami(server: &TestServer, device: &TestDevice) -> Answer {
    server.http1().await.get("/v1/whoami", Some(device)).await
}

#[tokio::test]
async fn a_device_that_is_bound_to_a_node_is_refused_on_every_route_from_another() {
    let (server, tailnet) = serve().await;
    let bound = |device| Device {
        tailnet: Some(node("n1")),
        ..device
    };
    let device = server.device_with(bound).await;
    let routes = crate::routes::routes().list();
    for route in routes.iter().filter(|route| route.scope != Scope::Public) {
        let path = route.path.replace("{id}", "dev_0000000000000000");
        tailnet.everybody_is_at("n2");
        let mut client = server.http1().await;
        let answer = client.ask(route.method.clone(), &path, Some(&device)).await;
        assert_eq!(answer.problem(), (403, "wrong_node".to_owned()), "{path}");
    }
    assert_eq!(server.access.connections().count_of(device.id), 0);
    tailnet.everybody_is_at("n1");
    assert_eq!(whoami(&server, &device).await.status, StatusCode::OK);
    let rows = server.access.store.audit_rows(50).await.unwrap();
    let refused: Vec<_> = rows.iter().filter(|row| row.action == "node_refused").collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(
        (refused[0].target.as_str(), &*refused[0].outcome),
        (device.id.to_string().as_str(), "wrong_node")
    );
}

#[tokio::test]
async fn an_access_token_of_a_bound_device_is_good_from_its_node_only() {
    let (server, tailnet) = serve().await;
    let key = key();
    let public_key = PublicKey::from_slice(key.public_key().as_ref()).unwrap();
    let bound = |device| Device {
        tailnet: Some(node("n1")),
        public_key: Some(public_key),
        ..device
    };
    let device = server.device_with(bound).await;
    tailnet.everybody_is_at("n2");
    let refused = prove(&server, &device, &key).await;
    assert_eq!(refused.problem(), (403, "wrong_node".to_owned()));
    tailnet.everybody_is_at("n1");
    let proven = prove(&server, &device, &key).await.json();
    let access = TestDevice {
        id: device.id,
        token: proven["access_token"].as_str().unwrap().to_owned(),
    };
    assert_eq!(whoami(&server, &access).await.status, StatusCode::OK);
    tailnet.everybody_is_at("n2");
    assert_eq!(
        whoami(&server, &access).await.problem(),
        (403, "wrong_node".to_owned())
    );
    tailnet.everybody_is(WhoIsAnswer::NotATailnet);
    assert_eq!(
        whoami(&server, &access).await.problem(),
        (403, "unknown_node".to_owned())
    );
    tailnet.everybody_is_at("n1");
    assert_eq!(whoami(&server, &access).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_bound_token_from_another_node_is_refused_as_such_and_the_trail_names_the_node() {
    let (server, tailnet) = serve().await;
    let key = key();
    let public_key = PublicKey::from_slice(key.public_key().as_ref()).unwrap();
    let bound = |device| Device {
        tailnet: Some(node("n1")),
        public_key: Some(public_key),
        ..device
    };
    let device = server.device_with(bound).await;
    tailnet.everybody_is_at("n2");
    let refused = whoami(&server, &device).await;
    assert_eq!(refused.problem(), (403, "wrong_node".to_owned()));
    tailnet.everybody_is_at("n1");
    let refused = whoami(&server, &device).await;
    assert_eq!(refused.problem(), (401, "proof_required".to_owned()));
    let rows = server.access.store.audit_rows(50).await.unwrap();
    let refused: Vec<_> = rows.iter().filter(|row| row.action == "node_refused").collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(
        refused[0].detail.as_deref(),
        Some("from n2.example.ts.net (n2) of alice")
    );
}

#[tokio::test]
async fn a_proof_that_was_used_takes_no_connection() {
    let (server, _) = serve().await;
    let key = key();
    let public_key = PublicKey::from_slice(key.public_key().as_ref()).unwrap();
    let keyed = |device| Device {
        public_key: Some(public_key),
        ..device
    };
    let device = server.device_with(keyed).await;
    let other = server.device_with(|device| device).await;
    let mut client = server.http1().await;
    let proof = proof(&server, &device, &key, &mut client).await;
    assert_eq!(show(&mut client, &device, &proof).await.status, StatusCode::OK);
    let mut fresh = server.http1().await;
    let replayed = show(&mut fresh, &device, &proof).await;
    assert_eq!(replayed.problem(), (401, "challenge_used".to_owned()));
    assert_eq!(fresh.get("/v1/whoami", Some(&other)).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_proof_on_the_connection_of_another_is_not_used_up() {
    let (server, _) = serve().await;
    let key = key();
    let public_key = PublicKey::from_slice(key.public_key().as_ref()).unwrap();
    let keyed = |device| Device {
        public_key: Some(public_key),
        ..device
    };
    let device = server.device_with(keyed).await;
    let other = server.device_with(|device| device).await;
    let mut client = server.http1().await;
    let proof = proof(&server, &device, &key, &mut client).await;
    client.get("/v1/whoami", Some(&other)).await;
    let refused = show(&mut client, &device, &proof).await;
    assert_eq!(refused.problem(), (421, "other_principal".to_owned()));
    let mut fresh = server.http1().await;
    assert_eq!(show(&mut fresh, &device, &proof).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_change_of_role_ends_access_tokens_and_the_next_proof_has_the_new_role() {
    let (server, _) = serve().await;
    let key = key();
    let public_key = PublicKey::from_slice(key.public_key().as_ref()).unwrap();
    let keyed = |device| Device {
        public_key: Some(public_key),
        ..device
    };
    let device = server.device_with(keyed).await;
    let access = async || {
        let proven = prove(&server, &device, &key).await.json();
        TestDevice {
            id: device.id,
            token: proven["access_token"].as_str().unwrap().to_owned(),
        }
    };
    let viewer = access().await;
    let role = pairing::Role::Operator;
    server.access.devices().set_role(device.id, role).unwrap();
    assert_eq!(
        whoami(&server, &viewer).await.problem(),
        (401, "access_ended".to_owned())
    );
    let operator = access().await;
    assert_eq!(whoami(&server, &operator).await.json()["role"], "operator");
}

#[tokio::test]
async fn a_peer_of_whom_the_tailnet_does_not_say_who_it_is_is_closed_unheard() {
    let (server, tailnet) = serve().await;
    tailnet.everybody_is(WhoIsAnswer::Refused);
    let mut stream = TcpStream::connect(server.tls).await.unwrap();
    // It reads nothing, so it cannot wait for anything of ours either.
    assert!(matches!(stream.read(&mut [0; 1]).await, Ok(0) | Err(_)));
    tailnet.everybody_is_at("n1");
    assert_eq!(
        server.http1().await.get("/v1/health", None).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn beyond_twenty_failures_a_peer_is_told_to_wait_and_what_is_right_still_opens() {
    let (server, _) = serve().await;
    let key = key();
    let public_key = PublicKey::from_slice(key.public_key().as_ref()).unwrap();
    let keyed = |device| Device {
        public_key: Some(public_key),
        ..device
    };
    let device = server.device_with(keyed).await;
    let plain = server.device_with(|device| device).await;
    let wrong = TestDevice {
        id: device.id,
        token: "tsm_dev_wrong".to_owned(),
    };
    for _ in 0..20 {
        assert_eq!(
            whoami(&server, &wrong).await.problem(),
            (401, "malformed_token".to_owned())
        );
    }
    for _ in 0..2 {
        let refused = whoami(&server, &wrong).await;
        assert_eq!(refused.problem(), (429, "too_many_failures".to_owned()));
        let wait: u32 = refused.headers[header::RETRY_AFTER]
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        assert!(
            refused.json()["challenge"].is_string(),
            "who has a key can prove it"
        );
    }
    let other_key = self::key();
    let refused = prove(&server, &device, &other_key).await;
    assert_eq!(refused.problem(), (429, "too_many_failures".to_owned()));
    assert_eq!(prove(&server, &device, &key).await.status, StatusCode::OK);
    assert_eq!(whoami(&server, &plain).await.status, StatusCode::OK);
    let nothing = server.http1().await.get("/v1/whoami", None).await;
    assert_eq!(nothing.problem(), (401, "unauthenticated".to_owned()));
}

#[tokio::test]
async fn the_auth_lane_says_which_token_it_wants() {
    let (server, _) = serve().await;
    let access = TestDevice {
        id: pairing::DeviceId::from_bytes([1; 8]),
        token: "tsm_acc_x".to_owned(),
    };
    let mut client = server.http1().await;
    let answer = show(
        &mut client,
        &access,
        &json!({ "challenge": "", "audience": "", "signature": "" }),
    )
    .await;
    assert_eq!(answer.problem(), (401, "malformed_token".to_owned()));
    assert!(answer.json()["hint"].as_str().unwrap().contains("tsm_dev_"));
}

#[tokio::test]
async fn a_head_has_no_body_on_either_protocol() {
    let (server, _) = serve().await;
    for mut client in [server.http1().await, server.http2().await] {
        for (path, status) in [("/v1/whoami", 401), ("/v1/nothing", 404), ("/v1/health", 200)] {
            let answer = client.ask(Method::HEAD, path, None).await;
            assert_eq!(answer.status, status, "{path}");
            assert!(answer.bytes.is_empty(), "{path}");
        }
    }
}

#[tokio::test]
async fn a_pairing_request_keeps_what_the_tailnet_says_of_its_peer() {
    let (server, tailnet) = serve().await;
    tailnet.everybody_is_at("n1");
    let wish = json!({ "label": "phone", "commitment": protocol::Bytes64(vec![7; 32]) }).to_string();
    let mut client = server.http1().await;
    let asked = client
        .post("/v1/pairing/requests", "application/json", wish)
        .await
        .json();
    let id = asked["request_id"].as_str().unwrap().parse().unwrap();
    let request = server
        .access
        .authority()
        .request_by_id(id, crate::clock::latest())
        .unwrap();
    assert_eq!(request.tailnet, Some(node("n1")));
}
