//! `transom send`: type text into a session.

use std::io::{IsTerminal, Read};

use protocol::{Bytes64, sessions::Input};

use super::after;
use crate::{exit, failure::Failure, names, target::Target};

/// Arguments of `send`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Text of several lines is pasted as one piece where the program knows such pastes (bracketed paste); what is \
no UTF-8, or is larger than half a megabyte, is typed as it is. Put -- before a text that begins with a dash.

  transom send build --enter \"make test\"
  git diff | transom send agent -")]
pub(crate) struct Args {
    /// Name or id of the session, or a beginning that only it has
    name: String,
    /// The text; - reads it from standard input
    #[arg(required_unless_present = "enter")]
    text: Option<String>,
    /// Press Enter after the text
    #[arg(long, short)]
    enter: bool,
    /// Print the session as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Types it.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let text = match args.text.as_deref() {
        Some("-") => read()?,
        Some(text) => text.as_bytes().to_vec(),
        None => Vec::new(),
    };
    let client = target.client()?;
    let session = names::find(&client, &args.name).await?;
    for input in pieces(text, args.enter) {
        client
            .send(&format!("/sessions/{}/input", session.id), &input)
            .await?;
    }
    after::show(&client, &session.id, args.json).await?;
    Ok(exit::OK)
}

fn read() -> Result<Vec<u8>, Failure> {
    let mut stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        return Err(Failure::usage(
            "`-` reads the text from standard input, which is this terminal",
            "give the text itself, or pipe it in; `transom attach` types by hand",
        ));
    }
    let mut text = Vec::new();
    stdin.read_to_end(&mut text)?;
    Ok(text)
}

/// What to send, in order: the text as one piece if it can be one.
fn pieces(text: Vec<u8>, enter: bool) -> Vec<Input> {
    match String::from_utf8(text) {
        Ok(text) if text.len() <= PIECE => vec![Input {
            text: Some(text),
            enter,
            ..Input::default()
        }],
        Ok(text) => in_bytes(text.as_bytes(), enter),
        Err(other) => in_bytes(other.as_bytes(), enter),
    }
}

fn in_bytes(bytes: &[u8], enter: bool) -> Vec<Input> {
    let mut pieces: Vec<Input> = bytes
        .chunks(PIECE)
        .map(|piece| Input {
            data: Some(Bytes64(piece.to_vec())),
            ..Input::default()
        })
        .collect();
    if let Some(last) = pieces.last_mut() {
        last.enter = enter;
    }
    pieces
}

/// Bytes of one request: a body holds 1 MiB, and JSON writes most texts in less than twice their bytes.
const PIECE: usize = 512 * 1024;

#[cfg(test)]
mod tests {
    use super::{PIECE, pieces};

    #[test]
    fn text_is_one_piece_with_its_enter() {
        let pieces = pieces("a\nb é".into(), true);
        assert_eq!(pieces.len(), 1);
        assert_eq!(
            (pieces[0].text.as_deref(), pieces[0].enter),
            (Some("a\nb é"), true)
        );
    }

    #[test]
    fn what_is_no_text_is_sent_as_it_is_and_enter_comes_last() {
        let bytes: Vec<u8> = (0..=255).cycle().take(2 * PIECE + 7).collect();
        let pieces = pieces(bytes.clone(), true);
        let sent: Vec<u8> = pieces
            .iter()
            .flat_map(|piece| piece.data.as_ref().unwrap().0.clone())
            .collect();
        assert_eq!(sent, bytes);
        assert_eq!(
            pieces.iter().map(|piece| piece.enter).collect::<Vec<_>>(),
            [false, false, true]
        );
    }

    #[test]
    fn enter_alone_is_an_empty_text() {
        let pieces = pieces(Vec::new(), true);
        assert_eq!((pieces[0].text.as_deref(), pieces[0].enter), (Some(""), true));
    }
}
