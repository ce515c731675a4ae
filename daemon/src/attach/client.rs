//! Clients, known again over all their connections.

use pairing::Principal;
use serde::Deserialize;
use server::authenticate::name_of;
use sha2::{Digest, Sha256};
use terminal::ClientKey;

/// The random id that a client chose for itself: 16 to 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct ClientId(String);

impl ClientId {
    /// The client of this principal: another principal's client of the same id is another.
    pub(super) fn key(&self, principal: &Principal) -> ClientKey {
        let name = name_of(principal);
        let digest = Sha256::digest(format!("transom-client-v1\n{name}\n{}", self.0));
        let mut key = ClientKey::default();
        key.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
        key
    }
}

impl TryFrom<String> for ClientId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && (16..=64).contains(&text.len()) {
            Ok(Self(text))
        } else {
            Err("`client` takes 16 to 64 lower-case hexadecimal digits")
        }
    }
}

#[cfg(test)]
mod tests {
    use pairing::Principal;

    use super::ClientId;

    #[test]
    fn a_clients_id_is_hexadecimal_and_neither_short_nor_long() {
        assert!(ClientId::try_from("0123456789abcdef".to_owned()).is_ok());
        for wrong in ["0123456789abcde", "0123456789ABCDEF", "0123456789abcdeg", ""] {
            assert!(ClientId::try_from(wrong.to_owned()).is_err(), "{wrong:?}");
        }
        assert!(ClientId::try_from("a".repeat(65)).is_err());
    }

    #[test]
    fn the_same_id_of_another_principal_is_another_client() {
        let id = ClientId::try_from("0123456789abcdef".to_owned()).unwrap();
        assert_eq!(id.key(&Principal::Owner), id.key(&Principal::Owner));
        assert_ne!(id.key(&Principal::Owner), id.key(&Principal::Nobody));
    }
}
