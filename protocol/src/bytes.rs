//! Bytes in JSON.

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Bytes that are base64url without padding in JSON (RFC 4648 section 5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes64(pub Vec<u8>);

impl Serialize for Bytes64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Base64UrlUnpadded::encode_string(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Base64UrlUnpadded::decode_vec(&text)
            .map(Self)
            .map_err(|_| D::Error::custom("bytes must be base64url without padding"))
    }
}

impl From<&[u8]> for Bytes64 {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes64;

    #[test]
    fn bytes_travel_as_base64url_without_padding() {
        let json = serde_json::to_string(&Bytes64(vec![0xfb, 0xff])).unwrap();
        assert_eq!(json, "\"-_8\"");
        assert_eq!(serde_json::from_str::<Bytes64>(&json).unwrap().0, [0xfb, 0xff]);
    }

    #[test]
    fn padded_bytes_are_refused() {
        assert!(serde_json::from_str::<Bytes64>("\"-_8=\"").is_err());
    }
}
