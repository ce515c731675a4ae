//! Links, and who opens them.

use http::{Method, header};
use http_body_util::Full;
use pairing::{Audience, DeviceId, GuestId, guest_text, proof_text};
use protocol::Bytes64;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::{Value, json};

use crate::testing::{Answer, Client, TestDevice, TestServer};

pub(super) fn key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap()
}

/// A link to look at a session.
pub(super) struct Link {
    pub(super) id: GuestId,
    secret: String,
}

/// Somebody who opened a link.
pub(super) struct TestGuest {
    /// What proves its key.
    pub(super) own: TestDevice,
    /// What that gave.
    pub(super) access: TestDevice,
}

impl Link {
    pub(super) async fn ask(server: &TestServer, wish: &Value) -> Answer {
        let mut owner = server.owner().await;
        owner
            .post("/v1/guests", "application/json", wish.to_string())
            .await
    }

    pub(super) async fn to_a_session(server: &TestServer) -> Self {
        Self::of(server, &json!({ "sessions": ["ses_1"], "expires_in": 3600 })).await
    }

    pub(super) async fn of(server: &TestServer, wish: &Value) -> Self {
        let made = Self::ask(server, wish).await;
        assert_eq!(made.status, 201);
        let made = made.json();
        let url = made[0]["url"].as_str().unwrap();
        let fragment: Vec<_> = url.split_once('#').unwrap().1.split('.').collect();
        Self {
            id: fragment[0].parse().unwrap(),
            secret: fragment[1].to_owned(),
        }
    }

    /// Shows the link with this key, on a connection of its own.
    pub(super) async fn exchange(&self, server: &TestServer, key: &EcdsaKeyPair) -> Answer {
        let mut client = server.http1().await;
        self.exchange_on(&mut client, server, key).await
    }

    pub(super) async fn exchange_on(
        &self,
        client: &mut Client,
        server: &TestServer,
        key: &EcdsaKeyPair,
    ) -> Answer {
        let (challenge, audience) = (challenge(client).await, audience(server));
        let text = guest_text(&challenge, &parsed(&audience), self.id);
        let body = json!({
            "id": self.id,
            "secret": self.secret,
            "public_key": Bytes64(key.public_key().as_ref().to_vec()),
            "challenge": challenge,
            "audience": audience,
            "signature": signed(key, &text),
        });
        let path = "/v1/guests/exchange";
        client.post(path, "application/json", body.to_string()).await
    }

    /// Becomes the guest, and proves the key.
    pub(super) async fn open(&self, server: &TestServer, key: &EcdsaKeyPair) -> TestGuest {
        let joined = self.exchange(server, key).await;
        assert_eq!(joined.status, 200, "{:?}", joined.bytes);
        let own = named(&joined.json()["token"]);
        let proven = self.prove(server, &own, key).await;
        assert_eq!(proven.status, 200, "{:?}", proven.bytes);
        let access = named(&proven.json()["access_token"]);
        TestGuest { own, access }
    }

    /// Proves the guest's key on a connection of its own.
    pub(super) async fn prove(&self, server: &TestServer, own: &TestDevice, key: &EcdsaKeyPair) -> Answer {
        let mut client = server.http1().await;
        let (challenge, audience) = (challenge(&mut client).await, audience(server));
        let text = proof_text(&challenge, &parsed(&audience), self.id);
        let proof = json!({ "challenge": challenge, "audience": audience, "signature": signed(key, &text) });
        let request = client
            .request(Method::POST, "/v1/auth/proof")
            .header(header::AUTHORIZATION, format!("Bearer {}", own.token))
            .header(header::CONTENT_TYPE, "application/json");
        client
            .answer(request.body(Full::from(proof.to_string())).unwrap())
            .await
    }
}

impl TestGuest {
    /// Asks who it is, by its own token.
    pub(super) async fn whoami(&self, server: &TestServer) -> Answer {
        server.http1().await.get("/v1/whoami", Some(&self.own)).await
    }
}

/// A token as requests carry it; which id is beside it does not matter.
fn named(token: &Value) -> TestDevice {
    TestDevice {
        id: DeviceId::from_bytes([0; 8]),
        token: token.as_str().unwrap().to_owned(),
    }
}

async fn challenge(client: &mut Client) -> String {
    let refused = client.get("/v1/whoami", None).await.json();
    refused["challenge"].as_str().unwrap().to_owned()
}

fn audience(server: &TestServer) -> String {
    format!("pin:{}", server.pin)
}

fn parsed(audience: &str) -> Audience {
    audience.parse().unwrap()
}

fn signed(key: &EcdsaKeyPair, text: &str) -> Bytes64 {
    let signature = key.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
    Bytes64(signature.as_ref().to_vec())
}
