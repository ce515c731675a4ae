//! Proof of possession: challenges out, proofs in, access tokens for them (access.md 4).

use core::fmt;
use core::time::Duration;

use rand_core::CryptoRng;

use crate::access::AccessTokens;
use crate::challenge::{Challenge, Generation, OpenChallenge, Spent};
use crate::limits::{ACCESS_TTL, CHALLENGE_TTL, RENEWAL_TTL};
use crate::token_key::TokenKey;
use crate::{
    AccessToken, AuthError, Authenticated, ChallengeError, DeviceId, Devices, TailnetIdentity, UnixMillis,
};

/// Makes challenges and access tokens, and knows which of them are still good. In memory only: a restart ends all of them, and
/// a device proves its key again.
pub struct Proofs {
    /// Made anew with each run and never stored: what was made before is foreign after.
    boot_key: TokenKey,
    spent: Spent,
    tokens: AccessTokens,
    swept: UnixMillis,
}

/// Where a request came in.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The run of the listener.
    pub generation: Generation,
    /// What the tailnet says about the peer.
    pub tailnet: Option<&'a TailnetIdentity>,
}

/// A checked proof that somebody has both the token and the key of a device.
#[derive(Debug)]
pub struct Proof {
    pub(crate) device: DeviceId,
    pub(crate) authenticated: Authenticated,
    pub(crate) node: Option<TailnetIdentity>,
    pub(crate) challenge: OpenChallenge,
}

/// What a proof gives.
#[derive(Debug)]
pub struct Granted {
    /// The token, this once.
    pub token: AccessToken,
    /// How long it lives.
    pub expires_in: Duration,
    /// What to prove for the next one.
    pub challenge: Challenge,
}

impl Proof {
    /// Who has proven to be whom.
    #[must_use]
    pub fn authenticated(&self) -> &Authenticated {
        &self.authenticated
    }
}

impl Proofs {
    /// Nothing is proven yet.
    pub fn new(rng: &mut impl CryptoRng) -> Self {
        Self {
            boot_key: TokenKey::generate(rng),
            spent: Spent::default(),
            tokens: AccessTokens::default(),
            swept: UnixMillis(0),
        }
    }

    /// A challenge for whoever was refused. Nothing is kept of it.
    pub fn challenge(&self, generation: Generation, now: UnixMillis, rng: &mut impl CryptoRng) -> Challenge {
        Challenge::issue(&self.boot_key, generation, now.plus(CHALLENGE_TTL), rng)
    }

    /// Reads what somebody sent as the challenge that they prove.
    ///
    /// # Errors
    /// If it is foreign or has expired.
    pub fn open(
        &self,
        challenge: &str,
        generation: Generation,
        now: UnixMillis,
    ) -> Result<OpenChallenge, ChallengeError> {
        OpenChallenge::read(challenge, &self.boot_key, generation, now)
    }

    /// Uses the proof's challenge up, and makes an access token. Others of the same device live on.
    ///
    /// # Errors
    /// If the challenge was used before, or the device has used more than are remembered.
    pub fn grant(
        &mut self,
        proof: Proof,
        now: UnixMillis,
        rng: &mut impl CryptoRng,
    ) -> Result<Granted, ChallengeError> {
        self.sweep(now);
        let OpenChallenge {
            nonce,
            ends,
            generation,
            ..
        } = proof.challenge;
        self.spent.spend(proof.device, nonce, ends, now)?;
        Ok(Granted {
            token: self.tokens.grant(proof, &self.boot_key, now, rng),
            expires_in: ACCESS_TTL,
            challenge: Challenge::issue(&self.boot_key, generation, now.plus(RENEWAL_TTL), rng),
        })
    }

    /// Whose access token this is, and as whom it opens something at this place, or why not: [`AuthError::AccessEnded`] of one
    /// that was made for another place, or over by role; else what has become of its device.
    ///
    /// # Errors
    /// [`AuthError::AccessEnded`] of one that is unknown or over by time. An unknown id costs as much as a wrong secret.
    pub fn authenticate(
        &self,
        token: &AccessToken,
        devices: &Devices,
        place: &Place<'_>,
        now: UnixMillis,
    ) -> Result<(DeviceId, Result<Authenticated, AuthError>), AuthError> {
        self.tokens
            .authenticate(token, &self.boot_key, devices, place, now)
    }

    /// Now and then forgets what has ended, of devices too that do not come again.
    fn sweep(&mut self, now: UnixMillis) {
        if now < self.swept || now.since(self.swept) >= CHALLENGE_TTL {
            self.swept = now;
            self.spent.sweep(now);
            self.tokens.sweep(now);
        }
    }
}

impl fmt::Debug for Proofs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proofs")
    }
}

#[cfg(test)]
mod tests;
