//! Another node: a device that has moved binds itself anew where the owner lets it.

use super::{Devices, Entry};
use crate::limits::REBIND;
use crate::{ChangeError, DeviceId, TailnetIdentity, UnixMillis};

/// To what a device is bound from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// To the node from which it proved its key at this moment. Only where the owner lets it.
    Node {
        /// What the tailnet says of the node.
        node: TailnetIdentity,
        /// When it was proven.
        at: UnixMillis,
    },
    /// To no node: it may come from anywhere.
    Nowhere,
}

impl Devices {
    /// Lets a device bind itself once to the node from which it proves its key next, and says until when. What it is bound to
    /// holds until then, and after it if the device did not come. In memory only: a restart takes it back.
    ///
    /// # Errors
    /// If there is no such device, or it has no key to prove.
    pub fn let_rebind(&mut self, id: DeviceId, now: UnixMillis) -> Result<UnixMillis, ChangeError> {
        self.may_be_bound(id)?;
        let entry = self.live.get_mut(&id).ok_or(ChangeError::UnknownDevice)?;
        let until = now.plus(REBIND);
        entry.rebinds_until = Some(until);
        Ok(until)
    }

    /// Whether a device could be bound to a node at all.
    ///
    /// # Errors
    /// If there is no such device, or it has no key to prove.
    pub fn may_be_bound(&self, id: DeviceId) -> Result<(), ChangeError> {
        let device = self.get(id).ok_or(ChangeError::UnknownDevice)?;
        device.public_key.map(|_| ()).ok_or(ChangeError::NothingToBind)
    }

    /// Until when a device may bind itself anew; none if it may not.
    #[must_use]
    pub fn rebinds_until(&self, id: DeviceId, now: UnixMillis) -> Option<UnixMillis> {
        self.live.get(&id)?.rebinds_until.filter(|until| *until > now)
    }
}

impl Entry {
    /// Whether the device may bind itself anew.
    pub(super) fn rebinds(&self, now: UnixMillis) -> bool {
        self.rebinds_until.is_some_and(|until| until > now)
    }

    /// What it is bound to after such a change.
    pub(super) fn bound_by(&self, binding: &Binding) -> Result<Option<TailnetIdentity>, ChangeError> {
        match binding {
            _ if self.device.public_key.is_none() => Err(ChangeError::NothingToBind),
            Binding::Node { at, .. } if !self.rebinds(*at) => Err(ChangeError::MayNotRebind),
            Binding::Node { node, .. } => Ok(Some(node.clone())),
            Binding::Nowhere => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Binding;
    use crate::limits::REBIND;
    use crate::testing::{at, device, token, token_key};
    use crate::{AuthError, ChangeError, Device, DeviceChange, Devices, TailnetIdentity, TokenHolder};
    use core::time::Duration;

    fn node(name: &str) -> TailnetIdentity {
        TailnetIdentity {
            user_id: "u".into(),
            user: "alice".into(),
            node_id: name.into(),
            node: name.into(),
            tags: [].into(),
        }
    }

    /// Device 1 is bound to node `old`, device 2 to none, and device 3 has no key.
    fn devices() -> Devices {
        let bound = Device {
            tailnet: Some(node("old")),
            ..device(1)
        };
        let bearer = Device {
            public_key: None,
            ..device(3)
        };
        Devices::load([bound, device(2), bearer], [], Duration::from_secs(1_000_000))
    }

    fn binding(binding: Binding) -> DeviceChange {
        DeviceChange {
            binding: Some(binding),
            ..DeviceChange::default()
        }
    }

    fn to(name: &str, second: i64) -> DeviceChange {
        binding(Binding::Node {
            node: node(name),
            at: at(second),
        })
    }

    fn holder(devices: &Devices, n: u8, second: i64) -> TokenHolder {
        devices.authenticate(&token(n), &token_key(), at(second)).unwrap()
    }

    #[test]
    fn it_binds_itself_once_where_the_owner_lets_it_and_what_came_before_has_ended() {
        let mut devices = devices();
        let id = device(1).id;
        assert_eq!(
            devices.change(id, &to("new", 0)).unwrap_err(),
            ChangeError::MayNotRebind
        );
        let until = devices.let_rebind(id, at(0)).unwrap();
        assert_eq!(devices.rebinds_until(id, at(0)), Some(until));
        let before = devices.renew(id, at(0)).unwrap();
        assert_eq!(
            holder(&devices, 1, 0).rebinds_to(Some(&node("new"))),
            Some(&node("new"))
        );
        let changed = devices.change(id, &to("new", 1)).unwrap();
        assert_eq!(changed.device.tailnet, Some(node("new")));
        assert!(changed.ended.is_some() && !before.is_current());
        assert_eq!(devices.admit(id, Some(&node("new")), at(1)), Ok(()));
        assert_eq!(
            devices.admit(id, Some(&node("old")), at(1)),
            Err(AuthError::WrongNode)
        );
        assert_eq!(
            devices.change(id, &to("third", 1)).unwrap_err(),
            ChangeError::MayNotRebind
        );
    }

    #[test]
    fn until_it_comes_and_after_its_time_it_is_bound_as_before() {
        let mut devices = devices();
        let id = device(1).id;
        devices.let_rebind(id, at(0)).unwrap();
        assert_eq!(devices.admit(id, Some(&node("old")), at(1)), Ok(()));
        assert_eq!(
            devices.admit(id, Some(&node("new")), at(1)),
            Err(AuthError::WrongNode)
        );
        assert_eq!(
            holder(&devices, 1, 1).rebinds_to(Some(&node("old"))),
            None,
            "it is there already"
        );
        assert_eq!(
            holder(&devices, 1, 1).rebinds_to(None),
            None,
            "there is no node to bind it to"
        );
        let over = i64::try_from(REBIND.as_secs()).unwrap();
        assert_eq!(holder(&devices, 1, over).rebinds_to(Some(&node("new"))), None);
        assert_eq!(
            devices.change(id, &to("new", over)).unwrap_err(),
            ChangeError::MayNotRebind
        );
        assert_eq!(devices.rebinds_until(id, at(over)), None);
    }

    #[test]
    fn a_lock_down_takes_it_back() {
        let mut devices = devices();
        let id = device(1).id;
        devices.let_rebind(id, at(0)).unwrap();
        devices.end_authentications();
        assert_eq!(devices.rebinds_until(id, at(1)), None);
    }

    #[test]
    fn bound_to_no_node_it_comes_from_anywhere_and_nothing_of_it_ends() {
        let mut devices = devices();
        let id = device(1).id;
        devices.let_rebind(id, at(0)).unwrap();
        let before = devices.renew(id, at(0)).unwrap();
        let changed = devices.change(id, &binding(Binding::Nowhere)).unwrap();
        assert!(changed.ended.is_none() && before.is_current());
        for from in [None, Some(&node("new"))] {
            assert_eq!(devices.admit(id, from, at(1)), Ok(()));
        }
        assert_eq!(devices.rebinds_until(id, at(1)), None);
    }

    #[test]
    fn one_that_is_bound_to_no_node_may_bind_itself_and_then_comes_from_there_alone() {
        let mut devices = devices();
        let id = device(2).id;
        let before = devices.renew(id, at(0)).unwrap();
        devices.let_rebind(id, at(0)).unwrap();
        devices.change(id, &to("new", 1)).unwrap();
        assert!(!before.is_current());
        assert_eq!(devices.admit(id, None, at(1)), Err(AuthError::NodeUnknown));
    }

    #[test]
    fn without_a_key_there_is_nothing_to_bind() {
        let mut devices = devices();
        let id = device(3).id;
        assert_eq!(devices.let_rebind(id, at(0)), Err(ChangeError::NothingToBind));
        let unbound = devices.change(id, &binding(Binding::Nowhere));
        assert_eq!(unbound.unwrap_err(), ChangeError::NothingToBind);
        let unknown = device(9).id;
        assert_eq!(
            devices.let_rebind(unknown, at(0)),
            Err(ChangeError::UnknownDevice)
        );
    }
}
