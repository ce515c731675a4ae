//! `transom remote rename`.

use super::View;
use crate::{exit, failure::Failure, output, remote::Store};

/// Arguments of `remote rename`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The remote
    name: String,
    /// Its new name
    new: String,
}

/// Renames it on this machine; the daemon there knows nothing of the name.
pub(super) fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let store = Store::of_environment()?;
    store.rename(&args.name, &args.new)?;
    if json {
        output::json(&View::of(&args.new, &store.get(&args.new)?))?;
    }
    Ok(exit::OK)
}
