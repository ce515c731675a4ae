//! A secret on its way over the wire.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A secret in a body: it may be sent and read, and is never shown by `Debug` or `Display`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WireSecret(String);

impl WireSecret {
    /// Takes the wire text of a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The wire text, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for WireSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WireSecret([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::WireSecret;

    #[test]
    fn debug_never_shows_the_secret() {
        assert_eq!(
            format!("{:?}", WireSecret::new("tsm_dev_abc")),
            "WireSecret([redacted])"
        );
    }
}
