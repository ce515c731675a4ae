//! The figures of running it for long: what it costs at rest, what a year of state costs a start, what a scrape costs.

mod rest;
mod scrape;
mod start;

use super::Measure;

pub(super) const MEASURES: &[Measure] = &[
    Measure {
        names: &["idle"],
        run: rest::idle,
    },
    Measure {
        names: &["printing"],
        run: rest::printing,
    },
    Measure {
        names: &["start"],
        run: start::run,
    },
    Measure {
        names: &["scrape"],
        run: scrape::run,
    },
];
