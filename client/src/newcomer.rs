//! A program on its way to become a device of a daemon.

use std::time::Duration;

use pairing::{Audience, CodeInput, Commitment, Nonce, PairingCode};
use protocol::{
    Bytes64, WireSecret,
    access::Health,
    pairing::{Exchange, Exchanged, NewRequest, OfferProof, Poll, PollStatus, Requested, Reveal},
};
use reqwest::{Method, RequestBuilder};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{Instant, sleep};

use crate::{
    address::{Address, Link, Malformed},
    error::{Error, MayPass, Unknown},
    https::Https,
    key::DeviceKey,
    patience::Patience,
    random,
    store::Credential,
    way,
};

/// A program that has asked to be paired, and shows its code.
#[derive(Debug)]
pub struct Newcomer {
    https: Https,
    address: Address,
    label: String,
    health: Health,
    key: DeviceKey,
    key_text: WireSecret,
    requested: Requested,
    asked_at: Instant,
    code: PairingCode,
    patience: Patience,
}

/// What the owner decided.
#[derive(Debug)]
pub enum Verdict {
    /// Yes; with what the exchange signs.
    Approved(String),
    /// Neither, and never any more: with the daemon's word for why.
    Ended(Option<String>),
    /// Nothing, in time.
    Late,
}

impl Newcomer {
    /// Steps 1 and 2 by the link of an offer, straight to its address.
    ///
    /// # Errors
    /// The link holds no offer, what kept the question from being asked, or the daemon's refusal.
    pub async fn by(link: Link, label: &str) -> Result<Self, Error> {
        let (offer, pin) = link
            .offer
            .ok_or(Malformed("this is an address, and not the link of an offer"))?;
        let https = Https::to(&link.address.to_string(), &link.address, pin)?;
        Self::ask(https, &link.address, label, Some(offer)).await
    }

    /// Steps 1 and 2: asks whoever holds the pin's key to be paired under a label, with an offer or without.
    ///
    /// # Errors
    /// What kept the question from being asked, or the daemon's refusal.
    pub async fn ask(
        https: Https,
        address: &Address,
        label: &str,
        offer: Option<OfferProof>,
    ) -> Result<Self, Error> {
        let health: Health = call(&https, https.request(Method::GET, "/health"), None).await?;
        let (key, key_text) = DeviceKey::generate()?;
        let (public, nonce): (_, Nonce) = (key.public(), random::bytes()?);
        let new = NewRequest {
            label: label.to_owned(),
            commitment: Bytes64(Commitment::to(&public, &nonce).0.to_vec()),
            offer,
        };
        let asked_at = Instant::now();
        let request = https.request(Method::POST, "/pairing/requests").json(&new);
        let requested: Requested = call(&https, request, None).await?;
        let reveal = Reveal {
            public_key: Bytes64(public.as_bytes().to_vec()),
            nonce: Bytes64(nonce.to_vec()),
        };
        let server_nonce: Nonce = requested.server_nonce.0.as_slice().try_into().map_err(|_| {
            let why = "its share of the code is not of 32 bytes".to_owned();
            Error::NotUnderstood(Unknown::Step, why)
        })?;
        let code = PairingCode::compute(&CodeInput {
            request_id: requested.request_id,
            public_key: &public,
            device_nonce: &nonce,
            server_nonce: &server_nonce,
            pin: &https.pin().to_string(),
        });
        let newcomer = Self {
            https,
            address: address.clone(),
            label: label.to_owned(),
            health,
            key,
            key_text,
            requested,
            asked_at,
            code,
            patience: Patience::bounded(),
        };
        newcomer.send("reveal", &reveal, Bearer::Request).await?;
        Ok(newcomer)
    }

    /// The same, but bears with a daemon that is away as this does.
    #[must_use]
    pub fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    /// The client by which it asks.
    pub fn https(&self) -> &Https {
        &self.https
    }

    /// The digits to compare with those that the owner sees.
    pub fn code(&self) -> PairingCode {
        self.code
    }

    /// How long the request waits for the owner in all.
    pub fn expires_in(&self) -> Duration {
        Duration::from_secs(self.requested.expires_in)
    }

    /// Step 3: waits for the owner, over losses of the network.
    ///
    /// # Errors
    /// The daemon was away for too long, or refuses to say.
    pub async fn wait(&self) -> Result<Verdict, Error> {
        let mut patience = self.patience.clone();
        loop {
            let path = format!("{}?wait={WAIT}", self.path());
            let request = self.https.request(Method::GET, &path);
            let poll: Poll = match call(&self.https, request, Some(&self.requested.request_secret)).await {
                Ok(poll) => poll,
                Err(error) if self.asked_at.elapsed() > self.expires_in() && !error.is_about_the_link() => {
                    return Ok(Verdict::Late);
                }
                Err(error) => {
                    patience.bear(error).await?;
                    continue;
                }
            };
            patience.worked();
            match (poll.status, poll.exchange_nonce) {
                (PollStatus::Approved, Some(nonce)) => return Ok(Verdict::Approved(nonce)),
                (PollStatus::AccessDenied, _) => return Ok(Verdict::Ended(poll.cause)),
                (PollStatus::ExpiredToken, _) if poll.cause.is_some() => {
                    return Ok(Verdict::Ended(poll.cause));
                }
                (PollStatus::ExpiredToken, _) => return Ok(Verdict::Late),
                (PollStatus::SlowDown, _) => sleep(Duration::from_secs(poll.interval.max(1))).await,
                (PollStatus::AuthorizationPending | PollStatus::Approved, _) => {}
            }
        }
    }

    /// Step 5: turns the owner's yes into a credential; the daemon has nothing on its disk yet. Keep the credential before the
    /// commit: what is lost after that is lost for good, and what is kept before is finished when it is used.
    ///
    /// # Errors
    /// The daemon was away for too long, or refuses.
    pub async fn exchange(&self, nonce: &str) -> Result<Credential, Error> {
        let audience = Audience::Pin(self.https.pin().to_string());
        let id = self.requested.request_id;
        let mut patience = self.patience.clone();
        let exchanged: Exchanged = loop {
            let body = Exchange {
                audience: audience.to_string(),
                signature: self.key.sign_exchange(id, nonce, &audience)?,
            };
            let path = format!("{}/exchange", self.path());
            let request = self.https.request(Method::POST, &path).json(&body);
            match call(&self.https, request, Some(&self.requested.request_secret)).await {
                Ok(exchanged) => break exchanged,
                // Asking again kills the former token: a lost answer loses nothing.
                Err(error) => patience.bear(error).await?,
            }
        };
        Ok(Credential {
            address: self.address.clone(),
            pin: self.https.pin(),
            next_pin: None,
            instance: self.health.instance.clone(),
            device_id: exchanged.device_id,
            label: self.label.clone(),
            role: exchanged.role,
            token: exchanged.token,
            key: self.key_text.clone(),
            uncommitted: Some(id),
        })
    }

    /// Step 6: tells the daemon that the credential is kept; from here on it opens what the role allows.
    ///
    /// # Errors
    /// The daemon was away for too long, or refuses.
    pub async fn commit(&self, credential: &mut Credential) -> Result<(), Error> {
        let mut patience = self.patience.clone();
        loop {
            let sent = self
                .send(
                    "commit",
                    &serde_json::json!({}),
                    Bearer::Device(&credential.token),
                )
                .await;
            match sent {
                Ok(()) => break,
                Err(error) => patience.bear(error).await?,
            }
        }
        credential.uncommitted = None;
        Ok(())
    }

    async fn send(&self, step: &str, body: &impl Serialize, bearer: Bearer<'_>) -> Result<(), Error> {
        let path = format!("{}/{step}", self.path());
        let bearer = match bearer {
            Bearer::Request => &self.requested.request_secret,
            Bearer::Device(token) => token,
        };
        let request = self.https.request(Method::POST, &path).json(body);
        answer(&self.https, request, Some(bearer)).await.map(drop)
    }

    fn path(&self) -> String {
        format!("/pairing/requests/{}", self.requested.request_id)
    }
}

/// What a step shows.
enum Bearer<'a> {
    Request,
    Device(&'a WireSecret),
}

async fn call<T: DeserializeOwned>(
    https: &Https,
    request: RequestBuilder,
    bearer: Option<&WireSecret>,
) -> Result<T, Error> {
    let body = answer(https, request, bearer).await?;
    serde_json::from_slice(&body).map_err(|error| Error::NotUnderstood(Unknown::Step, error.to_string()))
}

async fn answer(
    https: &Https,
    request: RequestBuilder,
    bearer: Option<&WireSecret>,
) -> Result<Vec<u8>, Error> {
    let request = match bearer {
        Some(bearer) => request.bearer_auth(bearer.expose()),
        None => request,
    };
    let response = https.send(request.timeout(PATIENCE)).await?;
    let body = way::done(response, https.place()).await?.bytes().await;
    Ok(body.map_err(|error| way::broken(https.place(), &error))?.into())
}

/// Seconds that the daemon may think about one poll.
const WAIT: u64 = 25;
/// How long an answer may take, one to such a poll included.
const PATIENCE: Duration = Duration::from_secs(45);
