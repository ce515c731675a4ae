//! Another name, another role, another end, or another node.

use alloc::sync::Arc;
use core::time::Duration;

use super::{Binding, Devices};
use crate::limits::BY_HAND;
use crate::{ChangeError, Device, DeviceId, Label, Role, Standing, UnixMillis};

/// What is to be another of a device; what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceChange {
    /// Its name.
    pub label: Option<Label>,
    /// What it may do.
    pub role: Option<Role>,
    /// Whether it may end devices that lack this.
    pub can_revoke: Option<bool>,
    /// How long it lives from now on.
    pub renewal: Option<Renewal>,
    /// To what it is bound.
    pub binding: Option<Binding>,
}

/// A device's life, counted anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// From when on.
    pub from: UnixMillis,
    /// How long.
    pub lives: Duration,
}

/// A device that has just changed.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Its record now.
    pub device: Device,
    /// Its liveness, if its rights changed or it moved: what was authenticated before has ended, and once this is quiet no write
    /// by the former rights is under way.
    pub ended: Option<Arc<Standing>>,
    /// Whether it is bound to another node than before, or to one at all: what it has open elsewhere is to be closed.
    pub has_moved: bool,
}

impl Devices {
    /// What a device would be, for the store, which is written first.
    ///
    /// # Errors
    /// See [`ChangeError`].
    pub fn would_be(&self, id: DeviceId, change: &DeviceChange) -> Result<Device, ChangeError> {
        let entry = self.live.get(&id).ok_or(ChangeError::UnknownDevice)?;
        let now = &entry.device;
        let mut device = now.clone();
        if let Some(label) = &change.label {
            device.label = label.clone();
        }
        device.role = change.role.unwrap_or(device.role);
        device.can_revoke = change.can_revoke.unwrap_or(device.can_revoke);
        if device.public_key.is_none() && rights(&device) != rights(now) {
            return Err(ChangeError::WithoutKey);
        }
        if device.public_key.is_some() && device.role == Role::Metrics {
            return Err(ChangeError::NoReader);
        }
        if let Some(Renewal { from, lives }) = change.renewal {
            if device.public_key.is_none() && lives > BY_HAND {
                return Err(ChangeError::LivesTooLong);
            }
            device.expires_at = Some(from.plus(lives));
        }
        if let Some(binding) = &change.binding {
            device.tailnet = entry.bound_by(binding)?;
        }
        Ok(device)
    }

    /// Changes a device. What was authenticated before ends where the rights are others, as it might do more than these allow,
    /// and where the node is another.
    ///
    /// # Errors
    /// See [`ChangeError`].
    pub fn change(&mut self, id: DeviceId, change: &DeviceChange) -> Result<Changed, ChangeError> {
        let device = self.would_be(id, change)?;
        let entry = self.live.get_mut(&id).ok_or(ChangeError::UnknownDevice)?;
        let has_moved = has_moved(&entry.device, &device);
        let is_other = has_moved || rights(&device) != rights(&entry.device);
        entry.device = device.clone();
        if change.binding.is_some() {
            entry.rebinds_until = None;
        }
        let ended = is_other.then(|| Arc::clone(&entry.standing));
        if let Some(standing) = &ended {
            standing.end();
        }
        Ok(Changed {
            device,
            ended,
            has_moved,
        })
    }
}

fn has_moved(before: &Device, after: &Device) -> bool {
    let was_there = |node| before.tailnet.as_ref().is_some_and(|bound| bound.is_same(node));
    after.tailnet.as_ref().is_some_and(|node| !was_there(node))
}

fn rights(device: &Device) -> (Role, bool) {
    (device.role, device.can_revoke)
}

#[cfg(test)]
mod tests {
    use super::{Changed, DeviceChange, Renewal};
    use crate::limits::BY_HAND;
    use crate::testing::{at, device};
    use crate::{AuthError, ChangeError, Devices, Role, Write};
    use core::time::Duration;

    fn devices() -> Devices {
        let mut bearer = device(2);
        bearer.public_key = None;
        Devices::load([device(1), bearer], [], Duration::from_secs(3600))
    }

    fn role(role: Role) -> DeviceChange {
        DeviceChange {
            role: Some(role),
            ..DeviceChange::default()
        }
    }

    #[test]
    fn other_rights_end_what_was_authenticated_and_hold_from_then_on() {
        let mut devices = devices();
        let id = device(1).id;
        devices.change(id, &role(Role::Operator)).unwrap();
        let writer = devices.renew(id, at(0)).unwrap();
        let permit = writer.permit::<Write>(None).unwrap();
        let hold = permit.hold().unwrap();
        let Changed { device, ended, .. } = devices.change(id, &role(Role::Viewer)).unwrap();
        assert_eq!(device.role, Role::Viewer);
        let ended = ended.unwrap();
        assert!(!ended.is_quiet() && permit.hold().is_none());
        drop(hold);
        assert!(ended.is_quiet());
        assert!(devices.renew(id, at(0)).unwrap().permit::<Write>(None).is_err());
    }

    #[test]
    fn another_name_ends_nothing_and_neither_do_the_same_rights() {
        let mut devices = devices();
        let id = device(1).id;
        let before = devices.renew(id, at(0)).unwrap();
        let change = DeviceChange {
            label: Some("tablet".parse().unwrap()),
            role: Some(Role::Viewer),
            can_revoke: Some(false),
            ..DeviceChange::default()
        };
        let changed = devices.change(id, &change).unwrap();
        assert_eq!(changed.device.label.as_str(), "tablet");
        assert!(changed.ended.is_none() && before.is_current());
    }

    #[test]
    fn the_grant_to_revoke_is_given_and_taken_at_once() {
        let mut devices = devices();
        let id = device(1).id;
        let grant = |can_revoke| DeviceChange {
            can_revoke: Some(can_revoke),
            ..DeviceChange::default()
        };
        devices.change(id, &grant(true)).unwrap();
        let may = devices.renew(id, at(0)).unwrap();
        assert!(devices.may_revoke(may.principal(), device(2).id).is_ok());
        devices.change(id, &grant(false)).unwrap();
        assert!(!may.is_current());
        let may = devices.renew(id, at(0)).unwrap();
        assert!(devices.may_revoke(may.principal(), device(2).id).is_err());
    }

    #[test]
    fn a_device_without_a_key_keeps_its_rights_and_one_with_a_key_reads_no_metrics() {
        let mut devices = devices();
        let mut change = |n, wish: &DeviceChange| devices.change(device(n).id, wish).map(|_| ());
        assert_eq!(change(2, &role(Role::Operator)), Err(ChangeError::WithoutKey));
        assert_eq!(change(1, &role(Role::Metrics)), Err(ChangeError::NoReader));
        assert_eq!(change(3, &role(Role::Viewer)), Err(ChangeError::UnknownDevice));
        let name = DeviceChange {
            label: Some("ci".parse().unwrap()),
            ..DeviceChange::default()
        };
        assert_eq!(change(2, &name), Ok(()));
    }

    fn renewal(lives: Duration) -> DeviceChange {
        DeviceChange {
            renewal: Some(Renewal { from: at(0), lives }),
            ..DeviceChange::default()
        }
    }

    #[test]
    fn a_renewed_device_ends_when_that_says_sooner_or_later_than_before_and_loses_nothing_else() {
        let mut devices = devices();
        let id = device(1).id;
        let before = devices.renew(id, at(0)).unwrap();
        for seconds in [1_000_i64, 10] {
            let changed = devices
                .change(id, &renewal(Duration::from_secs(seconds.unsigned_abs())))
                .unwrap();
            assert_eq!(changed.device.expires_at, Some(at(seconds)));
            assert!(changed.ended.is_none() && before.is_current());
        }
        assert!(devices.renew(id, at(9)).is_ok());
        assert_eq!(devices.renew(id, at(10)).unwrap_err(), AuthError::Expired);
    }

    #[test]
    fn one_without_a_key_is_renewed_for_no_longer_than_it_could_be_made_for() {
        let mut devices = devices();
        let mut renewed = |n, lives| devices.change(device(n).id, &renewal(lives)).map(|_| ());
        let longer = BY_HAND + Duration::from_secs(1);
        assert_eq!(renewed(2, BY_HAND), Ok(()));
        assert_eq!(renewed(2, longer), Err(ChangeError::LivesTooLong));
        assert_eq!(renewed(1, longer), Ok(()));
    }
}
