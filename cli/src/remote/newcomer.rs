//! This machine on its way to become a device of a remote (access.md 5).

use std::time::Duration;

use jiff::Timestamp;
use pairing::{Audience, CodeInput, Commitment, Nonce, PairingCode};
use protocol::{
    Bytes64, WireSecret,
    access::Health,
    pairing::{Exchange, Exchanged, NewRequest, OfferProof, Poll, PollStatus, Requested, Reveal},
};
use reqwest::{Method, RequestBuilder};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::{Instant, sleep};

use super::{Address, Https, Record, key::DeviceKey};
use crate::{failure::Failure, patience::Patience, random, way};

/// A machine that has asked to be paired, and shows its code.
#[derive(Debug)]
pub(crate) struct Newcomer {
    https: Https,
    address: Address,
    health: Health,
    key: DeviceKey,
    key_text: WireSecret,
    requested: Requested,
    asked_at: Instant,
    code: PairingCode,
}

/// What the owner decided.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Yes; with what the exchange signs.
    Approved(String),
    /// Neither, and never any more: with the daemon's word for why.
    Ended(Option<String>),
    /// Nothing, in time.
    Late,
}

impl Newcomer {
    /// Steps 1 and 2: asks whoever holds the pin's key to be paired under a label, with an offer or without.
    ///
    /// # Errors
    /// What kept the question from being asked, or the daemon's refusal.
    pub(crate) async fn ask(
        https: Https,
        address: &Address,
        label: &str,
        offer: Option<OfferProof>,
    ) -> Result<Self, Failure> {
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
            Failure::failed(
                "unknown_answer",
                "the daemon's share of the code is not of 32 bytes",
                "daemon and command are of different versions",
            )
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
            health,
            key,
            key_text,
            requested,
            asked_at,
            code,
        };
        newcomer.send("reveal", &reveal, Bearer::Request).await?;
        Ok(newcomer)
    }

    /// The client by which it asks.
    pub(crate) fn https(&self) -> &Https {
        &self.https
    }

    /// The digits to compare with those that the owner sees.
    pub(crate) fn code(&self) -> PairingCode {
        self.code
    }

    /// How long the request waits for the owner in all.
    pub(crate) fn expires_in(&self) -> Duration {
        Duration::from_secs(self.requested.expires_in)
    }

    /// Step 3: waits for the owner, over losses of the network.
    ///
    /// # Errors
    /// The daemon was away for too long, or refuses to say.
    pub(crate) async fn wait(&self) -> Result<Verdict, Failure> {
        let mut patience = Patience::bounded();
        loop {
            let path = format!("{}?wait={WAIT}", self.path());
            let request = self.https.request(Method::GET, &path);
            let poll: Poll = match call(&self.https, request, Some(&self.requested.request_secret)).await {
                Ok(poll) => poll,
                Err(failure)
                    if self.asked_at.elapsed() > self.expires_in() && !failure.is_about_the_link() =>
                {
                    return Ok(Verdict::Late);
                }
                Err(failure) => {
                    patience.bear(failure).await?;
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

    /// Step 5: turns the owner's yes into a token; the daemon has nothing on its disk yet.
    ///
    /// # Errors
    /// The daemon was away for too long, or refuses.
    pub(crate) async fn exchange(&self, nonce: &str, label: &str) -> Result<Record, Failure> {
        let audience = Audience::Pin(self.https.pin().to_string());
        let id = self.requested.request_id;
        let mut patience = Patience::bounded();
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
                Err(failure) => patience.bear(failure).await?,
            }
        };
        let device = (exchanged.device_id, label.to_owned(), exchanged.role);
        Ok(Record::new(
            self.address.clone(),
            self.https.pin(),
            self.health.instance.clone(),
            device,
            Timestamp::now(),
            exchanged.token,
            self.key_text.clone(),
            id,
        ))
    }

    /// Step 6: tells the daemon that the token is kept; from here on it opens what the role allows.
    ///
    /// # Errors
    /// The daemon was away for too long, or refuses.
    pub(crate) async fn commit(&self, record: &Record) -> Result<(), Failure> {
        let mut patience = Patience::bounded();
        loop {
            let sent = self
                .send("commit", &serde_json::json!({}), Bearer::Device(&record.token))
                .await;
            match sent {
                Ok(()) => return Ok(()),
                Err(failure) => patience.bear(failure).await?,
            }
        }
    }

    async fn send(&self, step: &str, body: &impl Serialize, bearer: Bearer<'_>) -> Result<(), Failure> {
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
) -> Result<T, Failure> {
    let body = answer(https, request, bearer).await?;
    serde_json::from_slice(&body).map_err(|error| {
        Failure::failed(
            "unknown_answer",
            format!("the daemon's answer is not understood: {error}"),
            "daemon and command are of different versions",
        )
    })
}

async fn answer(
    https: &Https,
    request: RequestBuilder,
    bearer: Option<&WireSecret>,
) -> Result<Vec<u8>, Failure> {
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
