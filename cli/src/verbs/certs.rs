//! `transom certs`: the certificates by which devices know the daemon.

mod export;
mod rotate;
mod show;
mod stores;
mod trust;

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
    /// Have browsers and phones trust this daemon, for its own names only
    Trust(trust::Args),
    /// Make another identity key on purpose
    Rotate(rotate::Args),
    /// Announce the key that comes next to the devices that know this one
    Next,
    /// Print the certificate that others are to trust, in PEM
    Export,
}

/// Shows or changes them.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    match &args.verb {
        None | Some(CertsVerb::Show) => show::run(args.json).await,
        Some(CertsVerb::Trust(wish)) => trust::run(wish, args.json).await,
        Some(CertsVerb::Rotate(wish)) => rotate::rotate(wish, args.json).await,
        Some(CertsVerb::Next) => rotate::next(args.json).await,
        Some(CertsVerb::Export) => export::run(args.json).await,
    }
}
