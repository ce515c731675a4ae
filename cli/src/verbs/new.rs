//! `transom new`: a new session, not followed.

use super::run::{ProgramArgs, left_out};
use crate::{escape::escape, exit, failure::Failure, output, start::StartArgs, target::Target};

/// Arguments of `new`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Print the session as JSON, with its `id`
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    start: StartArgs,
}

/// Makes the session, and prints its name.
pub(crate) async fn run(args: Args, target: &Target) -> Result<u8, Failure> {
    let client = args.start.client(target).await?;
    let session = args.program.create(&client).await?;
    left_out(&client).iter().for_each(|note| output::note(note));
    if args.json {
        output::json(&session)?;
    } else {
        output::line(&escape(&session.name))?;
    }
    Ok(exit::OK)
}
