//! The owner's yes or no, read beside everything else.

use std::{
    io::{BufRead, IsTerminal, Write},
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
};

use protocol::pairing::RequestView;

use super::super::revoke::is_yes;
use crate::{names::spaced, output};

/// Where answers come from.
pub(super) struct Answers {
    /// Everybody is welcome.
    yes: bool,
    /// Lines of standard input, from the first question on.
    lines: Option<Receiver<String>>,
    /// Whether the cursor stands behind a question.
    is_asking: bool,
}

impl Answers {
    /// Answers by a person, or yes to all.
    pub(super) fn new(yes: bool) -> Self {
        Self {
            yes,
            lines: None,
            is_asking: false,
        }
    }

    /// Asks about the request.
    pub(super) fn ask(&mut self, request: &RequestView) {
        if self.yes {
            return;
        }
        let lines = self.lines.get_or_insert_with(read_lines);
        if std::io::stdin().is_terminal() {
            // What was typed before the question is no answer to it.
            while lines.try_recv().is_ok() {}
            let mut stderr = anstream::stderr();
            write!(
                stderr,
                "Approve \"{}\" as {}? [y/N] ",
                crate::escape::escape(&request.label),
                request.role
            )
            .ok();
            stderr.flush().ok();
            self.is_asking = true;
        } else if let Some(code) = &request.code {
            output::note(&format!(
                "to decide elsewhere: transom approve {0}, or transom reject {0}",
                spaced(code)
            ));
        }
    }

    /// The answer, if there is one.
    pub(super) fn take(&mut self) -> Option<bool> {
        if self.yes {
            return Some(true);
        }
        match self.lines.as_ref()?.try_recv() {
            Ok(line) => {
                // The key that ended the line ended the question's, too.
                self.is_asking = false;
                Some(is_yes(&line))
            }
            // At its end standard input says nothing, which is not a no.
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
    }

    /// Ends the line of a question that is not open any more.
    pub(super) fn end_question(&mut self) {
        if std::mem::take(&mut self.is_asking) {
            output::note("");
        }
    }
}

fn read_lines() -> Receiver<String> {
    let (lines, received) = channel();
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    received
}
