//! `transom view`: follow a session without touching it.

use protocol::attach::Mode;

use crate::{failure::Failure, target::Target};

/// Arguments of `view`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Ctrl-\\ then d, or Ctrl-C, detaches. The session keeps its size: where it is larger than this terminal, the part \
around its cursor is shown.")]
pub(crate) struct Args {
    /// Name or id of the session, or a beginning that only it has
    name: String,
}

/// Attaches to view.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    super::attach::follow(target, &args.name, Mode::View).await
}
