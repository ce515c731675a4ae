//! `transom certs`: the certificates by which devices know the daemon.

mod show;

use crate::failure::Failure;

/// Arguments of `certs`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<CertsVerb>,
    /// Print what comes of it as JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum CertsVerb {
    /// Show what the daemon's listeners show, as `certs` alone does
    Show,
}

/// Shows them.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    match &args.verb {
        None | Some(CertsVerb::Show) => show::run(args.json).await,
    }
}
