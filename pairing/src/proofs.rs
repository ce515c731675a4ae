//! Proof of possession: challenges out, proofs in, access tokens for them.

use core::fmt;
use core::time::Duration;

use rand_core::CryptoRng;

use crate::access::AccessTokens;
use crate::challenge::{Challenge, Generation, OpenChallenge, Spent};
use crate::limits::{ACCESS_TTL, CHALLENGE_TTL, RENEWAL_TTL};
use crate::token_key::TokenKey;
use crate::{
    AccessToken, AuthError, Authenticated, ChallengeError, Holders, KeyHolder, TailnetIdentity, UnixMillis,
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

/// A checked proof that somebody has both the token and the key of a device or guest.
#[derive(Debug)]
pub struct Proof {
    pub(crate) holder: KeyHolder,
    pub(crate) authenticated: Authenticated,
    pub(crate) node: Option<TailnetIdentity>,
    pub(crate) challenge: OpenChallenge,
}

/// A proof whose challenge nobody has used. Dropped, it leaves it unused.
pub struct Claimed<'a> {
    proofs: &'a mut Proofs,
    proof: Proof,
    now: UnixMillis,
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

impl Claimed<'_> {
    /// Who has proven to be whom.
    #[must_use]
    pub fn authenticated(&self) -> &Authenticated {
        &self.proof.authenticated
    }

    /// Uses the proof's challenge up, and makes an access token. Others of the same device live on.
    pub fn grant(self, rng: &mut impl CryptoRng) -> Granted {
        let Self { proofs, proof, now } = self;
        proofs.spent.spend(proof.holder, &proof.challenge);
        let generation = proof.challenge.generation;
        Granted {
            token: proofs.tokens.grant(proof, &proofs.boot_key, now, rng),
            expires_in: ACCESS_TTL,
            challenge: Challenge::issue(&proofs.boot_key, generation, now.plus(RENEWAL_TTL), rng),
        }
    }
}

impl fmt::Debug for Claimed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Claimed").field(&self.proof).finish()
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

    /// Takes up a proof, so that it can be used or left unused.
    ///
    /// # Errors
    /// If its challenge was used before or is over by now, or the device has used more than are remembered.
    pub fn claim(&mut self, proof: Proof, now: UnixMillis) -> Result<Claimed<'_>, ChallengeError> {
        self.sweep(now);
        self.spent.check(proof.holder, &proof.challenge, now)?;
        Ok(Claimed {
            proofs: self,
            proof,
            now,
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
        holders: &dyn Holders,
        place: &Place<'_>,
        now: UnixMillis,
    ) -> Result<(KeyHolder, Result<Authenticated, AuthError>), AuthError> {
        self.tokens
            .authenticate(token, &self.boot_key, holders, place, now)
    }

    /// Now and then forgets what has ended, of holders too that do not come again.
    fn sweep(&mut self, now: UnixMillis) {
        if now.since(self.swept) >= CHALLENGE_TTL {
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
