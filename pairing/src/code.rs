//! The pairing code: six digits that both screens compute and people compare.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use sha2::{Digest, Sha256};

use crate::key::{Nonce, PublicKey};
use crate::{Fault, RequestId};

/// Six digits derived from a request. Shown on both screens, never sent, and no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairingCode(u32);

/// What a code is derived from.
#[derive(Clone, Copy, Debug)]
pub struct CodeInput<'a> {
    /// The request.
    pub request_id: RequestId,
    /// The device's key.
    pub public_key: &'a PublicKey,
    /// What the device committed to together with its key.
    pub device_nonce: &'a Nonce,
    /// What the server answered to the commitment.
    pub server_nonce: &'a Nonce,
    /// `sha256/<base64url>` of the certificate's key, as the computing side sees it.
    pub pin: &'a str,
}

/// A text that is no pairing code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pairing code is six digits, as in 493-027")]
pub struct MalformedCode;

impl PairingCode {
    /// SHA-256("transom-code-v1" ‖ request id ‖ key ‖ device nonce ‖ server nonce ‖ pin), its first big-endian 4-byte
    /// word below 4,294,000,000, modulo a million. Without such a word the digest is hashed again.
    #[must_use]
    pub fn compute(input: &CodeInput<'_>) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"transom-code-v1");
        hash.update(format!("{}", input.request_id));
        hash.update(input.public_key.as_bytes());
        hash.update(input.device_nonce);
        hash.update(input.server_nonce);
        hash.update(input.pin);
        let mut digest: [u8; 32] = hash.finalize().into();
        loop {
            if let Some(code) = Self::from_digest(&digest) {
                return code;
            }
            digest = Sha256::digest(digest).into();
        }
    }

    /// The digits in two groups, as in `493-027`.
    #[must_use]
    pub fn grouped(self) -> String {
        format!("{:03}-{:03}", self.0 / 1_000, self.0 % 1_000)
    }

    fn from_digest(digest: &[u8; 32]) -> Option<Self> {
        let (words, _) = digest.as_chunks::<4>();
        words
            .iter()
            .map(|word| u32::from_be_bytes(*word))
            .find(|word| *word < UNIFORM)
            .map(|word| Self(word % CODES))
    }
}

impl fmt::Display for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}", self.0)
    }
}

impl FromStr for PairingCode {
    type Err = MalformedCode;

    /// Takes `493027` and `493-027`.
    fn from_str(text: &str) -> Result<Self, MalformedCode> {
        let digits = match text.split_once('-') {
            Some((head, tail)) if head.len() == 3 => format!("{head}{tail}"),
            Some(_) => return Err(MalformedCode),
            None => text.into(),
        };
        if digits.len() != 6 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(MalformedCode);
        }
        digits.parse().map(Self).map_err(|_| MalformedCode)
    }
}

impl MalformedCode {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "malformed_code"
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        Fault::Malformed
    }
}

/// Number of codes.
const CODES: u32 = 1_000_000;

/// The largest multiple of a million that 32 bits hold: words from there on would make low codes likelier.
const UNIFORM: u32 = 4_294_000_000;

#[cfg(test)]
mod tests;
