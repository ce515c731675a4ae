//! The record of a device, and what is left of one.

mod by_hand;

use alloc::string::String;
use core::time::Duration;

pub use self::by_hand::{ByHand, LivesTooLong};
use crate::{DeviceId, Label, Principal, PublicKey, Role, TailnetIdentity, TokenHash, UnixMillis};

/// A paired device: the whole record to be stored.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its id, which is also in its token.
    pub id: DeviceId,
    /// Its name for people.
    pub label: Label,
    /// Its key. Paired devices have one; none is for those that are added by hand.
    pub public_key: Option<PublicKey>,
    /// What it may do with resources.
    pub role: Role,
    /// Whether it may list devices and end those that lack this.
    pub can_revoke: bool,
    /// Whether it may come on listeners that cannot say from which node, although it is bound to one.
    pub any_path: bool,
    /// What is kept of its token.
    pub token_hash: TokenHash,
    /// When it was made.
    pub created: UnixMillis,
    /// The address from which it asked.
    pub approved_from: String,
    /// The tailnet user and node that it is bound to.
    pub tailnet: Option<TailnetIdentity>,
    /// When it ends.
    pub expires_at: Option<UnixMillis>,
    /// When it was last heard of; at most once a minute.
    pub last_seen: Option<UnixMillis>,
    /// From where it was last heard of.
    pub last_address: Option<String>,
}

impl Device {
    /// The principal that this device is.
    #[must_use]
    pub fn principal(&self) -> Principal {
        Principal::Device {
            id: self.id,
            role: self.role,
            can_revoke: self.can_revoke,
        }
    }

    /// When the device is over if nothing is heard of it: at its end, or `idle` after it was last seen.
    #[must_use]
    pub fn ends_at(&self, idle: Duration) -> UnixMillis {
        let idle_end = self.last_seen.unwrap_or(self.created).plus(idle);
        self.expires_at.map_or(idle_end, |end| end.min(idle_end))
    }
}

/// What is left of a device that has ended, so that its token can be told why it opens nothing.
#[derive(Clone, Debug)]
pub struct Tombstone {
    /// Which device.
    pub id: DeviceId,
    /// What is kept of its token.
    pub token_hash: TokenHash,
    /// How it ended.
    pub cause: EndCause,
    /// When it ended.
    pub ended: UnixMillis,
}

/// How a device ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// Somebody ended it.
    Revoked,
    /// Its time was over, or it was not seen for too long.
    Expired,
}

impl EndCause {
    /// The name in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "revoked",
            Self::Expired => "expired",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EndCause;
    use crate::testing::{at, device};
    use crate::{Principal, Role};
    use core::time::Duration;

    const IDLE: Duration = Duration::from_secs(100);

    #[test]
    fn a_device_ends_when_it_was_not_seen_for_the_idle_time() {
        let mut device = device(1);
        device.created = at(0);
        assert_eq!(device.ends_at(IDLE), at(100));
        device.last_seen = Some(at(30));
        assert_eq!(device.ends_at(IDLE), at(130));
    }

    #[test]
    fn a_device_ends_at_its_end_even_if_it_was_just_seen() {
        let mut device = device(1);
        device.expires_at = Some(at(50));
        device.last_seen = Some(at(49));
        assert_eq!(device.ends_at(IDLE), at(50));
    }

    #[test]
    fn its_principal_has_its_role_and_grant() {
        let mut device = device(1);
        device.role = Role::Operator;
        device.can_revoke = true;
        let expected = Principal::Device {
            id: device.id,
            role: Role::Operator,
            can_revoke: true,
        };
        assert_eq!(device.principal(), expected);
    }

    #[test]
    fn the_two_ends_have_their_own_names() {
        assert_eq!(
            (EndCause::Revoked.as_str(), EndCause::Expired.as_str()),
            ("revoked", "expired")
        );
    }
}
