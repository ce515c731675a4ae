//! `transom remote`: the daemons elsewhere that this machine is a device of.

mod add;
mod list;
mod rename;
mod rm;

use ::client::Address;
use jiff::Timestamp;
use pairing::{DeviceId, Role};
use serde::Serialize;

use crate::{failure::Failure, remote::Record, ssh::Destination};

/// Arguments of `remote`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every verb of sessions then works there with `--on NAME`, or with TRANSOM_REMOTE=NAME in the environment.

  transom remote add https://localhost:7443
  transom remote add ann@desk            (over SSH)
  transom ls --on localhost")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: RemoteVerb,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum RemoteVerb {
    /// Pair this machine with a daemon elsewhere, as a device of it
    Add(add::Args),
    /// List the remotes
    #[command(after_help = "\
No remote is asked: role and name are those that it told last. `transom whoami --on NAME` asks it, and keeps what it says.")]
    List,
    /// Sign out there, and forget the remote
    Rm(rm::Args),
    /// Give a remote another name
    Rename(rename::Args),
}

/// A remote as it is shown: nothing in it is secret.
#[derive(Debug, Serialize)]
struct View<'a> {
    name: &'a str,
    address: &'a Address,
    ssh: Option<&'a Destination>,
    pin: String,
    instance: &'a str,
    device_id: DeviceId,
    label: &'a str,
    role: Role,
    added_at: Timestamp,
}

impl<'a> View<'a> {
    fn of(name: &'a str, record: &'a Record) -> Self {
        Self {
            name,
            address: &record.address,
            ssh: record.ssh.as_ref().map(|far| &far.destination),
            pin: record.pin.to_string(),
            instance: &record.instance,
            device_id: record.device_id,
            label: &record.label,
            role: record.role,
            added_at: record.added_at,
        }
    }
}

/// Does what is asked.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    match &args.verb {
        RemoteVerb::Add(add) => add::run(add, args.json).await,
        RemoteVerb::List => list::run(args.json),
        RemoteVerb::Rm(rm) => rm::run(rm, args.json).await,
        RemoteVerb::Rename(rename) => rename::run(rename, args.json),
    }
}
