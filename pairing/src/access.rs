//! Access tokens: what a proof gives, for minutes and in memory only.

use alloc::collections::{BTreeMap, VecDeque};

use rand_core::CryptoRng;

use crate::limits::{ACCESS_PER_DEVICE, ACCESS_TTL};
use crate::proofs::{Place, Proof};
use crate::token_key::TokenKey;
use crate::{
    AccessId, AccessToken, AuthError, Authenticated, Generation, Holders, KeyHolder, TailnetIdentity,
    TokenHash, UnixMillis,
};

/// The access tokens that have not ended by time.
#[derive(Default)]
pub(crate) struct AccessTokens {
    live: BTreeMap<AccessId, Entry>,
    /// In the order in which they were made, which is that in which they end.
    of_holder: BTreeMap<KeyHolder, VecDeque<AccessId>>,
}

struct Entry {
    hash: TokenHash,
    holder: KeyHolder,
    /// As it was when the key was proven: the end of the holder or another role ends the token with it.
    authenticated: Authenticated,
    generation: Generation,
    /// Of a device that is bound to a node: what the tailnet said of the peer that proved the key.
    node: Option<TailnetIdentity>,
    made: UnixMillis,
}

impl Entry {
    fn is_over(&self, now: UnixMillis) -> bool {
        now.since(self.made) >= ACCESS_TTL
    }

    fn is_good_at(&self, place: &Place<'_>) -> bool {
        let same_node = match (&self.node, place.tailnet) {
            (Some(made_for), Some(seen)) => made_for.is_same(seen),
            (Some(_), None) => false,
            // Not bound, or proven where nobody could say from which node: then the device's own rule decides.
            (None, _) => true,
        };
        self.generation == place.generation && same_node
    }
}

impl AccessTokens {
    /// Makes a token of a proof.
    pub(crate) fn grant(
        &mut self,
        proof: Proof,
        key: &TokenKey,
        now: UnixMillis,
        rng: &mut impl CryptoRng,
    ) -> AccessToken {
        let token = AccessToken::generate(AccessId::generate(rng), rng);
        let own = self.of_holder.entry(proof.holder).or_default();
        while own.len() >= ACCESS_PER_DEVICE
            || own
                .front()
                .is_some_and(|id| self.live.get(id).is_none_or(|entry| entry.is_over(now)))
        {
            if let Some(oldest) = own.pop_front() {
                self.live.remove(&oldest);
            }
        }
        own.push_back(token.id());
        self.live.insert(
            token.id(),
            Entry {
                hash: token.hash(key),
                holder: proof.holder,
                authenticated: proof.authenticated,
                generation: proof.challenge.generation,
                node: proof.node,
                made: now,
            },
        );
        token
    }

    /// Whose token this is.
    pub(crate) fn authenticate(
        &self,
        token: &AccessToken,
        key: &TokenKey,
        holders: &dyn Holders,
        place: &Place<'_>,
        now: UnixMillis,
    ) -> Result<(KeyHolder, Result<Authenticated, AuthError>), AuthError> {
        let shown = token.hash(key);
        // Compared even where there is nothing to compare with, so that both answers take one comparison.
        let nothing = TokenHash::from_bytes([0; 32]);
        let entry = self.live.get(&token.id());
        let known = shown.matches(entry.map_or(&nothing, |entry| &entry.hash));
        let entry = entry
            .filter(|entry| known && !entry.is_over(now))
            .ok_or(AuthError::AccessEnded)?;
        let admitted = holders.admit(entry.holder, place.tailnet, now);
        let good = admitted.and_then(|()| {
            if entry.is_good_at(place) && entry.authenticated.is_current() {
                Ok(entry.authenticated.clone())
            } else {
                Err(AuthError::AccessEnded)
            }
        });
        Ok((entry.holder, good))
    }

    /// Forgets those that have ended.
    pub(crate) fn sweep(&mut self, now: UnixMillis) {
        self.live.retain(|_, entry| !entry.is_over(now));
        let live = &self.live;
        self.of_holder.retain(|_, own| {
            own.retain(|id| live.contains_key(id));
            !own.is_empty()
        });
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }
}
