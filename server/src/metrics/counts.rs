//! What is counted as it happens and stands nowhere else.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Histogram, Tally};

/// The counts of the access layer.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// How often which problem was answered.
    pub(crate) refused: Tally,
    /// Those of them in which a credential was not right.
    pub(crate) failed: Tally,
    /// TLS handshakes that were done.
    pub(crate) handshakes: Count,
    /// Those that were not, by [`broken`] words.
    pub(crate) broken_handshakes: Tally,
    /// Proofs of a key that were taken.
    pub(crate) proofs: Count,
    /// Those that were not, by the code of the problem.
    pub(crate) failed_proofs: Tally,
    /// From the wish to end a device or a guest until nothing of it can leave any more.
    pub(crate) revocations: Histogram,
}

/// How often something happened.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Counts it once more.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How often.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why there was no handshake.
pub(crate) mod broken {
    /// It took longer than it may.
    pub(crate) const TIMED_OUT: &str = "timed_out";
    /// The tailnet's gate is closed to the peer.
    pub(crate) const NOT_LET_IN: &str = "not_let_in";
    /// What came is no TLS, or the two share nothing.
    pub(crate) const TLS: &str = "tls";
    /// The peer went away.
    pub(crate) const GONE: &str = "gone";
    /// The daemon cut it, to make room or because it locks down or ends.
    pub(crate) const CUT: &str = "cut";

    /// All of them.
    pub(crate) const ALL: [&str; 5] = [TIMED_OUT, NOT_LET_IN, TLS, GONE, CUT];
}
