//! The fixture of the tests beside it: one authority, one clock, one generator, and devices that behave.

mod claim;
mod codes;
mod decide;
mod exchange;
mod model;
mod offers;
mod wait;

use alloc::format;
use alloc::string::String;
use core::time::Duration;

use crate::testing::{HashSignatures, SeededRng, at, key, sign, token_key};
use crate::{
    ApproveError, ApproveTerms, Approved, Audience, Authority, Commit, CommitError, Commitment, Device,
    DeviceToken, Exchange, ExchangeCheck, ExchangeError, Exchanged, NewRequest, Nonce, OfferClaim, OfferId,
    OfferSecret, OfferTerms, PairingLimits, PollAnswer, PollKind, PollStatus, PublicKey, RequestError,
    RequestId, RequestPhase, Requested, RevealError, UnixMillis, pair_text,
};

const PIN: &str = "sha256/47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";

struct Pairing {
    authority: Authority,
    rng: SeededRng,
    now: UnixMillis,
}

/// A device that has begun: what it knows.
#[derive(Debug)]
struct Waiting {
    requested: Requested,
    key: PublicKey,
    nonce: Nonce,
}

impl Waiting {
    fn id(&self) -> RequestId {
        self.requested.id
    }
}

impl Pairing {
    fn new() -> Self {
        Self::with(PairingLimits::default())
    }

    fn with(limits: PairingLimits) -> Self {
        let mut rng = SeededRng::new(11);
        Self {
            authority: Authority::new(limits, &mut rng),
            rng,
            now: at(0),
        }
    }

    fn pass(&mut self, seconds: u64) {
        self.now = self.now.plus(Duration::from_secs(seconds));
    }

    fn offer(&mut self) -> (OfferId, OfferSecret) {
        self.offer_with(OfferTerms::default())
    }

    fn offer_with(&mut self, terms: OfferTerms) -> (OfferId, OfferSecret) {
        let (view, secret) = self.authority.offer(terms, self.now, &mut self.rng).unwrap();
        (view.id, secret)
    }

    /// The device with the key `n` begins, with a nonce of its own.
    fn begin_as(
        &mut self,
        n: u8,
        nonce: Nonce,
        peer: &str,
        offer: Option<&(OfferId, OfferSecret)>,
    ) -> Result<Waiting, RequestError> {
        let new = NewRequest {
            label: format!("device {n}").parse().unwrap(),
            commitment: Commitment::to(&key(n), &nonce),
            offer: offer.map(|(id, secret)| OfferClaim {
                id: *id,
                secret: copy(secret),
            }),
            peer: peer.into(),
            address: "192.0.2.1".into(),
            tailnet: None,
        };
        let requested = self.authority.request(new, self.now, &mut self.rng)?;
        Ok(Waiting {
            requested,
            key: key(n),
            nonce,
        })
    }

    fn begin(&mut self, n: u8) -> Waiting {
        self.begin_as(n, [n; 32], &format!("peer {n}"), None).unwrap()
    }

    fn begin_with(&mut self, n: u8, offer: &(OfferId, OfferSecret)) -> Waiting {
        self.begin_as(n, [n; 32], "peer", Some(offer)).unwrap()
    }

    fn reveal(&mut self, device: &Waiting) -> Result<(), RevealError> {
        let Waiting {
            requested,
            key,
            nonce,
        } = device;
        self.authority
            .reveal(requested.id, &requested.secret, (key, nonce), PIN, self.now)
    }

    fn revealed(&mut self, n: u8) -> Waiting {
        let device = self.begin(n);
        self.reveal(&device).unwrap();
        device
    }

    fn approve(&mut self, device: &Waiting) -> Result<Approved, ApproveError> {
        self.authority
            .approve(device.id(), ApproveTerms::default(), self.now, &mut self.rng)
    }

    fn approved(&mut self, n: u8) -> Waiting {
        let device = self.revealed(n);
        self.approve(&device).unwrap();
        device
    }

    fn poll(&mut self, device: &Waiting) -> PollAnswer {
        self.authority
            .poll(device.id(), &device.requested.secret, PollKind::Wait, self.now)
            .unwrap()
    }

    fn status(&mut self, device: &Waiting) -> PollStatus {
        self.poll(device).status
    }

    fn phase(&self, device: &Waiting) -> RequestPhase {
        self.authority.request_by_id(device.id(), self.now).unwrap().phase
    }

    /// The device signs with its key what it was told to and exchanges.
    fn exchange(&mut self, device: &Waiting) -> Result<Exchanged, ExchangeError> {
        self.exchange_as(device, &device.key, &audience())
    }

    fn exchange_as(
        &mut self,
        device: &Waiting,
        key: &PublicKey,
        audience: &Audience,
    ) -> Result<Exchanged, ExchangeError> {
        let nonce = self
            .poll(device)
            .exchange_nonce
            .map_or_else(String::new, |nonce| nonce.as_str().into());
        let signature = sign(
            key.as_bytes(),
            pair_text(device.id(), &nonce, audience).as_bytes(),
        );
        let shown = Exchange {
            audience,
            signature: &signature,
        };
        self.exchange_signed(device, shown)
    }

    fn exchange_signed(&mut self, device: &Waiting, shown: Exchange<'_>) -> Result<Exchanged, ExchangeError> {
        let accepts = |shown: &Audience| *shown == audience();
        let check = ExchangeCheck {
            verifier: &HashSignatures,
            accepts: &accepts,
            token_key: &token_key(),
        };
        let secret = &device.requested.secret;
        self.authority
            .exchange(device.id(), secret, shown, check, self.now, &mut self.rng)
    }

    fn prepare(&mut self, device: &Waiting, token: &DeviceToken) -> Result<Commit, CommitError> {
        self.authority
            .prepare_commit(device.id(), token, &token_key(), self.now)
    }

    /// The whole second half: exchange, commit, stored.
    fn complete(&mut self, device: &Waiting) -> Device {
        let token = self.exchange(device).unwrap().token;
        let Ok(Commit::New(record)) = self.prepare(device, &token) else {
            panic!("a new device")
        };
        self.authority.committed(device.id(), self.now);
        record
    }
}

fn audience() -> Audience {
    format!("pin:{PIN}").parse().unwrap()
}

/// What a browser that was sent the same link twice has: the same secret.
fn copy(secret: &OfferSecret) -> OfferSecret {
    OfferSecret::parse(&secret.reveal()).unwrap()
}

#[test]
fn debug_of_the_authority_counts_and_tells_nothing_else() {
    let mut pairing = Pairing::new();
    pairing.offer();
    pairing.begin(1);
    assert_eq!(
        format!("{:?}", pairing.authority),
        "Authority { offers: 1, requests: 1, .. }"
    );
}

#[test]
fn debug_of_every_step_shows_no_secret() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let device = pairing.begin_with(1, &offer);
    pairing.reveal(&device).unwrap();
    pairing.approve(&device).unwrap();
    let exchanged = pairing.exchange(&device).unwrap();
    let shown = format!(
        "{offer:?} {device:?} {exchanged:?} {:?}",
        pairing.authority.requests
    );
    for secret in [
        offer.1.reveal(),
        device.requested.secret.reveal(),
        exchanged.token.reveal(),
    ] {
        assert!(!shown.contains(secret.as_str()));
    }
    assert_eq!(shown.matches("[redacted]").count(), 5);
}

#[test]
fn new_limits_act_on_what_comes_next() {
    let mut pairing = Pairing::new();
    let before = pairing.begin(1);
    pairing.authority.set_limits(PairingLimits {
        request_ttl: Duration::from_secs(30),
        ..PairingLimits::default()
    });
    let after = pairing.begin(2);
    assert_eq!(pairing.authority.limits().request_ttl, Duration::from_secs(30));
    pairing.pass(31);
    assert_eq!(pairing.status(&before), PollStatus::AuthorizationPending);
    assert_eq!(pairing.status(&after), PollStatus::ExpiredToken);
}
