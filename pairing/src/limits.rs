//! Bounds on guesses, waiting and memory.

use core::time::Duration;

use crate::Role;

/// What the embedder configures about pairing.
#[derive(Clone, Debug)]
pub struct PairingLimits {
    /// Most pending requests without an offer, of all peers together.
    pub max_pending: usize,
    /// How long the owner has to say yes or no.
    pub request_ttl: Duration,
    /// How long an offer can be claimed.
    pub offer_ttl: Duration,
    /// The role where neither offer nor approval names one.
    pub default_role: Role,
    /// From the approval on: time for exchange and commit.
    pub completion: Duration,
    /// A pending request whose device was not heard of for so long is over.
    pub away: Duration,
    /// Least time between two polls that do not wait.
    pub interval: Duration,
}

impl Default for PairingLimits {
    fn default() -> Self {
        Self {
            max_pending: 16,
            request_ttl: Duration::from_secs(600),
            offer_ttl: Duration::from_secs(300),
            default_role: Role::Viewer,
            completion: Duration::from_secs(120),
            away: Duration::from_secs(120),
            interval: Duration::from_secs(5),
        }
    }
}

/// Most pending requests without an offer of one peer: one that waits, and one after a page was loaded again.
pub(crate) const PENDING_PER_PEER: usize = 2;

/// Wrong secrets that an offer endures. Its secret has 256 bits: this finds a guesser, it does not stop one.
pub(crate) const WRONG_SECRETS: u8 = 5;

/// Most requests under one offer that have not shown a key. They stand outside the cap, so need one of their own.
pub(crate) const HIDDEN_PER_OFFER: usize = 4;

/// Most offers at a time, the ended ones included. Only the owner makes them; this bounds a loop in a script.
pub(crate) const MAX_OFFERS: usize = 64;

/// How long ended requests and offers are remembered, so that both sides can be told why.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(600);

/// Most ended requests that are remembered: about 64 KiB.
pub(crate) const MAX_ENDED: usize = 128;

/// How long an access token opens what its device may: short enough that a copied one is soon worthless.
pub const ACCESS_TTL: Duration = Duration::from_secs(900);

/// How long the challenge of a refusal can be proven.
pub(crate) const CHALLENGE_TTL: Duration = Duration::from_secs(60);

/// How long the challenge that comes with an access token can be proven: as long as the token lives, and the time of any
/// challenge more, so that the next proof needs no refusal first.
pub(crate) const RENEWAL_TTL: Duration = ACCESS_TTL.saturating_add(CHALLENGE_TTL);

/// Most access tokens of one device, as many as it may have connections. One more ends the oldest, which is told to prove
/// the key again.
pub(crate) const ACCESS_PER_DEVICE: usize = 256;

/// Most used challenges of one device that are remembered: about 200 KiB. Beyond, that device alone waits.
pub(crate) const SPENT_PER_DEVICE: usize = 4_096;

/// How long the owner's word lets a device bind itself to another node: as long as somebody takes to open it there.
pub(crate) const REBIND: Duration = Duration::from_secs(600);

/// Most invitations and guests at a time. Only the owner makes them; this bounds a loop in a script.
pub(crate) const MAX_GUESTS: usize = 256;

/// Most ended guests that the owner is shown; the trail has them all.
pub(crate) const SHOWN_ENDED_GUESTS: usize = 128;

/// The longest time for which somebody is a guest; for longer, a device is paired.
pub const GUEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// The longest life of a device that is added by hand: its token is a plain bearer.
pub const BY_HAND: Duration = Duration::from_secs(90 * 24 * 3600);
