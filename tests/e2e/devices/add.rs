//! `POST /v1/devices`, and the devices that come of it.

use harness::{TestDaemon, TlsClient};
use pairing::Role;
use protocol::access::WhoAmI;
use serde_json::json;

use super::add;

#[tokio::test]
async fn a_device_without_a_key_is_a_plain_bearer_of_its_role_and_survives_a_restart() {
    let mut daemon = TestDaemon::start().await;
    let added = add(&daemon, Role::Operator).await;
    let token = added.token.expose();
    let client = TlsClient::new(daemon.address(), daemon.pin());
    let who: WhoAmI = client.get("/v1/whoami", Some(token)).await.ok();
    assert_eq!(
        (who.device_id, who.role),
        (Some(added.device_id), Some(Role::Operator))
    );
    assert!(!who.scopes.iter().any(|scope| scope.starts_with("device:")));
    daemon.kill_and_restart().await;
    let client = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(client.get("/v1/whoami", Some(token)).await.verdict(), "200");
    daemon.owner().revoke(added.device_id).await;
    assert_eq!(
        client.get("/v1/whoami", Some(token)).await.verdict(),
        "401 revoked"
    );
}

#[tokio::test]
async fn where_nothing_is_said_it_may_look_for_ninety_days_and_longer_is_refused() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let added = owner.post("/v1/devices", &json!({ "label": "ci" })).await;
    assert_eq!(added.status, 201, "{}", added.body);
    let device = &owner.devices().await[0];
    assert_eq!(
        (device.role, device.can_revoke, device.key_bound),
        (Role::Viewer, false, false)
    );
    let lives = device.expires_at.unwrap().duration_since(device.created_at);
    assert_eq!(lives.as_hours(), 90 * 24);
    for (expires_in, code) in [
        (90 * 86_400 + 1, "400 lives_too_long"),
        (0, "400 malformed_request"),
    ] {
        let wish = json!({ "label": "ci", "expires_in": expires_in });
        assert_eq!(owner.post("/v1/devices", &wish).await.verdict(), code);
    }
    let label = json!({ "label": "a\u{202e}b" });
    assert_eq!(
        owner.post("/v1/devices", &label).await.verdict(),
        "400 malformed_label"
    );
    assert_eq!(owner.devices().await.len(), 1);
}

#[tokio::test]
async fn no_offer_and_no_approval_makes_a_metrics_device() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let role = json!({ "role": "metrics" });
    assert_eq!(
        owner.post("/v1/pairing/offers", &role).await.verdict(),
        "400 malformed_request"
    );
    let mut device = daemon.pairing(Role::Viewer).await;
    device.ask().await;
    let approve = format!("/v1/pairing/requests/{}/approve", device.id());
    assert_eq!(
        owner.post(&approve, &role).await.verdict(),
        "400 malformed_request"
    );
}
