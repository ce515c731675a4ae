//! The figures of being reached: handshakes, a certificate that is swapped, and the start.

mod handshakes;
mod start;
mod swap;

use super::Measure;

pub(super) const MEASURES: &[Measure] = &[
    Measure {
        names: &["handshakes"],
        run: handshakes::run,
    },
    Measure {
        names: &["swap"],
        run: swap::run,
    },
    Measure {
        names: &["S1"],
        run: start::run,
    },
];
