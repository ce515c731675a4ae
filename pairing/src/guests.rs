//! Guests: whoever was invited to look at named resources until a time. In memory only: a restart ends them.

mod link;
mod state;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use rand_core::CryptoRng;

pub use self::link::{GuestProof, LinkHolder};
use self::state::{Guest, Key, State};
pub use self::state::{GuestEnd, GuestPhase, GuestView, Refusal};
use crate::devices::TokenHolder;
use crate::limits::{GUEST, MAX_ENDED_GUESTS, MAX_GUESTS};
use crate::{
    AuthError, Authenticated, EndGuestError, GuestId, GuestToken, InviteError, InviteSecret, JoinError,
    Principal, ResourceId, Standing, TokenHash, TokenKey, UnixMillis,
};

/// Something that a guest may look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// What.
    pub resource: ResourceId,
    /// From which mark of the embedder's on; none: all of it.
    pub since: Option<u64>,
}

/// The owner's wish to invite somebody.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// What they may look at.
    pub sights: Vec<Sight>,
    /// For how long, from now on.
    pub lasts: Duration,
}

/// What came of it, for the link.
#[derive(Debug)]
pub struct Invited {
    /// Who the link makes of whoever opens it first.
    pub id: GuestId,
    /// The link's secret, this once.
    pub secret: InviteSecret,
    /// When they are a guest no more, whether or not they came.
    pub expires_at: UnixMillis,
}

/// Somebody who has become a guest.
#[derive(Debug)]
pub struct Joined {
    /// The guest's token, this once.
    pub token: GuestToken,
    /// When they are a guest no more.
    pub expires_at: UnixMillis,
    /// Who they are from now on.
    pub authenticated: Authenticated,
}

/// A guest who has just ended. Its liveness has ended already.
#[derive(Debug)]
pub struct EndedGuest {
    /// Which.
    pub id: GuestId,
    /// Its liveness.
    pub standing: Arc<Standing>,
}

/// The guests, those who are still to come, and for a while those who have ended.
#[derive(Debug, Default)]
pub struct Guests {
    all: BTreeMap<GuestId, Guest>,
    /// How many were invited so far.
    serial: u64,
}

impl Guests {
    /// Nobody is invited.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Invites somebody. Only the owner may.
    ///
    /// # Errors
    /// See [`InviteError`].
    pub fn invite(
        &mut self,
        wish: Invitation,
        now: UnixMillis,
        rng: &mut impl CryptoRng,
    ) -> Result<Invited, InviteError> {
        if wish.sights.is_empty() {
            return Err(InviteError::Nothing);
        }
        if wish.lasts > GUEST {
            return Err(InviteError::TooLong);
        }
        if self.all.values().filter(|guest| guest.is_live(now)).count() >= MAX_GUESTS {
            return Err(InviteError::TooMany);
        }
        let (id, secret) = (GuestId::generate(rng), InviteSecret::generate(rng));
        let expires_at = now.plus(wish.lasts);
        self.serial += 1;
        let guest = Guest::new(
            self.serial,
            wish.sights.into(),
            secret.digest(id),
            (now, expires_at),
        );
        self.all.insert(id, guest);
        self.forget();
        Ok(Invited {
            id,
            secret,
            expires_at,
        })
    }

    /// Whether the secret is that of the invitation. What comes of it still has to prove a key.
    ///
    /// # Errors
    /// [`JoinError::Unknown`], which the fifth wrong secret makes of an invitation that nobody has used.
    pub fn open(
        &mut self,
        id: GuestId,
        secret: &InviteSecret,
        now: UnixMillis,
    ) -> Result<LinkHolder, JoinError> {
        let guest = self.all.get_mut(&id).ok_or(JoinError::Unknown)?;
        guest.check(&secret.digest(id), now)?;
        Ok(LinkHolder::new(id))
    }

    /// Makes a guest of whoever proved a key for a link that nobody else has used. The same key again, as after a lost answer,
    /// gets another token, and the former is dead. Another key is refused, and the owner is shown that.
    ///
    /// # Errors
    /// See [`JoinError`].
    pub fn join(
        &mut self,
        proof: GuestProof,
        from: &str,
        key: &TokenKey,
        now: UnixMillis,
        rng: &mut impl CryptoRng,
    ) -> Result<Joined, JoinError> {
        let GuestProof { id, public_key } = proof;
        let guest = self.all.get_mut(&id).ok_or(JoinError::Unknown)?;
        let at = match (&guest.state, guest.phase(now)) {
            (State::Joined(joined), GuestPhase::Joined) if joined.public_key == public_key => joined.at,
            (_, GuestPhase::Invited) => now,
            (_, phase) => return Err(guest.refuse(phase, from, now)),
        };
        // Access that the former token gave ends with it.
        guest.standing.end();
        let token = GuestToken::generate(id, rng);
        guest.state = State::Joined(Key {
            public_key,
            token_hash: token.hash(key),
            from: String::from(from),
            at,
        });
        Ok(Joined {
            token,
            expires_at: guest.expires_at,
            authenticated: guest.authenticated(id),
        })
    }

    /// Whose token this is. Alone it opens nothing: every guest has a key.
    ///
    /// # Errors
    /// See [`AuthError`]. An unknown id costs as much as a wrong secret.
    pub fn authenticate(
        &self,
        token: &GuestToken,
        key: &TokenKey,
        now: UnixMillis,
    ) -> Result<TokenHolder, AuthError> {
        let shown = token.hash(key);
        // Compared even where there is nothing to compare with, so that both answers take one comparison.
        let nothing = TokenHash::from_bytes([0; 32]);
        let guest = self.all.get(&token.id());
        let held = guest.and_then(Guest::key);
        let known = shown.matches(held.map_or(&nothing, |key| &key.token_hash));
        let (Some(guest), Some(held), true) = (guest, held, known) else {
            return Err(AuthError::Unknown);
        };
        guest.admit(now)?;
        let authenticated = guest.authenticated(token.id());
        Ok(TokenHolder::of_guest(token.id(), held.public_key, authenticated))
    }

    /// Whether somebody is a guest now.
    ///
    /// # Errors
    /// See [`AuthError`].
    pub fn admit(&self, id: GuestId, now: UnixMillis) -> Result<(), AuthError> {
        self.all.get(&id).ok_or(AuthError::Unknown)?.admit(now)
    }

    /// Ends a guest or an invitation: the owner any, so does a device that may revoke, a guest itself.
    ///
    /// # Errors
    /// See [`EndGuestError`].
    pub fn end(&mut self, by: &Principal, id: GuestId, now: UnixMillis) -> Result<EndedGuest, EndGuestError> {
        let cause = match by {
            Principal::Owner | Principal::Device { can_revoke: true, .. } => GuestEnd::Revoked,
            Principal::Guest(own) if *own == id => GuestEnd::Left,
            Principal::Device { .. } | Principal::Session(_) | Principal::Guest(_) | Principal::Nobody => {
                return Err(EndGuestError::NotPermitted);
            }
        };
        let guest = self.all.get_mut(&id).filter(|guest| guest.is_live(now));
        let guest = guest.ok_or(EndGuestError::UnknownGuest)?;
        Ok(guest.end(id, cause, now))
    }

    /// Ends everybody, as when every remote way in is closed. Once all of what is returned is quiet, none of them does anything.
    pub fn end_all(&mut self, now: UnixMillis) -> Vec<EndedGuest> {
        let live = self.all.iter_mut().filter(|(_, guest)| guest.is_live(now));
        live.map(|(id, guest)| guest.end(*id, GuestEnd::LockedDown, now))
            .collect()
    }

    /// Ends those whose time is over. The caller closes their connections.
    pub fn expire(&mut self, now: UnixMillis) -> Vec<EndedGuest> {
        let over = self.all.iter_mut().filter(|(_, guest)| guest.is_over(now));
        over.map(|(id, guest)| guest.end(*id, GuestEnd::Expired, guest.expires_at))
            .collect()
    }

    /// When [`Guests::expire`] will next have something to do.
    #[must_use]
    pub fn next_expiry(&self) -> Option<UnixMillis> {
        let waiting = self.all.values().filter(|guest| !guest.has_ended());
        waiting.map(|guest| guest.expires_at).min()
    }

    /// A guest as the owner sees it.
    #[must_use]
    pub fn view(&self, id: GuestId, now: UnixMillis) -> Option<GuestView> {
        self.all.get(&id).map(|guest| guest.view(id, now))
    }

    /// All of them, the first invited first.
    #[must_use]
    pub fn views(&self, now: UnixMillis) -> Vec<GuestView> {
        let mut all: Vec<_> = self.all.iter().collect();
        all.sort_by_key(|(_, guest)| guest.serial);
        all.into_iter().map(|(id, guest)| guest.view(*id, now)).collect()
    }

    /// Forgets those of the ended that were invited first, beyond the number that is kept.
    fn forget(&mut self) {
        let mut ended: Vec<_> = self.all.iter().filter(|(_, guest)| guest.has_ended()).collect();
        ended.sort_by_key(|(_, guest)| guest.serial);
        let excess = ended.len().saturating_sub(MAX_ENDED_GUESTS);
        for id in ended
            .into_iter()
            .take(excess)
            .map(|(id, _)| *id)
            .collect::<Vec<_>>()
        {
            self.all.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests;
