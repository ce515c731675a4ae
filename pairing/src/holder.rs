//! Who holds a token with a key.

use core::fmt;

use crate::{AuthError, DeviceId, Devices, GuestId, Guests, TailnetIdentity, UnixMillis};

/// Whose long-lived token is bound to a key, and whose access tokens there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyHolder {
    /// A paired device.
    Device(DeviceId),
    /// A guest.
    Guest(GuestId),
}

/// Knows which holders live.
pub trait Holders {
    /// Whether the holder lives, and may come from a peer of whom the tailnet says `from`.
    ///
    /// # Errors
    /// See [`AuthError`].
    fn admit(
        &self,
        holder: KeyHolder,
        from: Option<&TailnetIdentity>,
        now: UnixMillis,
    ) -> Result<(), AuthError>;
}

/// Devices alone: of guests it knows none.
impl Holders for Devices {
    fn admit(
        &self,
        holder: KeyHolder,
        from: Option<&TailnetIdentity>,
        now: UnixMillis,
    ) -> Result<(), AuthError> {
        match holder {
            KeyHolder::Device(id) => Self::admit(self, id, from, now),
            KeyHolder::Guest(_) => Err(AuthError::Unknown),
        }
    }
}

impl Holders for (&Devices, &Guests) {
    fn admit(
        &self,
        holder: KeyHolder,
        from: Option<&TailnetIdentity>,
        now: UnixMillis,
    ) -> Result<(), AuthError> {
        match holder {
            KeyHolder::Device(id) => self.0.admit(id, from, now),
            KeyHolder::Guest(id) => self.1.admit(id, from, now),
        }
    }
}

impl KeyHolder {
    /// The device, if it is one.
    #[must_use]
    pub const fn device_id(self) -> Option<DeviceId> {
        match self {
            Self::Device(id) => Some(id),
            Self::Guest(_) => None,
        }
    }
}

impl From<DeviceId> for KeyHolder {
    fn from(id: DeviceId) -> Self {
        Self::Device(id)
    }
}

impl From<GuestId> for KeyHolder {
    fn from(id: GuestId) -> Self {
        Self::Guest(id)
    }
}

impl fmt::Display for KeyHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(id) => id.fmt(f),
            Self::Guest(id) => id.fmt(f),
        }
    }
}
