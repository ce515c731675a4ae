//! The authority over pairing: offers and requests, in memory, from the first word to the commit.

mod claim;
mod decide;
mod exchange;
mod offers;
mod upkeep;
mod wait;

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use crate::key::{Commitment, Nonce, VerifySignature};
use crate::offer::Offer;
use crate::request::PairingRequest;
use crate::secret::OfferSecret;
use crate::token_key::TokenKey;
use crate::{
    Audience, Device, DeviceId, DeviceToken, Grant, Label, OfferId, PairingCode, PairingLimits, RejectCause,
};
use crate::{RequestId, RequestSecret, Role, TailnetIdentity, UnixMillis};

/// Offers and pairing requests. They live in memory only: a restart forgets them.
///
/// Every device that comes of it was revealed by its device, approved by the owner, exchanged by the key that was
/// approved, and committed with the last token given out. Each request gives at most one device, and so does each
/// offer.
pub struct Authority {
    limits: PairingLimits,
    offers: BTreeMap<OfferId, Offer>,
    requests: BTreeMap<RequestId, PairingRequest>,
    /// Counts what was made, for the order of arrival.
    serial: u64,
    /// Request secrets are hashed under this; made anew with each authority and never stored.
    boot_key: TokenKey,
    /// By what all that was under way was ended last; what was on its way to the store then ends by it as well.
    all_ended_by: RejectCause,
}

/// The first word of a device.
#[derive(Debug)]
pub struct NewRequest {
    /// What it calls itself.
    pub label: Label,
    /// What it commits to.
    pub commitment: Commitment,
    /// The offer that it shows.
    pub offer: Option<OfferClaim>,
    /// One peer for limits: a node, an address or a network.
    pub peer: String,
    /// The address that people are shown.
    pub address: String,
    /// What the tailnet says about the peer.
    pub tailnet: Option<TailnetIdentity>,
}

/// An offer as a link's fragment carries it.
#[derive(Debug)]
pub struct OfferClaim {
    /// Which offer.
    pub id: OfferId,
    /// Its secret.
    pub secret: OfferSecret,
}

/// The answer to a first word.
#[derive(Debug)]
pub struct Requested {
    /// The request.
    pub id: RequestId,
    /// What the device polls with.
    pub secret: RequestSecret,
    /// The server's part of the code.
    pub server_nonce: Nonce,
    /// How long the owner has.
    pub expires_in: Duration,
    /// Least time between quick polls.
    pub interval: Duration,
}

/// The answer to the owner's yes. There is no token in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved {
    /// The request.
    pub request_id: RequestId,
    /// The device that comes of it, if it commits.
    pub device_id: DeviceId,
    /// What was compared.
    pub code: PairingCode,
    /// What was given.
    pub grant: Grant,
    /// Until when the device must have committed.
    pub deadline: UnixMillis,
}

/// What a device shows to exchange its request.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// Whom it believes to be talking to.
    pub audience: &'a Audience,
    /// By the revealed key over [`pair_text`](crate::pair_text).
    pub signature: &'a [u8],
}

/// By what an exchange is checked.
#[derive(Clone, Copy)]
pub struct ExchangeCheck<'a> {
    /// Checks the signature.
    pub verifier: &'a dyn VerifySignature,
    /// Whether an audience is this daemon: its pin, or one of its own origins.
    pub accepts: &'a dyn Fn(&Audience) -> bool,
    /// What the new token is hashed under.
    pub token_key: &'a TokenKey,
}

/// The answer to an exchange. The token opens nothing before the commit.
#[derive(Debug)]
pub struct Exchanged {
    /// The device to be.
    pub device_id: DeviceId,
    /// Its token, this once.
    pub token: DeviceToken,
    /// Its role.
    pub role: Role,
}

/// What a commit comes to.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "made once for each pairing and taken apart at once"
)]
pub enum Commit {
    /// Store this record, then call [`Authority::committed`] or [`Authority::commit_failed`].
    New(Device),
    /// The same token was committed before.
    Already(DeviceId),
}

impl Authority {
    /// An authority without offers and requests.
    pub fn new(limits: PairingLimits, rng: &mut impl rand_core::CryptoRng) -> Self {
        Self {
            limits,
            offers: BTreeMap::new(),
            requests: BTreeMap::new(),
            serial: 0,
            boot_key: TokenKey::generate(rng),
            all_ended_by: RejectCause::LockedDown,
        }
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> &PairingLimits {
        &self.limits
    }

    /// Other limits for what comes next.
    pub fn set_limits(&mut self, limits: PairingLimits) {
        self.limits = limits;
    }

    fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("offers", &self.offers.len())
            .field("requests", &self.requests.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
