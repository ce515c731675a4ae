//! Who this is to a daemon elsewhere: the device token, and the access tokens that a proof of its key gives.

use std::time::Duration;

use certs::SpkiPin;
use pairing::{Audience, DeviceId};
use protocol::{
    Problem, WireSecret,
    access::{ProofOfKey, Proven},
};
use reqwest::{Method, StatusCode};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use crate::{
    error::{Error, Unknown},
    https::Https,
    key::DeviceKey,
    way,
};

/// The credentials of a device of one daemon.
#[derive(Debug)]
pub(crate) struct Access {
    https: Https,
    device_id: DeviceId,
    token: WireSecret,
    key: DeviceKey,
    /// In memory only. Whoever renews it holds the lock meanwhile, so that those who ask at the same time wait for one proof.
    current: Mutex<Current>,
}

/// What a request shows.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// The bearer token.
    pub(crate) bearer: WireSecret,
    /// Whether it is the device token itself.
    pub(crate) is_device_token: bool,
    /// How many proofs were made before.
    proofs: u64,
}

#[derive(Debug, Default)]
struct Current {
    access: Option<AccessToken>,
    /// What the next proof signs, and until when that is good.
    challenge: Option<(String, Instant)>,
    proofs: u64,
    /// The pin that the daemon said would come next.
    announced: Option<SpkiPin>,
}

#[derive(Debug)]
struct AccessToken {
    token: WireSecret,
    renew_at: Instant,
}

impl Access {
    pub(crate) fn new(https: Https, device_id: DeviceId, token: WireSecret, key: DeviceKey) -> Self {
        Self {
            https,
            device_id,
            token,
            key,
            current: Mutex::default(),
        }
    }

    /// What to show now: an access token that is far from its end, or the device token where none was asked for yet.
    pub(crate) async fn shown(&self) -> Result<Shown, Error> {
        let mut current = self.current.lock().await;
        if current
            .access
            .as_ref()
            .is_some_and(|access| Instant::now() >= access.renew_at)
        {
            self.prove(&mut current).await?;
        }
        Ok(current.shown(&self.token))
    }

    /// What to show after a 401 to what was shown: by a proof with the challenge that stood in the answer. `None` where no proof
    /// helps.
    pub(crate) async fn after_refusal(&self, shown: &Shown, body: &[u8]) -> Result<Option<Shown>, Error> {
        let mut current = self.current.lock().await;
        if current.proofs != shown.proofs {
            // Somebody else has made one meanwhile.
            return Ok(Some(current.shown(&self.token)));
        }
        let Some(challenge) = challenge_in(body) else {
            return Ok(None);
        };
        current.challenge = Some((challenge, Instant::now() + FRESH));
        self.prove(&mut current).await?;
        Ok(Some(current.shown(&self.token)))
    }

    /// The pin that the daemon said, in its last answer to a proof, would come next.
    pub(crate) async fn announced(&self) -> Option<SpkiPin> {
        self.current.lock().await.announced
    }

    /// Proves possession of the key, for a new access token.
    async fn prove(&self, current: &mut Current) -> Result<(), Error> {
        current.access = None;
        for _ in 0..TRIES {
            let challenge = match current.challenge.take() {
                Some((challenge, until)) if Instant::now() < until => challenge,
                _ => self.ask_for_challenge().await?,
            };
            let (status, body) = self.offer(&challenge).await?;
            if status.is_success() {
                let proven: Proven = serde_json::from_slice(&body).map_err(|error| not_understood(&error))?;
                let life = Duration::from_secs(proven.expires_in);
                current.access = Some(AccessToken {
                    token: proven.access_token,
                    // Well before its end, by this machine's own clock alone.
                    renew_at: Instant::now() + life * 4 / 5,
                });
                // It is good for as long as the token, so that the next proof is one round trip.
                current.challenge = Some((proven.challenge, Instant::now() + life));
                current.proofs += 1;
                current.announced = proven.next_pin.and_then(|pin| pin.parse().ok());
                return Ok(());
            }
            // A challenge may be too old, or of a daemon that has restarted: the answer has a better one.
            let next = challenge_in(&body).filter(|_| status == StatusCode::UNAUTHORIZED);
            let refusal = Error::refused(status, &body);
            if next.is_none() || refusal.is_final_rejection() {
                return Err(refusal);
            }
            current.challenge = next.map(|challenge| (challenge, Instant::now() + FRESH));
        }
        Err(Error::RejectedToken)
    }

    async fn offer(&self, challenge: &str) -> Result<(StatusCode, Vec<u8>), Error> {
        let audience = Audience::Pin(self.https.pin().to_string());
        let body = ProofOfKey {
            challenge: challenge.to_owned(),
            audience: audience.to_string(),
            signature: self.key.sign_proof(challenge, &audience, self.device_id)?,
        };
        let request = self.https.request(Method::POST, "/auth/proof").json(&body);
        self.ask(request).await
    }

    /// A challenge to sign: any 401 has one.
    async fn ask_for_challenge(&self) -> Result<String, Error> {
        let (status, body) = self.ask(self.https.request(Method::GET, "/whoami")).await?;
        challenge_in(&body).ok_or_else(|| match status.is_success() {
            true => Error::lost("the daemon has changed its mind about who this is"),
            false => Error::refused(status, &body),
        })
    }

    /// Sends a request of this lane, as the bearer of the device token.
    async fn ask(&self, request: reqwest::RequestBuilder) -> Result<(StatusCode, Vec<u8>), Error> {
        let place = self.https.place();
        let answered = async {
            let response = self.https.send(request.bearer_auth(self.token.expose())).await?;
            let status = response.status();
            let body = response.bytes().await;
            Ok((status, body.map_err(|error| way::broken(place, &error))?.into()))
        };
        timeout(PATIENCE, answered)
            .await
            .map_err(|_| Error::TimedOut(place.clone()))
            .flatten()
    }
}

impl Current {
    fn shown(&self, token: &WireSecret) -> Shown {
        let access = self.access.as_ref();
        Shown {
            bearer: access.map_or(token, |access| &access.token).clone(),
            is_device_token: access.is_none(),
            proofs: self.proofs,
        }
    }
}

fn challenge_in(body: &[u8]) -> Option<String> {
    serde_json::from_slice::<Problem>(body).ok()?.challenge
}

fn not_understood(error: &serde_json::Error) -> Error {
    Error::NotUnderstood(Unknown::Step, error.to_string())
}

/// How many challenges are signed for one access token: one may be stale, and the next is not.
const TRIES: usize = 2;
/// How long the challenge of a 401 is signed: it lives for 60 s.
const FRESH: Duration = Duration::from_secs(45);
/// How long an answer of this lane may take over a bad link.
const PATIENCE: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests;
