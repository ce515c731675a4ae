//! A place in a session's output.

use std::fmt;

/// How many bytes the session's program had written before this place, since the session began. Survives
/// trimming, reconnects and restarts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Offset(pub u64);

impl Offset {
    /// Where the output begins.
    pub const START: Self = Self(0);

    /// This place and `bytes` more.
    #[must_use]
    pub const fn plus(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }

    /// This place less `bytes`, the start at least.
    #[must_use]
    pub const fn minus(self, bytes: usize) -> Self {
        Self(self.0.saturating_sub(bytes as u64))
    }

    /// How many bytes lie between an earlier place and this one; 0 if `earlier` is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
