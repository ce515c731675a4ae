//! What makes a program a device of a daemon, and where it is kept.

use std::fmt;

use certs::SpkiPin;
use pairing::{DeviceId, RequestId, Role};
use protocol::WireSecret;
use serde::{Deserialize, Serialize};

use crate::{address::Address, error::BoxError};

/// All that makes a program a device of a daemon. Whoever has it is that device: keep it where nobody else can read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Credential {
    /// Where the daemon listens.
    pub address: Address,
    /// The key that it must show, `sha256/<base64url>`.
    #[serde(with = "as_text")]
    pub pin: SpkiPin,
    /// The pin that it will show next, as it said itself.
    #[serde(default, with = "as_optional_text", skip_serializing_if = "Option::is_none")]
    pub next_pin: Option<SpkiPin>,
    /// The daemon's lasting id.
    pub instance: String,
    /// The device, as the daemon knows it.
    pub device_id: DeviceId,
    /// What the daemon calls the device.
    pub label: String,
    /// What the device may do there.
    pub role: Role,
    /// The device token.
    pub token: WireSecret,
    /// The device key: PKCS#8 in base64url.
    pub key: WireSecret,
    /// The request whose commit the daemon has not confirmed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<RequestId>,
}

/// What becomes known of a credential while it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The daemon has the device.
    Committed,
    /// Which key the daemon shows, and which it said would come next.
    Pins {
        /// The pin that is shown.
        pin: SpkiPin,
        /// The one that comes next.
        next: Option<SpkiPin>,
    },
    /// What the daemon's owner calls the device, and lets it do.
    Known {
        /// Its label.
        label: String,
        /// Its role.
        role: Role,
    },
}

impl Change {
    /// Makes it in a credential.
    pub fn apply(&self, credential: &mut Credential) {
        match self {
            Self::Committed => credential.uncommitted = None,
            Self::Pins { pin, next } => {
                // A daemon that tells its pins has the device.
                credential.uncommitted = None;
                (credential.pin, credential.next_pin) = (*pin, *next);
            }
            Self::Known { label, role } => {
                label.clone_into(&mut credential.label);
                credential.role = *role;
            }
        }
    }
}

/// Where a credential is kept. Several processes may use the same one: a change is made in what is kept then, and not in what was
/// read before.
pub trait Store: fmt::Debug + Send + Sync {
    /// Makes a change; it is on the disk when this returns.
    ///
    /// # Errors
    /// Why it could not be kept. That the daemon has the device must be; anything else is told again to the next that asks.
    fn change(&self, change: &Change) -> Result<(), BoxError>;
}

/// Keeps nothing: for a program that pairs each time it runs, or that is told by nobody else.
#[derive(Clone, Copy, Debug)]
pub struct Unstored;

impl Store for Unstored {
    fn change(&self, _: &Change) -> Result<(), BoxError> {
        Ok(())
    }
}

/// A pin as its text.
mod as_text {
    use certs::SpkiPin;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(pin: &SpkiPin, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(pin)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpkiPin, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

/// A pin as its text, or none.
mod as_optional_text {
    use certs::SpkiPin;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(pin: &Option<SpkiPin>, serializer: S) -> Result<S::Ok, S::Error> {
        pin.map(|pin| pin.to_string()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SpkiPin>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use protocol::WireSecret;

    use super::{Change, Credential};

    #[test]
    fn a_credential_reads_back_as_it_was_with_what_became_known_since() {
        let pin = |letter: &str| format!("sha256/{}", letter.repeat(43)).parse().unwrap();
        let mut credential = Credential {
            address: "desk:7443".parse().unwrap(),
            pin: pin("A"),
            next_pin: None,
            instance: "0011223344556677".to_owned(),
            device_id: "dev_0000000000000001".parse().unwrap(),
            label: "laptop".to_owned(),
            role: pairing::Role::Viewer,
            token: WireSecret::new("tsm_dev_secret"),
            key: WireSecret::new("a key"),
            uncommitted: Some("req_0000000000000001".parse().unwrap()),
        };
        for change in [
            Change::Committed,
            Change::Pins {
                pin: pin("E"),
                next: Some(pin("I")),
            },
            Change::Known {
                label: "phone".to_owned(),
                role: pairing::Role::Operator,
            },
        ] {
            change.apply(&mut credential);
        }
        let text = serde_json::to_string(&credential).unwrap();
        let read: Credential = serde_json::from_str(&text).unwrap();
        assert_eq!((read.pin, read.next_pin), (pin("E"), Some(pin("I"))));
        assert_eq!(
            (read.label.as_str(), read.role),
            ("phone", pairing::Role::Operator)
        );
        assert_eq!((read.uncommitted, read.token.expose()), (None, "tsm_dev_secret"));
        assert!(!format!("{read:?}").contains("secret"));
    }
}
