//! `transom keys`: press keys in a session.

use protocol::sessions::Keys;

use super::after;
use crate::{exit, failure::Failure, names, target::Target};

/// Arguments of `keys`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Keys are named as in C-c (Ctrl-C), M-x (Alt-X), S-Tab, C-M-Left; Enter, Escape, Tab, Space, Backspace, Up, \
Down, Left, Right, Home, End, PageUp, PageDown, Insert, Delete, F1 to F20, KP0 to KPEnter (the keypad); or \
one character. They are encoded as the program asked its terminal to.

  transom keys build C-c Up Enter")]
pub(crate) struct Args {
    /// Name or id of the session, or a beginning that only it has
    name: String,
    /// The keys, in order
    #[arg(value_name = "KEY", required = true, allow_hyphen_values = true)]
    keys: Vec<String>,
    /// Print the session as JSON (before the keys)
    #[arg(long)]
    pub(super) json: bool,
}

/// Presses them.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let client = target.client()?;
    let session = names::find(&client, &args.name).await?;
    let keys = Keys {
        keys: args.keys.clone(),
    };
    client
        .send(&format!("/sessions/{}/keys", session.id), &keys)
        .await?;
    after::show(&client, &session.id, args.json).await?;
    Ok(exit::OK)
}
