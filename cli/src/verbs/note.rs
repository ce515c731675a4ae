//! `transom note`: a line that everybody sees beside a session.

use std::env;

use protocol::sessions::{NewNote, Session};

use crate::{client::Client, duration, exit, failure::Failure, names, output, target::Target};

/// Arguments of `note`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "transom note [OPTIONS] [NAME] TEXT",
    after_help = "\
Inside of a session, without a NAME, the note is on that session. An empty text takes the note away.

  transom note build \"waits for the database\"
  transom note --ttl 10m \"running the tests\""
)]
pub(crate) struct Args {
    /// The text, at most 100 bytes; before it the session's name or id, or a beginning that only it has
    #[arg(value_name = "TEXT", required = true, num_args = 1..=2)]
    words: Vec<String>,
    /// Take the note away after so long, for example 10m
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    ttl: Option<u64>,
    /// Print the session as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Leaves the note.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let client = target.client()?;
    let (id, text) = match &args.words[..] {
        [name, text] => (names::find(&client, name).await?.id, text),
        words => (own(&client)?, words.last().expect("clap requires a word")),
    };
    let note = NewNote {
        text: text.clone(),
        ttl: args.ttl,
    };
    let noted: Session = client.post(&format!("/sessions/{id}/note"), &note).await?;
    if args.json {
        output::json(&noted)?;
    }
    Ok(exit::OK)
}

/// The session that this runs in.
fn own(client: &Client) -> Result<String, Failure> {
    let session = env::var("TRANSOM_SESSION")
        .ok()
        .filter(|id| !id.is_empty() && client.remote().is_none());
    session.ok_or_else(|| Failure::usage("outside of a session, name one", "`transom note NAME TEXT`"))
}
