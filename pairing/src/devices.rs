//! The devices that exist, in memory.

mod change;
mod holder;
mod rebind;
mod unstored;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

pub use self::change::{Changed, DeviceChange, Renewal};
use self::holder::admits;
pub use self::holder::{ProofCheck, ShownProof, TokenHolder};
pub use self::rebind::Binding;
use crate::standing::Standing;
use crate::{
    AuthError, Authenticated, Device, DeviceId, DeviceToken, EndCause, Label, PrefixError, Principal,
    RevokeError, Role, TailnetIdentity, TokenHash, TokenKey, Tombstone, UnixMillis, UnknownDevice,
};

/// The devices that live, and the tombstones of those that do not.
///
/// An embedder stores what changes; it may store before or after, but a device must be dead here before anybody is
/// told that it is revoked.
#[derive(Debug)]
pub struct Devices {
    live: BTreeMap<DeviceId, Entry>,
    tombstones: BTreeMap<DeviceId, Tombstone>,
    /// Ends that no store has: with a restart these devices would be back.
    unstored: BTreeMap<DeviceId, Revoked>,
    idle: Duration,
}

/// A device that has just ended.
#[derive(Debug)]
pub struct Revoked {
    /// Its last record.
    pub device: Device,
    /// What must be stored in its place.
    pub tombstone: Tombstone,
    /// Its liveness, already ended. Once it is quiet no write of the device is under way.
    pub standing: Arc<Standing>,
}

#[derive(Debug)]
struct Entry {
    device: Device,
    standing: Arc<Standing>,
    /// Until when it may bind itself to another node.
    rebinds_until: Option<UnixMillis>,
}

impl Devices {
    /// No devices. `idle` is how long a device may stay away.
    #[must_use]
    pub fn new(idle: Duration) -> Self {
        Self {
            live: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            unstored: BTreeMap::new(),
            idle,
        }
    }

    /// How long a device may stay away.
    #[must_use]
    pub fn idle(&self) -> Duration {
        self.idle
    }

    /// Lets devices stay away for another time from now on.
    pub fn set_idle(&mut self, idle: Duration) {
        self.idle = idle;
    }

    /// The devices of a store. A device that also has a tombstone stays dead.
    #[must_use]
    pub fn load(
        records: impl IntoIterator<Item = Device>,
        tombstones: impl IntoIterator<Item = Tombstone>,
        idle: Duration,
    ) -> Self {
        let mut devices = Self::new(idle);
        devices
            .tombstones
            .extend(tombstones.into_iter().map(|tombstone| (tombstone.id, tombstone)));
        for device in records {
            devices.add(device);
        }
        devices
    }

    /// Lets a stored device in. Answers whether it did: a device that is here already stays as it is, and one that
    /// has ended does not come back.
    pub fn add(&mut self, device: Device) -> bool {
        let id = device.id;
        if self.live.contains_key(&id) || self.tombstones.contains_key(&id) {
            return false;
        }
        self.live.insert(
            id,
            Entry {
                device,
                standing: Standing::new(),
                rebinds_until: None,
            },
        );
        true
    }

    /// Whose token this is, and what may come of it: see [`TokenHolder`].
    ///
    /// # Errors
    /// See [`AuthError`]. An unknown id costs as much as a wrong secret.
    pub fn authenticate(
        &self,
        token: &DeviceToken,
        key: &TokenKey,
        now: UnixMillis,
    ) -> Result<TokenHolder, AuthError> {
        let shown = token.hash(key);
        if let Some(entry) = self.live.get(&token.id()) {
            if !shown.matches(&entry.device.token_hash) {
                return Err(AuthError::Unknown);
            }
            let authenticated = self.alive(entry, now)?;
            return Ok(TokenHolder::of_device(
                &entry.device,
                entry.rebinds(now),
                authenticated,
            ));
        }
        // Compared even where there is nothing to compare with, so that both answers take one comparison.
        let nothing = TokenHash::from_bytes([0; 32]);
        let tombstone = self.tombstones.get(&token.id());
        let known = shown.matches(tombstone.map_or(&nothing, |tombstone| &tombstone.token_hash));
        match tombstone.filter(|tombstone| known && now.since(tombstone.ended) <= TOMBSTONE) {
            None => Err(AuthError::Unknown),
            Some(Tombstone {
                cause: EndCause::Revoked,
                ..
            }) => Err(AuthError::Revoked),
            Some(Tombstone {
                cause: EndCause::Expired,
                ..
            }) => Err(AuthError::Expired),
        }
    }

    /// The present authentication of a device that was authenticated before, for a connection that outlives a change
    /// of role.
    ///
    /// # Errors
    /// See [`AuthError`].
    pub fn renew(&self, id: DeviceId, now: UnixMillis) -> Result<Authenticated, AuthError> {
        match (
            self.live.get(&id),
            self.tombstones.get(&id).map(|tombstone| tombstone.cause),
        ) {
            (Some(entry), _) => self.alive(entry, now),
            (None, Some(EndCause::Revoked)) => Err(AuthError::Revoked),
            (None, Some(EndCause::Expired)) => Err(AuthError::Expired),
            (None, None) => Err(AuthError::Unknown),
        }
    }

    /// Whether a device lives, and may come from a peer of whom the tailnet says `from`.
    ///
    /// # Errors
    /// See [`AuthError`].
    pub fn admit(
        &self,
        id: DeviceId,
        from: Option<&TailnetIdentity>,
        now: UnixMillis,
    ) -> Result<(), AuthError> {
        self.renew(id, now)?;
        let device = &self.live.get(&id).ok_or(AuthError::Unknown)?.device;
        admits(device.tailnet.as_ref(), device.any_path, from)
    }

    /// Ends a device for good, if `by` may. One whose end was not stored is ended again, as it was.
    ///
    /// # Errors
    /// See [`RevokeError`].
    pub fn revoke(&mut self, by: &Principal, id: DeviceId, now: UnixMillis) -> Result<Revoked, RevokeError> {
        self.may_revoke(by, id)?;
        if let Some(again) = self.unstored.remove(&id) {
            return Ok(again);
        }
        self.end(id, EndCause::Revoked, now)
            .ok_or(RevokeError::UnknownDevice)
    }

    /// Whether `by` may end the device: the owner any, a device itself, and with `can_revoke` those that lack it.
    ///
    /// # Errors
    /// See [`RevokeError`].
    pub fn may_revoke(&self, by: &Principal, id: DeviceId) -> Result<(), RevokeError> {
        let live = self.live.get(&id).map(|entry| &entry.device);
        let target = live.or_else(|| self.unstored.get(&id).map(|revoked| &revoked.device));
        let allowed = match by {
            Principal::Owner => true,
            Principal::Device { id: own, .. } if *own == id => true,
            Principal::Device { can_revoke, .. } => {
                *can_revoke && target.is_none_or(|target| !target.can_revoke)
            }
            Principal::Session(_) | Principal::Guest(_) | Principal::Nobody => false,
        };
        match (allowed, target) {
            (false, _) => Err(RevokeError::NotPermitted),
            (true, None) => Err(RevokeError::UnknownDevice),
            (true, Some(_)) => Ok(()),
        }
    }

    /// Ends everything that was authenticated, of every device, and takes back what lets one bind itself anew; their trust
    /// stays. Once all of what is returned is quiet, no
    /// write of a device is under way.
    pub fn end_authentications(&mut self) -> Vec<Arc<Standing>> {
        self.live
            .values_mut()
            .map(|entry| {
                entry.standing.end();
                entry.rebinds_until = None;
                Arc::clone(&entry.standing)
            })
            .collect()
    }

    /// Ends the devices whose time is over. The caller stores the tombstones and closes their connections.
    pub fn expire(&mut self, now: UnixMillis) -> Vec<Revoked> {
        let over: Vec<_> = self
            .live
            .values()
            .filter(|entry| self.is_over(entry, now))
            .map(|e| e.device.id)
            .collect();
        over.into_iter()
            .filter_map(|id| self.end(id, EndCause::Expired, now))
            .collect()
    }

    /// When [`Devices::expire`] will next have something to do, unless that device is heard of before.
    #[must_use]
    pub fn next_expiry(&self) -> Option<UnixMillis> {
        self.live
            .values()
            .map(|entry| entry.device.ends_at(self.idle))
            .min()
    }

    /// Forgets tombstones older than 90 days, and says which, so that the store can.
    pub fn forget_old(&mut self, now: UnixMillis) -> Vec<DeviceId> {
        let old = |tombstone: &Tombstone| now.since(tombstone.ended) > TOMBSTONE;
        self.tombstones
            .extract_if(.., |_, tombstone| old(tombstone))
            .map(|(id, _)| id)
            .collect()
    }

    /// Gives a device another role. What was authenticated before ends, as it might do more than the new role may.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn set_role(&mut self, id: DeviceId, role: Role) -> Result<&Device, UnknownDevice> {
        let entry = self.live.get_mut(&id).ok_or(UnknownDevice)?;
        if entry.device.role != role {
            entry.device.role = role;
            entry.standing.end();
        }
        Ok(&entry.device)
    }

    /// Gives a device another name.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn rename(&mut self, id: DeviceId, label: Label) -> Result<&Device, UnknownDevice> {
        let entry = self.live.get_mut(&id).ok_or(UnknownDevice)?;
        entry.device.label = label;
        Ok(&entry.device)
    }

    /// Notes that a device was heard of. Answers the record if it is worth storing: at most once a minute, unless it would have
    /// ended until then.
    pub fn touch(&mut self, id: DeviceId, address: &str, now: UnixMillis) -> Option<&Device> {
        let every = SEEN_EVERY.min(self.idle / 4);
        let device = &mut self.live.get_mut(&id)?.device;
        // One that is far ahead was noted by a clock that was set back since.
        let fresh = device
            .last_seen
            .is_some_and(|seen| now.since(seen).max(seen.since(now)) < every);
        if fresh {
            return None;
        }
        device.last_seen = Some(now);
        device.last_address = Some(address.into());
        Some(device)
    }

    /// The record of a device.
    #[must_use]
    pub fn get(&self, id: DeviceId) -> Option<&Device> {
        self.live.get(&id).map(|entry| &entry.device)
    }

    /// Every device, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = &Device> {
        self.live.values().map(|entry| &entry.device)
    }

    /// The one device whose id begins so, with or without `dev_`.
    ///
    /// # Errors
    /// See [`PrefixError`].
    pub fn find(&self, prefix: &str) -> Result<DeviceId, PrefixError> {
        let digits = prefix.strip_prefix(DeviceId::PREFIX).unwrap_or(prefix);
        if digits.is_empty() {
            return Err(PrefixError::NoMatch);
        }
        let wanted: String = [DeviceId::PREFIX, digits].concat();
        let found: Vec<_> = self
            .live
            .keys()
            .filter(|id| id.to_string().starts_with(&wanted))
            .copied()
            .collect();
        match found.as_slice() {
            [] => Err(PrefixError::NoMatch),
            [id] => Ok(*id),
            _ => Err(PrefixError::Ambiguous(found)),
        }
    }

    fn alive(&self, entry: &Entry, now: UnixMillis) -> Result<Authenticated, AuthError> {
        if self.is_over(entry, now) {
            return Err(AuthError::Expired);
        }
        Ok(Authenticated::new(
            entry.device.principal(),
            Arc::clone(&entry.standing),
        ))
    }

    fn is_over(&self, entry: &Entry, now: UnixMillis) -> bool {
        entry.device.ends_at(self.idle) <= now
    }

    fn end(&mut self, id: DeviceId, cause: EndCause, now: UnixMillis) -> Option<Revoked> {
        let Entry { device, standing, .. } = self.live.remove(&id)?;
        standing.end();
        let tombstone = Tombstone {
            id,
            token_hash: device.token_hash.clone(),
            cause,
            ended: now,
        };
        self.tombstones.insert(id, tombstone.clone());
        Some(Revoked {
            device,
            tombstone,
            standing,
        })
    }
}

/// How long an ended token is told why it ended.
pub(crate) const TOMBSTONE: Duration = Duration::from_secs(90 * 24 * 3600);

/// Least time between two notes that a device was heard of: each is a row to be written.
const SEEN_EVERY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
