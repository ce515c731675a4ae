//! Ids: eight random bytes each, on the wire `<prefix>_` and 16 lower-case hex digits.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use rand_core::CryptoRng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text that is not an id of the wanted kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not {expected}")]
pub struct MalformedId {
    /// What was wanted, as in "an id like dev_0123456789abcdef".
    pub expected: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 8]);

        impl $name {
            /// What stands before the hex digits, with its underscore.
            pub const PREFIX: &'static str = concat!($prefix, "_");

            /// A new random id.
            pub fn generate(rng: &mut impl CryptoRng) -> Self {
                let mut bytes = [0; 8];
                rng.fill_bytes(&mut bytes);
                Self(bytes)
            }

            /// The id with these bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 8]) -> Self {
                Self(bytes)
            }

            /// The eight bytes, as they enter tokens.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 8] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{:016x}", Self::PREFIX, u64::from_be_bytes(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = MalformedId;

            fn from_str(text: &str) -> Result<Self, MalformedId> {
                text.strip_prefix(Self::PREFIX)
                    .and_then(parse_hex)
                    .map(Self)
                    .ok_or(MalformedId { expected: concat!("an id like ", $prefix, "_0123456789abcdef") })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// A paired device.
    DeviceId,
    "dev"
);
id!(
    /// A device's wish to be paired.
    RequestId,
    "req"
);
id!(
    /// The owner's invitation to pair.
    OfferId,
    "ofr"
);
id!(
    /// Somebody invited to look at named resources.
    GuestId,
    "gst"
);
id!(
    /// One access token. It never stands alone on the wire.
    AccessId,
    "acc"
);

/// The name of something that permits can be about. This crate does not look into it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(Arc<str>);

impl ResourceId {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ResourceId {
    type Err = MalformedId;

    /// Takes 1 to 64 ASCII letters, digits, `_` and `-`.
    fn from_str(text: &str) -> Result<Self, MalformedId> {
        let plain = text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if plain && (1..=RESOURCE_BYTES).contains(&text.len()) {
            Ok(Self(Arc::from(text)))
        } else {
            Err(MalformedId {
                expected: "a resource name of 1 to 64 letters, digits, _ and -",
            })
        }
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Sixteen lower-case hex digits; `from_str_radix` alone would also take a sign and capitals.
fn parse_hex(text: &str) -> Option<[u8; 8]> {
    let lower = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !lower || text.len() != 16 {
        return None;
    }
    u64::from_str_radix(text, 16).ok().map(u64::to_be_bytes)
}

/// Longest resource name: ids of sessions have 20 bytes, an embedder's own may be longer.
const RESOURCE_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::{DeviceId, GuestId, OfferId, RequestId, ResourceId};
    use crate::testing::SeededRng;
    use alloc::format;
    use alloc::string::ToString;
    use proptest::prelude::{ProptestConfig, any};

    #[test]
    fn an_id_is_its_prefix_and_sixteen_lower_case_hex_digits() {
        let id = DeviceId::from_bytes([0x00, 0x1b, 2, 3, 4, 5, 6, 0xff]);
        assert_eq!(id.to_string(), "dev_001b0203040506ff");
        assert_eq!(format!("{id:?}"), "dev_001b0203040506ff");
    }

    #[test]
    fn every_kind_reads_what_it_wrote() {
        let mut rng = SeededRng::new(1);
        let device = DeviceId::generate(&mut rng);
        let request = RequestId::generate(&mut rng);
        let offer = OfferId::generate(&mut rng);
        let guest = GuestId::generate(&mut rng);
        assert_eq!(device.to_string().parse(), Ok(device));
        assert_eq!(request.to_string().parse(), Ok(request));
        assert_eq!(offer.to_string().parse(), Ok(offer));
        assert_eq!(guest.to_string().parse(), Ok(guest));
    }

    #[test]
    fn other_prefixes_lengths_capitals_and_signs_are_refused() {
        for text in [
            "",
            "dev_",
            "req_0011223344556677",
            "dev_001122334455667",
            "dev_00112233445566778",
            "dev_00112233445566AA",
            "dev_+011223344556677",
            "dev_001122334455667é",
            " dev_0011223344556677",
        ] {
            assert!(text.parse::<DeviceId>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_error_shows_what_an_id_looks_like() {
        let error = "x".parse::<OfferId>().unwrap_err();
        assert_eq!(error.to_string(), "not an id like ofr_0123456789abcdef");
    }

    #[test]
    fn ids_are_json_strings() {
        let id = RequestId::from_bytes([1; 8]);
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, r#""req_0101010101010101""#);
        assert_eq!(serde_json::from_str::<RequestId>(&json).unwrap(), id);
        assert!(serde_json::from_str::<DeviceId>(&json).is_err());
    }

    #[test]
    fn two_generated_ids_differ() {
        let mut rng = SeededRng::new(2);
        assert_ne!(DeviceId::generate(&mut rng), DeviceId::generate(&mut rng));
    }

    #[test]
    fn a_resource_name_is_short_and_plain() {
        let id: ResourceId = "ses_0011223344556677".parse().unwrap();
        assert_eq!(id.as_str(), "ses_0011223344556677");
        assert_eq!(
            format!("{id} {id:?}"),
            "ses_0011223344556677 ses_0011223344556677"
        );
        for text in ["", "a/b", "a b", "..", "é", &"x".repeat(65)] {
            assert!(text.parse::<ResourceId>().is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_eight_bytes_survive_the_wire(bytes in any::<[u8; 8]>()) {
            let id = DeviceId::from_bytes(bytes);
            assert_eq!(id.to_string().parse(), Ok(id));
            assert_eq!(id.as_bytes(), &bytes);
        }

        #[test]
        fn whatever_is_an_id_is_written_as_it_was_read(text in "(dev_)?[0-9a-fA-F]{15,17}") {
            if let Ok(id) = text.parse::<DeviceId>() {
                assert_eq!(id.to_string(), text);
            }
        }
    }
}
