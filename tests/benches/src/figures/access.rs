//! The figures of the access layer.

mod bad_tokens;
mod idle;
mod permit;
mod requests;
mod revoke;

use anyhow::Result;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Measure;

/// As many connections as the system allows.
pub(super) fn raise_descriptors() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

pub(super) const MEASURES: &[Measure] = &[
    Measure {
        names: &["permit"],
        run: permit::run,
    },
    Measure {
        names: &["C1"],
        run: requests::connect,
    },
    Measure {
        names: &["C2"],
        run: requests::keep_asking,
    },
    Measure {
        names: &["revoke"],
        run: revoke::run,
    },
    Measure {
        names: &["bad-tokens"],
        run: bad_tokens::run,
    },
    Measure {
        names: &["idle"],
        run: idle::run,
    },
];
