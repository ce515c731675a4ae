//! Bearer tokens: `tsm_<kind>_<base58check>`.

use alloc::format;
use alloc::string::String;
use core::fmt;

use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::error::Fault;
use crate::token_key::TokenKey;
use crate::{AccessId, DeviceId, GuestId, RequestId};

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// The long-lived token of a device, `dev`.
    Device,
    /// The token of a guest, `gst`.
    Guest,
    /// Minutes of access after a proof, `acc`.
    Access,
    /// What a waiting device polls with, `req`.
    Request,
}

/// The long-lived bearer secret of a device; shown once, kept as a [`TokenHash`].
pub type DeviceToken = Token<DeviceId>;

/// The bearer secret of a guest, bound to its key; shown once, kept as a [`TokenHash`].
pub type GuestToken = Token<GuestId>;

/// What the waiting device polls with.
pub type RequestSecret = Token<RequestId>;

/// What a device with a key gets for a proof, for minutes.
pub type AccessToken = Token<AccessId>;

/// A bearer secret that names what it belongs to: 8 bytes of id and 32 secret ones, which are erased on drop. Without
/// `Display`, `Serialize` and `Clone`, and with a `Debug` that tells the id only.
pub struct Token<I: TokenId> {
    id: I,
    secret: [u8; 32],
}

/// An id that tokens are made for.
pub trait TokenId: Copy + fmt::Display + crate::marker::sealed::Sealed {
    /// What such tokens are for.
    const KIND: TokenKind;

    /// The id with these bytes.
    fn from_token(bytes: [u8; 8]) -> Self;

    /// The bytes of the id.
    fn to_token(&self) -> &[u8; 8];
}

/// Why a text is no token of the wanted kind. It never quotes the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedToken {
    /// It does not begin as a token of this kind does.
    #[error("this is no token of the kind that is wanted here")]
    Kind,
    /// What follows is not base58 of the right length.
    #[error("the token is cut off or has foreign characters")]
    Body,
    /// The checksum is another: a character was mistyped or lost.
    #[error("the token is damaged: its checksum does not match")]
    Checksum,
}

impl TokenKind {
    /// Which kind of token a text claims to be, from its prefix alone.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        [Self::Device, Self::Guest, Self::Access, Self::Request]
            .into_iter()
            .find(|kind| kind.body(text).is_some())
    }

    /// The kind's name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Device => "dev",
            Self::Guest => "gst",
            Self::Access => "acc",
            Self::Request => "req",
        }
    }

    fn body(self, text: &str) -> Option<&str> {
        text.strip_prefix("tsm_")?
            .strip_prefix(self.as_str())?
            .strip_prefix('_')
    }
}

impl<I: TokenId> Token<I> {
    /// A new random token for `id`.
    pub fn generate(id: I, rng: &mut impl CryptoRng) -> Self {
        let mut secret = [0; 32];
        rng.fill_bytes(&mut secret);
        Self { id, secret }
    }

    /// The token in its wire form.
    ///
    /// # Errors
    /// See [`MalformedToken`].
    pub fn parse(text: &str) -> Result<Self, MalformedToken> {
        let body = I::KIND.body(text).ok_or(MalformedToken::Kind)?;
        let mut bytes = Zeroizing::new([0; BODY]);
        // Base58 of 44 bytes has at most 61 characters; decoding is quadratic, so length comes first.
        if body.len() > 61 || bs58::decode(body).onto(bytes.as_mut_slice()) != Ok(BODY) {
            return Err(MalformedToken::Body);
        }
        let (id, rest) = bytes.split_first_chunk::<8>().expect("44 bytes hold an id");
        let (secret, sum) = rest.split_first_chunk::<32>().expect("36 bytes hold a secret");
        let token = Self {
            id: I::from_token(*id),
            secret: *secret,
        };
        if token.checksum() == sum {
            Ok(token)
        } else {
            Err(MalformedToken::Checksum)
        }
    }

    /// The wire form, for the one answer that hands it out.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        let mut bytes = Zeroizing::new([0; BODY]);
        bytes[..8].copy_from_slice(self.id.to_token());
        bytes[8..40].copy_from_slice(&self.secret);
        bytes[40..].copy_from_slice(&self.checksum());
        let body = Zeroizing::new(bs58::encode(bytes.as_slice()).into_string());
        Zeroizing::new(format!("tsm_{}_{}", I::KIND.as_str(), body.as_str()))
    }

    /// What it belongs to. It may be shown.
    #[must_use]
    pub fn id(&self) -> I {
        self.id
    }

    /// The hash to keep: HMAC-SHA256(key, "transom/<kind>/v1" ‖ id ‖ secret).
    #[must_use]
    pub fn hash(&self, key: &TokenKey) -> TokenHash {
        let domain: &[&[u8]] = &[
            b"transom/",
            I::KIND.as_str().as_bytes(),
            b"/v1",
            self.id.to_token(),
            &self.secret,
        ];
        TokenHash(key.hmac(domain))
    }

    /// First 4 bytes of SHA-256(SHA-256(kind ‖ id ‖ secret)).
    fn checksum(&self) -> [u8; 4] {
        let mut hash = Sha256::new();
        hash.update(I::KIND.as_str());
        hash.update(self.id.to_token());
        hash.update(self.secret);
        let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(hash.finalize()));
        [a, b, c, d]
    }
}

impl<I: TokenId> Drop for Token<I> {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl<I: TokenId> ZeroizeOnDrop for Token<I> {}

impl<I: TokenId> fmt::Debug for Token<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}, [redacted])", self.id)
    }
}

impl MalformedToken {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "malformed_token"
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        Fault::Credential
    }
}

/// What is kept of a token. It opens nothing.
#[derive(Clone)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash with these bytes, from a store.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for a store.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether both are of the same token. Takes the same time whatever the answer.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash([redacted])")
    }
}

macro_rules! token_ids {
    ($($id:ident => $kind:ident)*) => {$(
        impl crate::marker::sealed::Sealed for $id {}

        impl TokenId for $id {
            const KIND: TokenKind = TokenKind::$kind;

            fn from_token(bytes: [u8; 8]) -> Self {
                Self::from_bytes(bytes)
            }

            fn to_token(&self) -> &[u8; 8] {
                self.as_bytes()
            }
        }
    )*};
}

token_ids! { DeviceId => Device  GuestId => Guest  RequestId => Request  AccessId => Access }

/// 8 bytes of id, 32 of secret, 4 of checksum.
const BODY: usize = 44;

#[cfg(test)]
mod tests;
