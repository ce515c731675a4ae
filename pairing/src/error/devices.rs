//! What can go wrong with devices that exist.

use alloc::vec::Vec;

use super::Fault;
use crate::{DeviceId, LivesTooLong};

/// Why a token opens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// No device has this token. An unknown id and a wrong secret are not told apart.
    #[error("this token belongs to no device")]
    Unknown,
    /// The device was revoked. Said only to who knows the secret.
    #[error("this device was revoked; pair it again")]
    Revoked,
    /// The device reached its end or was not seen for too long. Said only to who knows the secret.
    #[error("this device's time is over; pair it again")]
    Expired,
    /// The device has a key, and its token alone opens nothing.
    #[error("the token of a device with a key opens nothing alone; prove the key")]
    ProofRequired,
    /// No access token that is good here and now.
    #[error("this access token is not good here, or not any more; prove the key again")]
    AccessEnded,
    /// The device is bound to a node of the tailnet, and this is another.
    #[error("this device is bound to another node of the tailnet")]
    WrongNode,
    /// The device is bound to a node of the tailnet, and nobody can say from which this comes.
    #[error("this device is bound to a node of the tailnet, and this way in does not know nodes")]
    NodeUnknown,
    /// The guest was invited by login, and this is somebody else of the tailnet.
    #[error("this guest was invited by login, and the tailnet says that you are somebody else")]
    WrongLogin,
    /// The guest was invited by login, and nobody can say whose this is.
    #[error("this guest was invited by login, and this way in does not know who comes")]
    LoginUnknown,
}

impl AuthError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown_token",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
            Self::ProofRequired => "proof_required",
            Self::AccessEnded => "access_ended",
            Self::WrongNode => "wrong_node",
            Self::NodeUnknown => "unknown_node",
            Self::WrongLogin => "wrong_login",
            Self::LoginUnknown => "unknown_login",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Unknown | Self::Revoked | Self::Expired | Self::ProofRequired | Self::AccessEnded => {
                Fault::Credential
            }
            Self::WrongNode | Self::NodeUnknown | Self::WrongLogin | Self::LoginUnknown => Fault::Permission,
        }
    }
}

/// Why a device was not revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevokeError {
    /// There is no such device.
    #[error("there is no such device")]
    UnknownDevice,
    /// A device may end itself, and with `can_revoke` those that lack it.
    #[error("only the owner may revoke this device")]
    NotPermitted,
}

impl RevokeError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownDevice => "unknown_device",
            Self::NotPermitted => "not_permitted",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::UnknownDevice => Fault::Unknown,
            Self::NotPermitted => Fault::Permission,
        }
    }
}

/// There is no such device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such device")]
pub struct UnknownDevice;

impl UnknownDevice {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "unknown_device"
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        Fault::Unknown
    }
}

/// Why a device was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such device.
    #[error("there is no such device")]
    UnknownDevice,
    /// A plain bearer gets no more than it was made with.
    #[error("a device without a key keeps its role; revoke it, and add it anew with another")]
    WithoutKey,
    /// Metrics are read by devices that are added by hand.
    #[error("a paired device is a viewer or an operator")]
    NoReader,
    /// A plain bearer may not live for so long.
    #[error("{}", LivesTooLong)]
    LivesTooLong,
    /// It could not prove that it is the device that is bound.
    #[error("a device without a key is bound to no node")]
    NothingToBind,
    /// The owner did not let it bind itself anew, or not any more.
    #[error("this device may not bind itself to another node now")]
    MayNotRebind,
}

impl ChangeError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownDevice => "unknown_device",
            Self::WithoutKey => "device_without_key",
            Self::NoReader => "malformed_role",
            Self::LivesTooLong => LivesTooLong.code(),
            Self::NothingToBind => "device_without_key",
            Self::MayNotRebind => "wrong_node",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::UnknownDevice => Fault::Unknown,
            Self::WithoutKey | Self::NothingToBind | Self::MayNotRebind => Fault::Permission,
            Self::NoReader => Fault::Malformed,
            Self::LivesTooLong => LivesTooLong.fault(),
        }
    }
}

/// Why the beginning of an id names no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// No id begins so.
    #[error("no device's id begins so")]
    NoMatch,
    /// Several ids begin so.
    #[error("{} devices' ids begin so", .0.len())]
    Ambiguous(Vec<DeviceId>),
}

impl PrefixError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoMatch => "unknown_device",
            Self::Ambiguous(_) => "ambiguous_device",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::NoMatch => Fault::Unknown,
            Self::Ambiguous(_) => Fault::Malformed,
        }
    }
}
