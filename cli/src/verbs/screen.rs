//! `transom screen`: what a session's screen shows now.

use std::io::{IsTerminal, Write};

use protocol::sessions::{ScreenFormat, ScreenQuery};

use crate::{client::with_query, exit, failure::Failure, names, tame::Tame, target::Target};

/// Arguments of `screen`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It shows and changes nothing: no size, no focus, no unread mark.

--last-command needs a shell that marks its commands: see `transom shell-init --help`.")]
pub(crate) struct Args {
    /// Name or id of the session, or a beginning that only it has
    name: String,
    /// With its colours, as escape sequences
    #[arg(long, conflicts_with = "json")]
    ansi: bool,
    /// Print size, cursor, title and lines as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// So many lines of scrollback above the screen too, at most 10000
    #[arg(long, short = 'n', value_name = "COUNT", conflicts_with = "last_command")]
    lines: Option<u32>,
    /// Only what the last command printed
    #[arg(long)]
    last_command: bool,
}

/// Asks and prints.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let client = target.client()?;
    let session = names::find(&client, &args.name).await?;
    let query = ScreenQuery {
        format: if args.json {
            ScreenFormat::Json
        } else if args.ansi {
            ScreenFormat::Ansi
        } else {
            ScreenFormat::Text
        },
        lines: args.lines,
        before: None,
        last_command: args.last_command,
    };
    let path = with_query(&format!("/sessions/{}/screen", session.id), &query);
    let mut shown = client.bytes(&path).await?;
    if !shown.is_empty() && !shown.ends_with(b"\n") {
        shown.push(b'\n');
    }
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        // The lines are the program's; nothing in them may act on this terminal.
        let mut tame = Tame::default();
        shown = tame.pass(&shown);
        shown.extend_from_slice(tame.restore());
    }
    stdout.write_all(&shown)?;
    stdout.flush()?;
    Ok(exit::OK)
}
