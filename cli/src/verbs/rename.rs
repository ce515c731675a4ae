//! `transom rename`: another name for a session.

use protocol::sessions::{Session, SessionChanges};

use crate::{exit, failure::Failure, names, output, target::Target};

/// Arguments of `rename`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name or id of the session, or a beginning that only it has
    name: String,
    /// The new name: safe in shells and addresses, and no other live session's
    new: String,
    /// Print the session as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Renames it.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let client = target.client()?;
    let session = names::find(&client, &args.name).await?;
    let changes = SessionChanges {
        name: Some(args.new.clone()),
        labels: None,
    };
    let renamed: Session = client
        .patch(&format!("/sessions/{}", session.id), &changes)
        .await?;
    if args.json {
        output::json(&renamed)?;
    }
    Ok(exit::OK)
}
