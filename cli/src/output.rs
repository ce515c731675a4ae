//! What goes to standard output and standard error.
//!
//! Colours appear on a terminal only, and not with `NO_COLOR`.

use std::{
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
    thread,
};

use anstyle::{AnsiColor, Style};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};
use serde::Serialize;
use tokio::sync::oneshot;

use crate::{failure::Failure, wrap::wrap};

/// Headings and what matters most.
pub(crate) const STRONG: Style = Style::new().bold();

/// Writes the text and a newline to standard output.
///
/// # Errors
/// [`Failure::ClosedPipe`] where nobody reads any more.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.write_all(b"\n")?;
    Ok(stdout.flush()?)
}

/// Writes the value to standard output as JSON on one line.
///
/// # Errors
/// [`Failure::ClosedPipe`] where nobody reads any more.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_vec(value).expect("wire structs have string keys and finite numbers");
    text.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&text)?;
    Ok(stdout.flush()?)
}

/// Writes a sentence and a newline to standard output; on a terminal it is broken between words.
///
/// # Errors
/// [`Failure::ClosedPipe`] where nobody reads any more.
pub(crate) fn sentence(text: &str) -> Result<(), Failure> {
    line(&broken(text, width(), 0))
}

/// Writes a sentence to standard error that is no part of the result; on a terminal it is broken between words.
pub(crate) fn note(text: &str) {
    say(&broken(text, error_width(), 0));
}

/// Writes an `error:` line to standard error.
pub(crate) fn error(text: &str) {
    let style = AnsiColor::Red.on_default().bold();
    say(&format!("{style}error:{style:#}{}", behind("error:", text)));
}

/// Writes a `warning:` line to standard error.
pub(crate) fn warning(text: &str) {
    let style = AnsiColor::Yellow.on_default().bold();
    say(&format!("{style}warning:{style:#}{}", behind("warning:", text)));
}

/// Writes a `hint:` line to standard error.
pub(crate) fn hint(text: &str) {
    let style = AnsiColor::Cyan.on_default().bold();
    say(&format!("{style}hint:{style:#}{}", behind("hint:", text)));
}

/// The text with a blank before it, in lines that end where they would with the heading in front.
fn behind(heading: &str, text: &str) -> String {
    let all = broken(&format!("{heading} {text}"), error_width(), heading.len() + 1);
    all[heading.len()..].to_owned()
}

fn broken(text: &str, width: Option<usize>, indent: usize) -> String {
    match width {
        Some(width) => wrap(text, width, indent).join("\n"),
        None => text.to_owned(),
    }
}

fn say(text: &str) {
    // Where standard error is closed there is nobody to tell.
    writeln!(anstream::stderr(), "{text}").ok();
}

fn error_width() -> Option<usize> {
    size_of(io::stderr()).map(|(columns, _)| usize::from(columns))
}

/// So many connections, in words.
pub(crate) fn connections(count: u64) -> String {
    match count {
        1 => "1 connection".to_owned(),
        _ => format!("{count} connections"),
    }
}

/// The width of the terminal that standard output is, if it is one.
pub(crate) fn width() -> Option<usize> {
    size().map(|(columns, _)| usize::from(columns))
}

/// Columns and rows of the terminal that standard output is, if it is one and knows them.
pub(crate) fn size() -> Option<(u16, u16)> {
    size_of(io::stdout())
}

/// Whether colours go to standard output.
pub(crate) fn has_colour() -> bool {
    anstream::stdout().current_choice() != anstream::ColorChoice::Never
}

/// Returns once nobody reads standard output any more: a verb that writes now and then would notice at its next line
/// only.
pub(crate) async fn reader_gone() {
    let (say, said) = oneshot::channel();
    // The thread ends with the process. poll(2) tells of a closed pipe or terminal though nothing is asked for; a file is
    // always there.
    thread::spawn(move || {
        let stdout = rustix::stdio::stdout();
        while let Err(Errno::INTR) = poll(&mut [PollFd::from_borrowed_fd(stdout, PollFlags::empty())], None) {
        }
        say.send(()).ok();
    });
    said.await.ok();
}

fn size_of(stream: impl IsTerminal + AsFd) -> Option<(u16, u16)> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stream).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}
