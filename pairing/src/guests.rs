//! Guests: whoever was invited to look at named resources until a time.

mod link;
mod record;
mod state;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use rand_core::CryptoRng;

pub use self::link::{GuestProof, LinkHolder};
pub(crate) use self::record::admits;
pub use self::record::{GuestEnd, GuestKey, GuestPhase, GuestRecord, Refusal};
use self::state::Guest;
use crate::devices::{TOMBSTONE, TokenHolder};
use crate::limits::{GUEST, MAX_GUESTS, SHOWN_ENDED_GUESTS};
use crate::{
    AuthError, Authenticated, EndGuestError, GuestId, GuestToken, InviteError, InviteSecret, JoinError,
    Login, Principal, ResourceId, Standing, TailnetIdentity, TokenHash, TokenKey, UnixMillis,
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
    /// Who of a tailnet the link is for; none: whoever has it.
    pub login: Option<Login>,
    /// For how long, from now on.
    pub lasts: Duration,
}

/// What came of it, for the link. Whoever embeds this tells the secret once the record is stored.
#[derive(Debug)]
pub struct Invited {
    /// Who the link makes of whoever opens it first: the record to be stored.
    pub record: GuestRecord,
    /// The link's secret, this once.
    pub secret: InviteSecret,
}

/// Why a link did not open.
#[derive(Debug)]
pub struct NotOpened {
    /// What to say.
    pub error: JoinError,
    /// The invitation, where this wrong secret was one too many: it has ended, and is to be stored as such.
    pub burned: Option<Box<EndedGuest>>,
}

/// Somebody who has become a guest. Whoever embeds this tells the token once the record is stored.
#[derive(Debug)]
pub struct Joined {
    /// The guest's token, this once.
    pub token: GuestToken,
    /// The record to be stored.
    pub record: GuestRecord,
    /// Who they are from now on.
    pub authenticated: Authenticated,
}

/// A guest who has just ended. Its liveness has ended already.
#[derive(Debug)]
pub struct EndedGuest {
    /// The record to be stored.
    pub record: GuestRecord,
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

    /// The guests of a store, in the order in which they were invited.
    #[must_use]
    pub fn load(records: impl IntoIterator<Item = GuestRecord>) -> Self {
        let mut guests = Self::new();
        for record in records {
            guests.add(record);
        }
        guests
    }

    /// Invites somebody. Only the owner may.
    ///
    /// # Errors
    /// See [`InviteError`].
    pub fn invite(
        &mut self,
        wish: Invitation,
        key: &TokenKey,
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
        self.forget(now);
        let (id, secret) = (GuestId::generate(rng), InviteSecret::generate(rng));
        let record = GuestRecord {
            id,
            sights: wish.sights.into(),
            login: wish.login,
            secret_hash: secret.hash(id, key),
            created: now,
            expires_at: now.plus(wish.lasts),
            joined: None,
            refused: None,
            ended: None,
        };
        self.add(record.clone());
        Ok(Invited { record, secret })
    }

    /// Forgets an invitation whose secret nobody was told.
    pub fn withdraw(&mut self, id: GuestId) {
        if let Some(guest) = self.all.remove(&id) {
            guest.standing.end();
        }
    }

    /// Whether the secret is that of the invitation. What comes of it still has to prove a key.
    ///
    /// # Errors
    /// [`JoinError::Unknown`], which the fifth wrong secret makes of an invitation that nobody has used. An unknown id costs as
    /// much as a wrong secret.
    pub fn open(
        &mut self,
        id: GuestId,
        secret: &InviteSecret,
        key: &TokenKey,
        now: UnixMillis,
    ) -> Result<LinkHolder, NotOpened> {
        let shown = secret.hash(id, key);
        let unknown = |burned| NotOpened {
            error: JoinError::Unknown,
            burned,
        };
        match self.all.get_mut(&id) {
            Some(guest) if guest.knows(&shown) => Ok(LinkHolder::new(id)),
            Some(guest) => Err(unknown(guest.count_wrong(now).map(Box::new))),
            None => Err(unknown(None)),
        }
    }

    /// Makes a guest of whoever proved a key for a link that nobody else has used. The same key again, as after a lost answer,
    /// gets another token, and the former is dead. Another key is refused, as is another login than the link was made for, and
    /// the owner is shown that. `from` is the address, and what the tailnet says of it.
    ///
    /// # Errors
    /// See [`JoinError`].
    pub fn join(
        &mut self,
        proof: GuestProof,
        (from, who): (&str, Option<&TailnetIdentity>),
        key: &TokenKey,
        now: UnixMillis,
        rng: &mut impl CryptoRng,
    ) -> Result<Joined, JoinError> {
        let GuestProof { id, public_key } = proof;
        let guest = self.all.get_mut(&id).ok_or(JoinError::Unknown)?;
        guest.check_login(who, from, now)?;
        let at = match (&guest.record.joined, guest.record.phase(now)) {
            (Some(joined), GuestPhase::Joined) if joined.public_key == public_key => joined.at,
            (_, GuestPhase::Invited) => now,
            (_, phase) => return Err(guest.refuse(phase, from, now)),
        };
        // Access that the former token gave ends with it.
        guest.standing.end();
        let token = GuestToken::generate(id, rng);
        guest.record.joined = Some(GuestKey {
            public_key,
            token_hash: token.hash(key),
            from: String::from(from),
            at,
        });
        Ok(Joined {
            token,
            record: guest.record.clone(),
            authenticated: guest.authenticated(),
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
        let held = guest.and_then(|guest| guest.record.joined.as_ref());
        let known = shown.matches(held.map_or(&nothing, |key| &key.token_hash));
        let (Some(guest), Some(held), true) = (guest, held, known) else {
            return Err(AuthError::Unknown);
        };
        guest.admit(now)?;
        let authenticated = guest.authenticated();
        let login = guest.record.login.clone();
        let holder = TokenHolder::of_guest(token.id(), held.public_key, login, authenticated);
        Ok(holder)
    }

    /// Whether somebody is a guest now, and may come from a peer of whom the tailnet says `from`.
    ///
    /// # Errors
    /// See [`AuthError`].
    pub fn admit(
        &self,
        id: GuestId,
        from: Option<&TailnetIdentity>,
        now: UnixMillis,
    ) -> Result<(), AuthError> {
        let guest = self.all.get(&id).ok_or(AuthError::Unknown)?;
        guest.admit(now)?;
        guest.record.admits(from)
    }

    /// Whether somebody of the tailnet is invited by their login, or a guest by it, now: then they may come, to be a guest.
    #[must_use]
    pub fn has_lane(&self, who: &TailnetIdentity, now: UnixMillis) -> bool {
        let live = self.all.values().filter(|guest| guest.is_live(now));
        live.filter_map(|guest| guest.record.login.as_ref())
            .any(|login| login.is_of(who))
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
        let guest = self.all.get_mut(&id).filter(|guest| guest.can_end(now));
        let guest = guest.ok_or(EndGuestError::UnknownGuest)?;
        Ok(guest.end(cause, now))
    }

    /// Notes that an end could not be stored, so that it can be made again before a restart brings the guest back.
    pub fn end_was_not_stored(&mut self, id: GuestId) {
        if let Some(guest) = self.all.get_mut(&id) {
            guest.end_was_not_stored();
        }
    }

    /// The ends that are still to be stored. They are the caller's now: what fails again is noted again.
    pub fn take_unstored(&mut self) -> Vec<EndedGuest> {
        self.all.values_mut().filter_map(Guest::take_unstored).collect()
    }

    /// Ends everybody, as when every remote way in is closed. Once all of what is returned is quiet, none of them does anything.
    pub fn end_all(&mut self, now: UnixMillis) -> Vec<EndedGuest> {
        let live = self.all.values_mut().filter(|guest| guest.is_live(now));
        live.map(|guest| guest.end(GuestEnd::LockedDown, now)).collect()
    }

    /// Ends those whose time is over. The caller closes their connections and stores their records.
    pub fn expire(&mut self, now: UnixMillis) -> Vec<EndedGuest> {
        let over = self.all.values_mut().filter(|guest| guest.is_over(now));
        over.map(|guest| guest.end(GuestEnd::Expired, guest.record.expires_at))
            .collect()
    }

    /// When [`Guests::expire`] will next have something to do.
    #[must_use]
    pub fn next_expiry(&self) -> Option<UnixMillis> {
        let waiting = self.all.values().filter(|guest| !guest.has_ended());
        waiting.map(|guest| guest.record.expires_at).min()
    }

    /// How many stand so.
    #[must_use]
    pub fn count(&self, phase: GuestPhase, now: UnixMillis) -> usize {
        let all = self.all.values();
        all.filter(|guest| guest.record.phase(now) == phase).count()
    }

    /// The record of a guest.
    #[must_use]
    pub fn get(&self, id: GuestId) -> Option<&GuestRecord> {
        self.all.get(&id).map(|guest| &guest.record)
    }

    /// For the owner: those that live and, of those that have ended, as many as were invited last; the first invited first.
    pub fn shown(&self) -> impl Iterator<Item = &GuestRecord> {
        let mut all: Vec<_> = self.all.values().collect();
        all.sort_by_key(|guest| guest.serial);
        let ended = all.iter().filter(|guest| guest.has_ended()).count();
        let mut excess = ended.saturating_sub(SHOWN_ENDED_GUESTS);
        all.into_iter().filter_map(move |guest| {
            if guest.has_ended() && excess > 0 {
                excess -= 1;
                return None;
            }
            Some(&guest.record)
        })
    }

    fn add(&mut self, record: GuestRecord) {
        self.serial += 1;
        self.all.insert(record.id, Guest::new(self.serial, record));
    }

    /// Forgets those that ended so long ago that nobody is told why any more. Only the owner invites, each time with a row in
    /// the trail that is kept for longer: that bounds how many there can be.
    fn forget(&mut self, now: UnixMillis) {
        let is_old = |guest: &Guest| {
            let ended = guest.record.ended;
            ended.is_some_and(|(_, at)| now.since(at) > TOMBSTONE)
        };
        self.all.retain(|_, guest| !is_old(guest));
    }
}

#[cfg(test)]
mod tests;
