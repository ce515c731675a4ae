//! What a device signs to prove its key: made without keeping anything, and remembered only once used.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use base64ct::{Base64UrlUnpadded, Encoding};
use rand_core::CryptoRng;
use subtle::ConstantTimeEq;

use crate::error::ChallengeError;
use crate::limits::SPENT_PER_DEVICE;
use crate::token_key::TokenKey;
use crate::{KeyHolder, UnixMillis};

/// Which run of a listener: another one has another number, so that nothing made on one is good on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

/// A challenge in its wire form, which is also what enters the signed text: base64url of the moment of its end, a nonce, and the
/// HMAC of both and the listener's generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge(String);

/// A challenge of this daemon that can still be proven.
#[derive(Debug)]
pub struct OpenChallenge {
    pub(crate) text: String,
    pub(crate) nonce: Nonce,
    pub(crate) ends: UnixMillis,
    pub(crate) generation: Generation,
}

/// What tells two challenges apart.
pub(crate) type Nonce = [u8; 16];

impl Challenge {
    pub(crate) fn issue(
        key: &TokenKey,
        generation: Generation,
        ends: UnixMillis,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let mut bytes = [0; LENGTH];
        rng.fill_bytes(&mut bytes[8..24]);
        bytes[..8].copy_from_slice(&ends.0.to_be_bytes());
        let mac = mac(key, generation, &bytes[..24]);
        bytes[24..].copy_from_slice(&mac);
        Self(Base64UrlUnpadded::encode_string(&bytes))
    }

    /// The challenge on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl OpenChallenge {
    /// Reads what was sent as a challenge. One of another listener, generation or run of the daemon is as foreign as one that
    /// was made up.
    pub(crate) fn read(
        text: &str,
        key: &TokenKey,
        generation: Generation,
        now: UnixMillis,
    ) -> Result<Self, ChallengeError> {
        let mut bytes = [0; LENGTH];
        match Base64UrlUnpadded::decode(text, &mut bytes) {
            Ok(decoded) if decoded.len() == LENGTH => {}
            _ => return Err(ChallengeError::Foreign),
        }
        if !bool::from(bytes[24..].ct_eq(&mac(key, generation, &bytes[..24]))) {
            return Err(ChallengeError::Foreign);
        }
        let (ends, rest) = bytes.split_first_chunk::<8>().expect("56 bytes hold a moment");
        let (nonce, _) = rest.split_first_chunk::<16>().expect("48 bytes hold a nonce");
        let ends = UnixMillis(i64::from_be_bytes(*ends));
        if ends <= now {
            return Err(ChallengeError::Expired);
        }
        Ok(Self {
            text: text.into(),
            nonce: *nonce,
            ends,
            generation,
        })
    }
}

/// The used challenges, by who used them, each until it would have ended. Only who proved a key gets one in, so strangers cost nothing.
#[derive(Default)]
pub(crate) struct Spent {
    of_holder: BTreeMap<KeyHolder, BTreeMap<Nonce, UnixMillis>>,
}

impl Spent {
    /// Whether a holder can use a challenge up: it may have been used, or be over, since it was read.
    pub(crate) fn check(
        &mut self,
        holder: KeyHolder,
        challenge: &OpenChallenge,
        now: UnixMillis,
    ) -> Result<(), ChallengeError> {
        // What is over is not remembered.
        if challenge.ends <= now {
            return Err(ChallengeError::Expired);
        }
        let nonce = challenge.nonce;
        // Another holder may have proven it as well: a challenge is used by whomever used it.
        if self.of_holder.values().any(|nonces| nonces.contains_key(&nonce)) {
            return Err(ChallengeError::Used);
        }
        let Some(own) = self.of_holder.get_mut(&holder) else {
            return Ok(());
        };
        if own.len() >= SPENT_PER_DEVICE {
            own.retain(|_, ends| *ends > now);
        }
        if own.len() >= SPENT_PER_DEVICE {
            let first = own.values().min().map_or(Duration::ZERO, |ends| ends.since(now));
            return Err(ChallengeError::TooMany { retry_after: first });
        }
        Ok(())
    }

    /// Uses up a challenge that was checked.
    pub(crate) fn spend(&mut self, holder: KeyHolder, challenge: &OpenChallenge) {
        let own = self.of_holder.entry(holder).or_default();
        own.insert(challenge.nonce, challenge.ends);
    }

    /// Forgets those that have ended.
    pub(crate) fn sweep(&mut self, now: UnixMillis) {
        self.of_holder.retain(|_, nonces| {
            nonces.retain(|_, ends| *ends > now);
            !nonces.is_empty()
        });
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.of_holder.values().map(BTreeMap::len).sum()
    }
}

fn mac(key: &TokenKey, generation: Generation, claim: &[u8]) -> [u8; 32] {
    key.hmac(&[b"transom/challenge/v1", &generation.0.to_be_bytes(), claim])
}

/// 8 bytes of time, 16 of nonce, 32 of HMAC.
const LENGTH: usize = 56;

#[cfg(test)]
mod tests;
