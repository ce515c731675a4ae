//! Following a session through pipes: every byte of its output, and nothing else.

use std::{io::IsTerminal, os::fd::AsFd};

use protocol::attach::{ClientMessage, Mode, ServerMessage};
use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::{End, filter::Filter, keyboard, modes::Modes};
use crate::{
    attachment::{self, Begin, Incoming, Outgoing},
    client::Client,
    failure::Failure,
    output,
};

/// Writes the session's output to standard output from its first byte, and sends it standard input if that is a pipe
/// or a file.
///
/// # Errors
/// Why it could not be followed to its end; bytes that the daemon no longer has are an error.
pub(crate) async fn follow(client: &Client, session: &str) -> Result<End, Failure> {
    let (mut outgoing, mut incoming) =
        attachment::attach(client, session, Mode::Lossless, Begin::Output).await?;
    if has_input() {
        match attachment::attach(client, session, Mode::Write, Begin::Screen).await {
            Ok((to, from)) => drop(tokio::spawn(send_input(to, from))),
            // The program may have ended already: its output and its code are to be had all the same.
            Err(_) => output::note("standard input could not be sent: the program takes none any more"),
        }
    }
    let filter = std::io::stdout().is_terminal().then(Filter::default);
    pass_on(&mut incoming, &mut outgoing, &mut tokio::io::stdout(), filter).await
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
    incoming: &mut Incoming,
    outgoing: &mut Outgoing,
    to: &mut (impl AsyncWrite + Unpin),
    mut filter: Option<Filter>,
) -> Result<End, Failure> {
    let (mut expected, mut modes) = (0, Modes::default());
    loop {
        match incoming.next().await? {
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
                outgoing.send(&ClientMessage::Ack { offset: expected }).await.ok();
            }
            ServerMessage::Snapshot { ground, .. } => return Err(gone(expected, ground)),
            ServerMessage::Exit(exit) => {
                if filter.is_some() {
                    to.write_all(&modes.restore()).await?;
                    to.flush().await?;
                }
                outgoing.close().await;
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
async fn send_input(mut outgoing: Outgoing, mut incoming: Incoming) {
    let mut input = keyboard::read();
    let (mut sequence, mut ended, mut at_line_start) = (0, false, true);
    loop {
        let message = tokio::select! {
            chunk = input.recv(), if !ended => {
                ended = chunk.is_none();
                let bytes = chunk.unwrap_or_else(|| end_of_input(at_line_start).to_vec());
                at_line_start = bytes.last().is_none_or(|last| *last == b'\n');
                sequence += 1;
                ClientMessage::Input { sequence, bytes }
            }
            message = incoming.next() => match message {
                Ok(ServerMessage::Output { offset, bytes }) => ClientMessage::Ack { offset: offset + bytes.len() as u64 },
                Ok(ServerMessage::Snapshot { ground, .. }) => ClientMessage::Ack { offset: ground },
                Ok(ServerMessage::Exit(_)) | Err(_) => return,
                Ok(_) => continue,
            },
        };
        if outgoing.send(&message).await.is_err() {
            return;
        }
    }
}

/// What a terminal sends for its user's Ctrl-D: the first one after the start of a line passes the line on, the
/// next one is the end (termios(3), VEOF).
fn end_of_input(at_line_start: bool) -> &'static [u8] {
    if at_line_start { b"\x04" } else { b"\x04\x04" }
}

#[cfg(test)]
mod tests;
