//! Devices that the owner adds without pairing: plain bearers for scripts, hence bounded in power and time.

use alloc::string::String;
use core::time::Duration;

use rand_core::CryptoRng;

use crate::error::Fault;
use crate::limits::BY_HAND;
use crate::{Device, DeviceId, DeviceToken, Label, Role, TokenKey, UnixMillis};

/// A device to be added by hand. It never may end others, and it is bound to no node.
#[derive(Clone, Debug)]
pub struct ByHand {
    /// Its name for people.
    pub label: Label,
    /// What it may do.
    pub role: Role,
    /// From where the owner adds it.
    pub from: String,
    /// How long it lives; the longest that it may where nothing is said.
    pub expires_in: Option<Duration>,
}

/// A plain bearer may not live for so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a device without a key lives for at most {} days", BY_HAND.as_secs() / 86_400)]
pub struct LivesTooLong;

impl ByHand {
    /// Makes record and token. The caller stores the record before anybody is told the token.
    ///
    /// # Errors
    /// If it would live for longer than a plain bearer may.
    pub fn make(
        self,
        key: &TokenKey,
        now: UnixMillis,
        rng: &mut impl CryptoRng,
    ) -> Result<(Device, DeviceToken), LivesTooLong> {
        let lives = self.expires_in.unwrap_or(BY_HAND);
        if lives > BY_HAND {
            return Err(LivesTooLong);
        }
        let token = DeviceToken::generate(DeviceId::generate(rng), rng);
        let device = Device {
            id: token.id(),
            label: self.label,
            public_key: None,
            role: self.role,
            can_revoke: false,
            any_path: false,
            token_hash: token.hash(key),
            created: now,
            approved_from: self.from,
            tailnet: None,
            expires_at: Some(now.plus(lives)),
            last_seen: None,
            last_address: None,
        };
        Ok((device, token))
    }
}

impl LivesTooLong {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "lives_too_long"
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        Fault::Malformed
    }
}

#[cfg(test)]
mod tests {
    use super::{ByHand, LivesTooLong};
    use crate::testing::{SeededRng, at, token_key};
    use crate::{Devices, Role};
    use core::time::Duration;

    const DAY: Duration = Duration::from_secs(86_400);

    fn wish(expires_in: Option<Duration>) -> ByHand {
        ByHand {
            label: "ci".parse().unwrap(),
            role: Role::Operator,
            from: "unix:uid=1000".into(),
            expires_in,
        }
    }

    #[test]
    fn it_is_a_bearer_of_its_role_that_may_not_revoke() {
        let (device, token) = wish(Some(DAY))
            .make(&token_key(), at(0), &mut SeededRng::new(1))
            .unwrap();
        assert!(!device.can_revoke && device.public_key.is_none() && device.tailnet.is_none());
        let mut devices = Devices::new(90 * DAY);
        assert!(devices.add(device));
        let holder = devices.authenticate(&token, &token_key(), at(1)).unwrap();
        let bearer = holder.as_bearer(None).unwrap();
        assert_eq!(bearer.principal().device_id(), Some(token.id()));
    }

    #[test]
    fn it_lives_for_ninety_days_where_nothing_is_said_and_never_longer() {
        let mut rng = SeededRng::new(1);
        let (device, _) = wish(None).make(&token_key(), at(0), &mut rng).unwrap();
        assert_eq!(device.expires_at, Some(at(0).plus(90 * DAY)));
        let longer = wish(Some(90 * DAY + Duration::from_secs(1))).make(&token_key(), at(0), &mut rng);
        assert_eq!(longer.unwrap_err(), LivesTooLong);
    }
}
