//! `transom logs`: a session's output, every byte of it that is kept.

mod last_lines;
mod sink;

use ::client::{
    Patience,
    attachment::{self, Begin},
};
use protocol::{
    attach::{ClientMessage, Mode, ServerMessage},
    sessions::{Output, OutputQuery, Session},
};

use self::sink::Sink;
use crate::{
    client::{Client, with_query},
    exit,
    failure::Failure,
    names, output, patience,
    target::Target,
};

/// Arguments of `logs`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A pipe or file gets the bytes as they are, a terminal text and colours alone. Bytes have offsets since the \
session began: --from goes on where an earlier call stopped. Bytes that are gone are said on standard error, \
and where they were asked for the exit code is 1.

-f ends with the program, and goes on by itself while the daemon restarts, for up to a minute.

With --json: lines of objects with data (base64url), offset, next_offset, end, truncated, running and exit.")]
pub(crate) struct Args {
    /// Name or id of the session, or a beginning that only it has
    name: String,
    /// Go on with what comes, until the program ends
    #[arg(long, short)]
    follow: bool,
    /// Only the last lines, so many
    #[arg(long, short = 'n', value_name = "COUNT", conflicts_with = "from")]
    lines: Option<u64>,
    /// Only from this offset on
    #[arg(long, value_name = "OFFSET")]
    from: Option<u64>,
    /// Print pieces of output, with their offsets, as lines of JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Prints it.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let client = target.client()?;
    let session = names::find(&client, &args.name).await?;
    let begin = match args.lines {
        Some(lines) => Some(last_lines::begin(&client, &session, lines).await?),
        None => args.from,
    };
    let mut logs = Logs {
        client,
        session,
        patience: patience::bounded(),
        sink: Sink::of_stdout(args.json),
        next: begin,
        lacks: false,
    };
    let interrupted = tokio::select! {
        done = logs.print(args.follow) => {
            done?;
            false
        }
        // Colours must not stay on in a terminal whose person had enough.
        _ = tokio::signal::ctrl_c() => true,
        () = output::reader_gone() => return Err(Failure::ClosedPipe),
    };
    logs.sink.finish(interrupted)?;
    Ok(match (interrupted, logs.lacks) {
        (true, _) => INTERRUPTED,
        (false, true) => exit::FAILED,
        (false, false) => exit::OK,
    })
}

struct Logs {
    client: Client,
    session: Session,
    patience: Patience,
    sink: Sink,
    /// The next byte wanted; none: the oldest there is.
    next: Option<u64>,
    /// Whether bytes that were asked for are gone.
    lacks: bool,
}

impl Logs {
    async fn print(&mut self, follow: bool) -> Result<(), Failure> {
        // What is printed after the command began is for those who follow.
        let mut end = None;
        loop {
            let piece = match self.ask().await {
                Ok(piece) => piece,
                Err(failure) => {
                    self.patience.bear(failure).await?;
                    continue;
                }
            };
            self.patience.worked();
            if let Some(wanted) = self.next.filter(|wanted| *wanted > piece.end) {
                return Err(Failure::failed(
                    "beyond_end",
                    format!("byte {wanted} has not been printed yet: there are {}", piece.end),
                    "ask from a smaller offset; `end` in `transom ls --json` is the largest",
                ));
            }
            let target = *end.get_or_insert(piece.end);
            let is_last = piece.next_offset >= target || piece.data.0.is_empty();
            self.take(&piece)?;
            if is_last {
                break;
            }
        }
        if follow { self.follow().await } else { Ok(()) }
    }

    /// Follows until the program has ended, over as many connections as that takes.
    async fn follow(&mut self) -> Result<(), Failure> {
        while let Err(failure) = self.connect().await {
            self.patience.bear(failure).await?;
        }
        Ok(())
    }

    async fn ask(&self) -> Result<Output, Failure> {
        // From the first byte on, where nothing else is said: the answer begins with the oldest that is kept.
        let query = OutputQuery {
            from: Some(self.next.unwrap_or_default()),
            limit: None,
        };
        let path = format!("/sessions/{}/output", self.session.id);
        self.client.get(&with_query(&path, &query)).await
    }

    /// Follows one connection until the program has ended.
    async fn connect(&mut self) -> Result<(), Failure> {
        let begin = Begin::Offset(self.next.unwrap_or_default());
        let id = &self.session.id;
        let (mut outgoing, mut incoming) =
            attachment::attach(self.client.inner(), id, Mode::Lossless, begin).await?;
        self.patience.worked();
        loop {
            match incoming.next().await? {
                ServerMessage::Output { offset, bytes } => {
                    self.take_live(offset, bytes)?;
                    let offset = self.next.unwrap_or_default();
                    outgoing.send(&ClientMessage::Ack { offset }).await.ok();
                }
                ServerMessage::Snapshot { ground, .. } => self.take_live(ground, Vec::new())?,
                ServerMessage::Exit(exit) => {
                    outgoing.close().await;
                    let next = self.next.unwrap_or_default();
                    return self.sink.exit(next, exit);
                }
                ServerMessage::Hello(_)
                | ServerMessage::Size { .. }
                | ServerMessage::InputApplied { .. }
                | ServerMessage::Presence(_)
                | ServerMessage::Pong { .. } => {}
            }
        }
    }

    fn take_live(&mut self, offset: u64, mut bytes: Vec<u8>) -> Result<(), Failure> {
        let wanted = self.next.unwrap_or_default();
        // What was written already is not written again, whatever a reconnect brings.
        let known = usize::try_from(wanted.saturating_sub(offset)).unwrap_or(usize::MAX);
        bytes.drain(..known.min(bytes.len()));
        let offset = offset.max(wanted);
        let next_offset = offset + bytes.len() as u64;
        self.take(&Output {
            data: protocol::Bytes64(bytes),
            offset,
            next_offset,
            end: next_offset,
            truncated: offset > wanted,
            running: true,
            exit: None,
        })
    }

    fn take(&mut self, piece: &Output) -> Result<(), Failure> {
        match self.next {
            Some(wanted) if piece.truncated || piece.offset > wanted => {
                self.lacks = true;
                self.say_gone(wanted, piece.offset);
            }
            None if piece.offset > 0 => self.say_gone(0, piece.offset),
            _ => {}
        }
        self.next = Some(piece.next_offset);
        self.sink.piece(piece)
    }

    fn say_gone(&mut self, from: u64, to: u64) {
        self.sink.pause();
        output::note(&format!(
            "the output from byte {from} to byte {to} is gone: only so much is kept of each session"
        ));
    }
}

/// The exit code of a program that Ctrl-C ended, as shells tell it.
const INTERRUPTED: u8 = 130;

#[cfg(test)]
mod tests;
