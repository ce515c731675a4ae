//! A device that has moved to another node.

use super::{
    Answer, Device, EcdsaKeyPair, KeyPair, PublicKey, TailnetIdentity, TestDevice, TestServer, WhoIsAnswer,
    json, key, node, proof, proof_of, prove, serve, show, whoami,
};

async fn bound(server: &TestServer, key: &EcdsaKeyPair) -> TestDevice {
    let public_key = PublicKey::from_slice(key.public_key().as_ref()).unwrap();
    let bound = |device| Device {
        tailnet: Some(node("n1")),
        public_key: Some(public_key),
        ..device
    };
    server.device_with(bound).await
}

async fn rebind(server: &TestServer, device: &TestDevice, body: &'static str) -> Answer {
    let path = format!("/v1/devices/{}/rebind", device.id);
    server.owner().await.post(&path, "application/json", body).await
}

fn node_of(server: &TestServer, device: &TestDevice) -> Option<String> {
    let devices = server.access.devices();
    let bound = devices.get(device.id).unwrap().tailnet.as_ref();
    bound.map(|bound| bound.node_id.clone())
}

fn with_access(device: &TestDevice, proven: &Answer) -> TestDevice {
    TestDevice {
        id: device.id,
        token: proven.json()["access_token"].as_str().unwrap().to_owned(),
    }
}

#[tokio::test]
async fn it_binds_itself_where_it_proves_its_key_next_and_what_it_had_open_elsewhere_closes() {
    let (server, tailnet) = serve().await;
    let key = key();
    let device = bound(&server, &key).await;
    tailnet.everybody_is_at("n2");
    assert_eq!(prove(&server, &device, &key).await.problem().1, "wrong_node");
    let allowed = rebind(&server, &device, "{}").await.json();
    assert_eq!(allowed["tailnet_node"], "n1", "until it comes");
    assert!(allowed["rebinds_until"].is_string());
    tailnet.everybody_is_at("n1");
    let here = with_access(&device, &prove(&server, &device, &key).await);
    let mut open = server.http1().await;
    assert_eq!(open.get("/v1/whoami", Some(&here)).await.status, 200);
    tailnet.everybody_is_at("n2");
    let there = with_access(&device, &prove(&server, &device, &key).await);
    assert_eq!(whoami(&server, &there).await.status, 200);
    open.closed().await;
    assert_eq!(node_of(&server, &device).as_deref(), Some("n2"));
    for elsewhere in ["n1", "n3"] {
        tailnet.everybody_is_at(elsewhere);
        assert_eq!(prove(&server, &device, &key).await.problem().1, "wrong_node");
    }
    let rows = server.access.store.audit_rows(50).await.unwrap();
    let said: Vec<_> = rows
        .iter()
        .filter(|row| ["device_may_rebind", "device_rebound"].contains(&&*row.action))
        .map(|row| (&*row.action, row.principal.clone()))
        .collect();
    let id = device.id.to_string();
    assert_eq!(
        said,
        [("device_may_rebind", "owner".to_owned()), ("device_rebound", id)]
    );
}

#[tokio::test]
async fn what_proves_nothing_binds_nothing() {
    let (server, tailnet) = serve().await;
    let (own, other) = (key(), key());
    let device = bound(&server, &own).await;
    tailnet.everybody_is_at("n1");
    let mut client = server.http1().await;
    let used = proof(&server, &device, &own, &mut client).await;
    assert_eq!(show(&mut client, &device, &used).await.status, 200);
    rebind(&server, &device, "{}").await;
    tailnet.everybody_is_at("n2");
    let replayed = show(&mut server.http1().await, &device, &used).await;
    assert_eq!(replayed.problem().1, "challenge_used");
    assert_eq!(prove(&server, &device, &other).await.problem().1, "bad_signature");
    assert_eq!(whoami(&server, &device).await.problem().1, "wrong_node");
    assert_eq!(node_of(&server, &device).as_deref(), Some("n1"));
    assert_eq!(prove(&server, &device, &own).await.status, 200, "it may still");
    assert_eq!(node_of(&server, &device).as_deref(), Some("n2"));
}

#[tokio::test]
async fn without_its_row_nothing_is_allowed_and_nothing_bound() {
    let (server, tailnet) = serve().await;
    let key = key();
    let device = bound(&server, &key).await;
    server.access.store.break_writes().await;
    assert_eq!(rebind(&server, &device, "{}").await.problem().1, "store_failed");
    tailnet.everybody_is_at("n2");
    assert_eq!(prove(&server, &device, &key).await.problem().1, "wrong_node");
    server.access.store.mend_writes().await;
    assert_eq!(rebind(&server, &device, "{}").await.status, 200);
    server.access.store.break_writes().await;
    assert_eq!(prove(&server, &device, &key).await.problem().1, "store_failed");
    assert_eq!(node_of(&server, &device).as_deref(), Some("n1"));
}

#[tokio::test]
async fn bound_to_no_node_it_comes_from_anywhere() {
    let (server, tailnet) = serve().await;
    let key = key();
    let device = bound(&server, &key).await;
    let freed = rebind(&server, &device, r#"{ "unbind": true }"#).await.json();
    assert!(freed["tailnet_node"].is_null());
    tailnet.everybody_is_at("n2");
    assert_eq!(prove(&server, &device, &key).await.status, 200);
    assert_eq!(node_of(&server, &device), None);
    let bearer = server.device_with(|device| device).await;
    let refused = rebind(&server, &bearer, "{}").await;
    assert_eq!(refused.problem(), (403, "device_without_key".to_owned()));
}

#[tokio::test]
async fn it_is_not_bound_to_a_node_that_an_invitation_alone_lets_in() {
    let (server, tailnet) = serve().await;
    let key = key();
    let device = bound(&server, &key).await;
    rebind(&server, &device, "{}").await;
    let wish = json!({ "sessions": ["ses_1"], "expires_in": 3600, "login": "alice@example.com" }).to_string();
    let mut owner = server.owner().await;
    let invited = owner.post("/v1/guests", "application/json", wish).await;
    assert_eq!(invited.status, 201);
    tailnet.everybody_is(WhoIsAnswer::Unlisted(TailnetIdentity {
        user: "alice@example.com".to_owned(),
        ..node("n2")
    }));
    let mut client = server.http1().await;
    let challenge = client.get("/v1/auth/challenge", None).await.json()["challenge"].clone();
    let proof = proof_of(&server, &device, &key, &challenge);
    let refused = show(&mut client, &device, &proof).await;
    assert_eq!(refused.problem(), (403, "guests_only".to_owned()));
    assert_eq!(node_of(&server, &device).as_deref(), Some("n1"));
}
