//! The name of a session: eight random bytes, `ses_` and 16 lower-case hex digits on the wire.

use std::fmt;
use std::str::FromStr;

/// Names a session for its whole life, also after its program ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId([u8; 8]);

impl SessionId {
    /// A session id of the given bytes, which the caller draws at random.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    /// The eight bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SessionId {
    type Err = ParseSessionIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(PREFIX).ok_or(ParseSessionIdError)?.as_bytes();
        if digits.len() != 16 {
            return Err(ParseSessionIdError);
        }
        let mut bytes = [0; 8];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

/// The text is no `ses_` followed by 16 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a session id is `ses_` and 16 lower-case hex digits")]
pub struct ParseSessionIdError;

fn nibble(digit: u8) -> Result<u8, ParseSessionIdError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(ParseSessionIdError),
    }
}

const PREFIX: &str = "ses_";

#[cfg(test)]
mod tests {
    use super::{ParseSessionIdError, SessionId};

    #[test]
    fn an_id_reads_back_what_it_shows() {
        let id = SessionId::from_bytes([0, 1, 0x7f, 0x80, 0xab, 0xcd, 0xef, 0xff]);
        assert_eq!(id.to_string(), "ses_00017f80abcdefff");
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn other_text_is_no_id() {
        for text in [
            "",
            "ses_",
            "dev_00017f80abcdefff",
            "ses_00017F80abcdefff",
            "ses_00017f80abcdefff0",
        ] {
            assert_eq!(text.parse::<SessionId>(), Err(ParseSessionIdError), "{text}");
        }
    }
}
