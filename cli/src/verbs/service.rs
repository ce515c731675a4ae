//! `transom service`: the daemon as a service of this user, by systemd.

mod install;
mod prepare;
mod status;
mod systemd;
mod uninstall;
mod units;

use crate::failure::Failure;

/// Arguments of `service`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
As a service, the daemon runs from your first login on (or from the start of the machine, where `loginctl enable-linger` was \
said), is started when a command asks for it, and again where it fails. The keeper of its sessions is a service of its own: \
no restart, failure or removal of the daemon's ends a session.")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: ServiceVerb,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum ServiceVerb {
    /// Write the units, and start the service
    Install(install::Args),
    /// Stop the service, and remove its units; sessions go on
    Uninstall(uninstall::Args),
    /// Say whether it is installed, and how it runs
    Status,
    /// Remove a socket on which nobody listens, and fail where somebody does: before systemd makes one in its place
    #[command(hide = true)]
    Prepare(prepare::Args),
}

/// Does what is asked.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    systemd::refuse_elsewhere()?;
    match &args.verb {
        ServiceVerb::Install(install) => install::run(install, args.json).await,
        ServiceVerb::Uninstall(uninstall) => uninstall::run(uninstall, args.json).await,
        ServiceVerb::Status => status::run(args.json).await,
        ServiceVerb::Prepare(prepare) => prepare::run(prepare),
    }
}
