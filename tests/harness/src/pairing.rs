//! A device on its way in, step by step.

use std::net::SocketAddr;

use pairing::{Audience, CodeInput, Commitment, PairingCode, PublicKey, RequestId, Role};
use protocol::{
    Bytes64, WireSecret,
    pairing::{Exchange, Exchanged, NewRequest, OfferProof, Poll, Requested, Reveal},
};
use ring::{
    rand::{SecureRandom, SystemRandom},
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};

use crate::{Answer, Device, TestDaemon, Tunnel, device::TlsClient};

/// The key that a device makes for itself.
pub struct DeviceKey(EcdsaKeyPair);

impl DeviceKey {
    /// Makes a key.
    ///
    /// # Panics
    /// Where the system has no randomness.
    pub fn generate() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let document = document.expect("the system has randomness");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        Self(pair.expect("a key just made is valid"))
    }

    /// The uncompressed point.
    pub fn public(&self) -> PublicKey {
        PublicKey::from_slice(self.0.public_key().as_ref())
            .expect("ring's public keys are uncompressed points")
    }

    /// r ‖ s over the text.
    pub fn sign(&self, text: &str) -> Vec<u8> {
        let signature = self.0.sign(&SystemRandom::new(), text.as_bytes());
        signature.expect("the system has randomness").as_ref().to_vec()
    }
}

/// A device that holds an offer, and does one step at a time.
pub struct Pairing {
    client: TlsClient,
    offer: Option<OfferProof>,
    pin: String,
    key: DeviceKey,
    nonce: [u8; 32],
    requested: Option<Requested>,
}

impl Pairing {
    /// A device that was shown a new offer of this daemon's owner.
    pub async fn with_offer(daemon: &TestDaemon, role: Role) -> Self {
        Self::with_terms(daemon, role, false).await
    }

    /// A device that was shown a new offer, by which it may also revoke others.
    pub async fn with_terms(daemon: &TestDaemon, role: Role, can_revoke: bool) -> Self {
        let made = daemon.owner().offer(role, can_revoke).await;
        let fragment = made
            .url
            .expose()
            .split_once('#')
            .expect("the link has a fragment")
            .1
            .to_owned();
        Self::with_fragment(daemon, &fragment)
    }

    /// A device that was shown the fragment of an offer's link.
    ///
    /// # Panics
    /// Where it has not three parts.
    pub fn with_fragment(daemon: &TestDaemon, fragment: &str) -> Self {
        Self::with_fragment_at(daemon.address(), fragment)
    }

    /// The same of whoever listens at the address.
    ///
    /// # Panics
    /// Where it has not three parts.
    pub fn with_fragment_at(address: SocketAddr, fragment: &str) -> Self {
        let parts: Vec<&str> = fragment.split('.').collect();
        let [id, secret, pin] = parts.as_slice() else {
            panic!("a fragment has three parts: {fragment}")
        };
        let nonce = random_nonce();
        Self {
            client: TlsClient::new(address, pin),
            offer: Some(OfferProof {
                id: id.parse().expect("an offer's id"),
                secret: WireSecret::new(*secret),
            }),
            pin: (*pin).to_owned(),
            key: DeviceKey::generate(),
            nonce,
            requested: None,
        }
    }

    /// A device without an offer, which trusts whatever pin it sees at the address.
    pub fn without_offer(address: SocketAddr, pin: &str) -> Self {
        Self {
            client: TlsClient::new(address, pin),
            offer: None,
            pin: pin.to_owned(),
            key: DeviceKey::generate(),
            nonce: random_nonce(),
            requested: None,
        }
    }

    /// Speaks to the daemon at the address it has now, after a restart.
    pub fn follow(&mut self, daemon: &TestDaemon) {
        self.client = TlsClient::new(daemon.address(), &self.pin);
    }

    /// Speaks to the daemon through a tunnel from now on.
    pub fn through(mut self, tunnel: &Tunnel) -> Self {
        self.client = TlsClient::new(tunnel.address(), &self.pin);
        self
    }

    /// Steps 1 and 2: ask, then reveal; gives the code that this device shows.
    pub async fn ask(&mut self) -> PairingCode {
        self.ask_as("a test's phone").await
    }

    /// The same under a label of the test's.
    pub async fn ask_as(&mut self, label: &str) -> PairingCode {
        self.request_as(label).await;
        assert_eq!(self.reveal().await.verdict(), "204");
        self.code()
    }

    /// Step 1.
    pub async fn request(&mut self) -> RequestId {
        self.request_as("a test's phone").await
    }

    async fn request_as(&mut self, label: &str) -> RequestId {
        let requested: Requested = self.try_request(label).await.ok();
        let id = requested.request_id;
        self.requested = Some(requested);
        id
    }

    /// Step 1 with a label of the test's, whatever the answer.
    pub async fn try_request(&mut self, label: &str) -> Answer {
        let body = NewRequest {
            label: label.to_owned(),
            commitment: Bytes64(Commitment::to(&self.key.public(), &self.nonce).0.to_vec()),
            offer: self.offer.clone(),
        };
        self.client.post("/v1/pairing/requests", None, &body).await
    }

    /// Step 2, whatever the answer.
    pub async fn reveal(&self) -> Answer {
        let body = Reveal {
            public_key: Bytes64(self.key.public().as_bytes().to_vec()),
            nonce: Bytes64(self.nonce.to_vec()),
        };
        self.step("reveal", &body).await
    }

    /// Step 2 with the key and nonce of another, whatever the answer.
    pub async fn reveal_as(&self, other: &Self) -> Answer {
        let body = Reveal {
            public_key: Bytes64(other.key.public().as_bytes().to_vec()),
            nonce: Bytes64(other.nonce.to_vec()),
        };
        self.step("reveal", &body).await
    }

    /// The code that this device shows.
    pub fn code(&self) -> PairingCode {
        let requested = self.asked();
        let server_nonce: [u8; 32] = requested.server_nonce.0.as_slice().try_into().expect("32 bytes");
        PairingCode::compute(&CodeInput {
            request_id: requested.request_id,
            public_key: &self.key.public(),
            device_nonce: &self.nonce,
            server_nonce: &server_nonce,
            pin: &self.pin,
        })
    }

    /// Step 3, whatever the answer.
    pub async fn poll(&self, wait: u64) -> Answer {
        let path = format!("/v1/pairing/requests/{}?wait={wait}", self.id());
        self.client
            .get(&path, Some(self.asked().request_secret.expose()))
            .await
    }

    /// Step 5, whatever the answer.
    pub async fn try_exchange(&self, exchange_nonce: &str) -> Answer {
        let signature = Bytes64(self.sign_exchange(self.id(), exchange_nonce));
        self.step(
            "exchange",
            &Exchange {
                audience: self.audience().to_string(),
                signature,
            },
        )
        .await
    }

    /// This device's signature under the exchange of a request.
    pub fn sign_exchange(&self, id: RequestId, exchange_nonce: &str) -> Vec<u8> {
        self.key
            .sign(&pairing::pair_text(id, exchange_nonce, &self.audience()))
    }

    fn audience(&self) -> Audience {
        format!("pin:{}", self.pin).parse().expect("a pin is an audience")
    }

    /// Steps 3 and 5, once approved.
    pub async fn exchange(&self) -> Exchanged {
        self.exchange_after(self.poll(0).await.ok()).await
    }

    /// The same, waiting for the owner's yes.
    pub async fn exchange_when_approved(&self) -> Exchanged {
        self.exchange_after(self.poll(25).await.ok()).await
    }

    async fn exchange_after(&self, poll: Poll) -> Exchanged {
        self.try_exchange(&poll.exchange_nonce.expect("the request is approved"))
            .await
            .ok()
    }

    /// Step 6, whatever the answer.
    pub async fn try_commit(&self, token: &str) -> Answer {
        let path = format!("/v1/pairing/requests/{}/commit", self.id());
        self.client.post(&path, Some(token), &serde_json::json!({})).await
    }

    /// All steps, with the owner's yes.
    pub async fn finish(mut self, daemon: &TestDaemon) -> Device {
        self.ask().await;
        self.finish_revealed(daemon).await
    }

    /// What is left after the reveal, with the owner's yes.
    pub async fn finish_revealed(self, daemon: &TestDaemon) -> Device {
        let code = self.code();
        let owner = daemon.owner();
        let seen = owner.pairing_request(self.id()).await;
        assert_eq!(
            seen.code,
            Some(code.to_string()),
            "both sides compute the same code"
        );
        assert_eq!(owner.approve(self.id()).await.status / 100, 2);
        let exchanged = self.exchange().await;
        assert_eq!(self.try_commit(exchanged.token.expose()).await.verdict(), "204");
        self.into_device(&exchanged)
    }

    /// The offer that it holds.
    ///
    /// # Panics
    /// Where it has none.
    pub fn offer_id(&self) -> pairing::OfferId {
        self.offer.as_ref().expect("it was made with an offer").id
    }

    /// Seconds for which the owner may take to decide, as this device was told.
    pub fn expires_in(&self) -> u64 {
        self.asked().expires_in
    }

    /// What this device polls with, once asked.
    pub fn request_secret(&self) -> &str {
        self.asked().request_secret.expose()
    }

    /// The device that these answers make.
    pub fn into_device(self, exchanged: &Exchanged) -> Device {
        Device::new(
            self.client,
            exchanged.device_id,
            exchanged.token.expose().to_owned(),
            self.key,
        )
    }

    /// The request's id, once asked.
    pub fn id(&self) -> RequestId {
        self.asked().request_id
    }

    fn asked(&self) -> &Requested {
        self.requested.as_ref().expect("step 1 was done")
    }

    async fn step(&self, name: &str, body: &impl serde::Serialize) -> Answer {
        let path = format!("/v1/pairing/requests/{}/{name}", self.id());
        self.client
            .post(&path, Some(self.asked().request_secret.expose()), body)
            .await
    }
}

fn random_nonce() -> [u8; 32] {
    let mut nonce = [0; 32];
    SystemRandom::new()
        .fill(&mut nonce)
        .expect("the system has randomness");
    nonce
}
