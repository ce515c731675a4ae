//! Credentials that are not right: beyond twenty a minute from one peer they are refused as too many, and nothing else is.

use harness::{Answer, Device, DeviceKey, Invitation, TestDaemon, TlsClient};
use pairing::{AccessId, AccessToken, DeviceId, DeviceToken, OfferId, Role};
use protocol::{
    Bytes64,
    attach::{CLOSE_REVOKED, CLOSE_TOO_MANY},
};
use serde_json::json;
use server::random::rng;

#[tokio::test]
async fn wrong_credentials_of_every_kind_count_together_and_who_is_right_notices_nothing() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("sleep 600").await;
    let device = daemon.device(Role::Viewer).await;
    let wrong = Wrong::of(&daemon, &device, &session.id).await;
    let access = device.access().await;
    for _ in 0..2 {
        let seen: Vec<String> = wrong.each().await.iter().map(Answer::verdict).collect();
        let expected = [
            "401 malformed_token",
            "401 invalid_token",
            "401 invalid_token",
            "401 access_ended",
            "401 unknown_offer",
            "401 unknown_invitation",
            "401 bad_signature",
        ];
        assert_eq!(seen, expected);
    }
    // In its first frame as well; up to twenty in all.
    for _ in 14..20 {
        let mut page = device.attach_with_first_frame(&session.id, "tsm_acc_x").await;
        assert_eq!(
            page.until_closed_for().await,
            (CLOSE_REVOKED, "malformed_token".to_owned())
        );
    }
    for refused in wrong.each().await {
        assert_eq!(refused.verdict(), "429 too_many_failures");
        let seconds = refused.problem().retry_after.unwrap();
        assert!((1..=60).contains(&seconds), "{seconds}");
        assert_eq!(refused.headers["retry-after"], seconds.to_string());
    }
    let mut page = device.attach_with_first_frame(&session.id, "tsm_acc_x").await;
    assert_eq!(
        page.until_closed_for().await,
        (CLOSE_TOO_MANY, "too_many_failures".to_owned())
    );

    // All of it came from the address that these come from.
    let client = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(client.get("/v1/whoami", Some(&access)).await.verdict(), "200");
    assert_eq!(client.get("/v1/health", None).await.verdict(), "200");
    assert_eq!(
        client.get("/v1/whoami", None).await.verdict(),
        "401 unauthenticated"
    );
    let proof = device.proof(&device.challenge().await);
    assert_eq!(device.prove(&proof).await.verdict(), "200");
    let invited = Invitation::to(&daemon, &[&session.id], 60).await;
    assert!(invited.open(&daemon).await.is_ok());
    daemon.device(Role::Viewer).await;
    device
        .attach_with_first_frame(&session.id, &access)
        .await
        .next()
        .await
        .unwrap();
}

#[tokio::test]
async fn whose_token_has_ended_proves_the_key_again_however_many_failed_before() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.device(Role::Viewer).await;
    let access = device.access().await;
    daemon.kill_and_restart().await;
    device.follow(&daemon);
    let client = TlsClient::new(daemon.address(), daemon.pin());
    for _ in 0..30 {
        client.get("/v1/whoami", Some("tsm_dev_x")).await;
    }
    // The token of before is one more that is not right, and what it is told brings the challenge.
    let refused = client.get("/v1/whoami", Some(&access)).await;
    assert_eq!(refused.verdict(), "429 too_many_failures");
    let proof = device.proof(&refused.problem().challenge.unwrap());
    assert_eq!(device.prove(&proof).await.verdict(), "200");
}

/// What somebody shows who has no credential, or not the right one.
struct Wrong<'a> {
    device: &'a Device,
    client: TlsClient,
    invitation: Invitation,
}

impl<'a> Wrong<'a> {
    async fn of(daemon: &TestDaemon, device: &'a Device, session: &str) -> Self {
        let mut invitation = Invitation::to(daemon, &[session], 60).await;
        invitation.secret = "A".repeat(43);
        Self {
            device,
            client: TlsClient::new(daemon.address(), daemon.pin()),
            invitation,
        }
    }

    /// The refusal of each kind.
    async fn each(&self) -> Vec<Answer> {
        let somebody = DeviceId::from_bytes([7; 8]);
        let tokens = [
            "nonsense".to_owned(),
            DeviceToken::generate(somebody, &mut rng()).reveal().to_string(),
            DeviceToken::generate(self.device.id(), &mut rng())
                .reveal()
                .to_string(),
            AccessToken::generate(AccessId::from_bytes([7; 8]), &mut rng())
                .reveal()
                .to_string(),
        ];
        let mut refused = Vec::new();
        for token in &tokens {
            refused.push(self.client.get("/v1/whoami", Some(token)).await);
        }
        let offer = json!({ "id": OfferId::from_bytes([7; 8]), "secret": "A".repeat(43) });
        let wish = json!({ "label": "phone", "commitment": "A".repeat(43), "offer": offer });
        refused.push(self.client.post("/v1/pairing/requests", None, &wish).await);
        let key = DeviceKey::generate();
        let guess = self.invitation.exchange(&self.client, &key).await;
        refused.push(self.client.post("/v1/guests/exchange", None, &guess).await);
        let mut proof = self.device.proof(&self.device.challenge().await);
        proof.signature = Bytes64(key.sign("something else"));
        refused.push(self.device.prove(&proof).await);
        refused
    }
}
