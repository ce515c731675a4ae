//! `POST /v1/guests/exchange`: one link, one browser.

use harness::{DeviceKey, Invitation, TestDaemon, TlsClient};
use protocol::guests::{GuestState, NewInvitation};
use serde_json::json;

use super::{listed, shell};

#[tokio::test]
async fn a_link_opens_once_and_the_owner_sees_who_else_tried() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let invitation = Invitation::to(&daemon, &[&session.id], 3600).await;
    assert_eq!(listed(&daemon).await[0].state, GuestState::Invited);
    let guest = invitation.open(&daemon).await.ok().unwrap();
    let second = invitation.open(&daemon).await.err().unwrap();
    assert_eq!(second.verdict(), "409 invitation_used");
    let record = listed(&daemon).await.remove(0);
    assert_eq!((record.state, record.id), (GuestState::Joined, guest.guest_id()));
    assert_eq!(record.refused.unwrap().count, 1);
    assert_eq!(
        guest.get("/v1/whoami").await.status,
        200,
        "the first is none the worse"
    );
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_with_the_same_key_alone() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let invitation = Invitation::to(&daemon, &[&session.id], 3600).await;
    let client = TlsClient::new(daemon.address(), &invitation.pin);
    let key = DeviceKey::generate();
    let shown = invitation.exchange(&client, &key).await;
    assert_eq!(client.post("/v1/guests/exchange", None, &shown).await.status, 200);
    let guest = invitation.open_with(&daemon, key).await.ok().unwrap();
    assert_eq!(guest.get("/v1/whoami").await.status, 200);
}

#[tokio::test]
async fn wrong_secrets_signatures_and_audiences_open_nothing() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let invitation = Invitation::to(&daemon, &[&session.id], 3600).await;
    let client = TlsClient::new(daemon.address(), &invitation.pin);
    let key = DeviceKey::generate();
    let mut other = invitation.exchange(&client, &key).await;
    other.signature = invitation
        .exchange(&client, &DeviceKey::generate())
        .await
        .signature;
    let answer = client.post("/v1/guests/exchange", None, &other).await;
    assert_eq!(answer.verdict(), "401 bad_signature");
    let mut relayed = invitation.exchange(&client, &key).await;
    relayed.audience = "origin:https://elsewhere.example:7300".to_owned();
    let answer = client.post("/v1/guests/exchange", None, &relayed).await;
    assert_eq!(answer.verdict(), "401 wrong_audience");
    let mut guessed = invitation.clone();
    guessed.secret = "A".repeat(43);
    for _ in 0..5 {
        let answer = guessed.open(&daemon).await.err().unwrap();
        assert_eq!(answer.verdict(), "401 unknown_invitation");
    }
    assert_eq!(
        invitation.open(&daemon).await.err().unwrap().verdict(),
        "409 invitation_burned"
    );
}

#[tokio::test]
async fn the_guests_token_alone_opens_the_auth_lane_only() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let invitation = Invitation::to(&daemon, &[&session.id], 3600).await;
    let guest = invitation.open(&daemon).await.ok().unwrap();
    let stolen = guest.client().get("/v1/sessions", Some(guest.token())).await;
    assert_eq!(stolen.verdict(), "401 proof_required");
}

#[tokio::test]
async fn an_invitation_to_nothing_unknown_or_without_end_is_refused() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let wish = |sessions: &[&str], expires_in| NewInvitation {
        sessions: sessions.iter().map(ToString::to_string).collect(),
        expires_in,
        count: None,
        with_scrollback: false,
        login: None,
    };
    for (wish, expected) in [
        (wish(&[], 60), "400 invites_to_nothing"),
        (wish(&["ses_0000000000000000"], 60), "404 not_found"),
        (wish(&[&session.id], 0), "400 malformed_request"),
        (wish(&[&session.id], 8 * 24 * 3600), "400 stays_too_long"),
    ] {
        let answer = daemon.owner().post("/v1/guests", &wish).await;
        assert_eq!(answer.verdict(), expected);
    }
    let login = json!({ "sessions": [session.id], "expires_in": 60, "login": "alice@example.com" });
    let answer = daemon.owner().post("/v1/guests", &login).await;
    assert_eq!(
        answer.verdict(),
        "409 no_tailnet",
        "nobody could come by such a link"
    );
    assert!(listed(&daemon).await.is_empty());
}
