//! Following a session through pipes: every byte of its output, and nothing else.

use std::{io::IsTerminal, os::fd::AsFd, time::Duration};

use ::client::attachment::{Attachment, Begin, Event};
use protocol::attach::{ClientMessage, Mode, ServerMessage};
use rustix::fs::{FileType, fstat};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::mpsc::Receiver,
};

use super::{End, filter::Filter, keyboard, modes::Modes};
use crate::{client::Client, failure::Failure, output};

/// Writes the session's output to standard output from its first byte, and sends it standard input if that is a pipe
/// or a file.
///
/// # Errors
/// Why it could not be followed to its end; bytes that the daemon no longer has are an error.
pub(crate) async fn follow(client: &Client, session: &str) -> Result<End, Failure> {
    let attachment = Attachment::open(
        client.inner(),
        session,
        Mode::Lossless,
        Begin::Output,
        Some(PATIENCE),
    )
    .await?;
    if has_input() {
        match Attachment::open(
            client.inner(),
            session,
            Mode::Write,
            Begin::Screen,
            Some(PATIENCE),
        )
        .await
        {
            Ok(attachment) => drop(tokio::spawn(send_input(attachment, keyboard::read()))),
            // The program may have ended already: its output and its code are to be had all the same.
            Err(_) => output::note("standard input could not be sent: the program takes none any more"),
        }
    }
    let filter = std::io::stdout().is_terminal().then(Filter::default);
    pass_on(attachment, &mut tokio::io::stdout(), filter).await
}

/// A terminal's input is the shell's, and a device such as `/dev/null` says nothing.
fn has_input() -> bool {
    let stdin = std::io::stdin();
    fstat(stdin.as_fd()).is_ok_and(|status| {
        matches!(
            FileType::from_raw_mode(status.st_mode),
            FileType::Fifo | FileType::RegularFile | FileType::Socket
        )
    })
}

async fn pass_on(
    mut attachment: Attachment,
    to: &mut (impl AsyncWrite + Unpin),
    mut filter: Option<Filter>,
) -> Result<End, Failure> {
    let (mut expected, mut modes) = (0, Modes::default());
    loop {
        let message = match attachment.events.recv().await {
            Some(Event::Message(message)) => message,
            Some(Event::Away | Event::Back(_) | Event::Unconfirmed(_)) => continue,
            Some(Event::Lost(error)) => return Err(error.into()),
            None => return Err(Failure::lost("the link to the daemon ended")),
        };
        match message {
            ServerMessage::Output { offset, bytes } => {
                if offset != expected {
                    return Err(gone(expected, offset));
                }
                expected += bytes.len() as u64;
                let bytes = match &mut filter {
                    Some(filter) => {
                        let mut drawn = Vec::with_capacity(bytes.len());
                        filter.pass(&bytes, &mut modes, &mut drawn);
                        drawn
                    }
                    None => bytes,
                };
                to.write_all(&bytes).await?;
                to.flush().await?;
                attachment.say.send(ClientMessage::Ack { offset: expected }).ok();
            }
            ServerMessage::Snapshot { ground, .. } => return Err(gone(expected, ground)),
            ServerMessage::Exit(exit) => {
                if filter.is_some() {
                    to.write_all(&modes.restore()).await?;
                    to.flush().await?;
                }
                drop((attachment.say, attachment.events));
                // The goodbye; whether it arrives does not matter any more.
                attachment.course.await.ok();
                return Ok(End::Exited(exit));
            }
            ServerMessage::Hello(_)
            | ServerMessage::Size { .. }
            | ServerMessage::InputApplied { .. }
            | ServerMessage::Presence(_)
            | ServerMessage::Pong { .. } => {}
        }
    }
}

fn gone(expected: u64, offset: u64) -> Failure {
    Failure::failed(
        "truncated",
        format!("the output from byte {expected} to byte {offset} is gone: it came faster than it was read"),
        "read faster, or raise sessions.scrollback_memory in the configuration",
    )
}

/// Sends standard input; its end is the end of the program's input, not of the session.
async fn send_input(mut attachment: Attachment, mut input: Receiver<Vec<u8>>) {
    let (mut sequence, mut applied, mut ended, mut at_line_start) = (0, 0, false, true);
    loop {
        let message = tokio::select! {
            chunk = input.recv(), if !ended && sequence < applied + MOST_UNCONFIRMED => {
                ended = chunk.is_none();
                let bytes = chunk.unwrap_or_else(|| end_of_input(at_line_start).to_vec());
                at_line_start = bytes.last().is_none_or(|last| *last == b'\n');
                sequence += 1;
                ClientMessage::Input { sequence, bytes }
            }
            event = attachment.events.recv() => match event {
                Some(Event::Message(message)) => match message {
                    ServerMessage::Output { offset, bytes } => ClientMessage::Ack { offset: offset + bytes.len() as u64 },
                    ServerMessage::Snapshot { ground, .. } => ClientMessage::Ack { offset: ground },
                    ServerMessage::InputApplied { sequence } => {
                        applied = applied.max(sequence);
                        continue;
                    }
                    ServerMessage::Hello(hello) if hello.mode != Mode::Write => {
                        output::note("the rest of standard input is not sent: the daemon cannot write down who types");
                        return;
                    }
                    ServerMessage::Exit(_) => return,
                    _ => continue,
                },
                // What was said before is with the program, will be sent again, or is given up.
                Some(Event::Back(hello)) => {
                    applied = hello.input_applied.map_or(sequence, |known| known.max(applied));
                    continue;
                }
                Some(Event::Unconfirmed(_)) => {
                    output::note("some of standard input may be lost: nobody knows what of it the program got");
                    continue;
                }
                Some(Event::Away) => continue,
                Some(Event::Lost(_)) | None => return,
            },
        };
        if attachment.say.send(message).is_err() {
            return;
        }
    }
}

/// What a terminal sends for its user's Ctrl-D: the first one after the start of a line passes the line on, the
/// next one is the end (termios(3), VEOF).
fn end_of_input(at_line_start: bool) -> &'static [u8] {
    if at_line_start { b"\x04" } else { b"\x04\x04" }
}

/// Chunks of input that wait to be confirmed; more wait in the pipe.
const MOST_UNCONFIRMED: u64 = 256;
/// How long a daemon may be away where nobody is there who could decide not to wait: an upgrade takes seconds.
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
