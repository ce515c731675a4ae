//! The owner's yes or no, read beside everything else.

use std::{
    io::{BufRead, IsTerminal, Write},
    thread,
};

use protocol::pairing::RequestView;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{super::revoke::is_yes, words};
use crate::output;

/// Where answers come from.
pub(super) struct Answers {
    /// The first is welcome.
    yes: bool,
    /// Lines of standard input, from the first question on.
    lines: Option<UnboundedReceiver<String>>,
    /// Whether the cursor stands behind a question.
    is_asking: bool,
}

impl Answers {
    /// Answers by a person, or yes to the first.
    pub(super) fn new(yes: bool) -> Self {
        Self {
            yes,
            lines: None,
            is_asking: false,
        }
    }

    /// Asks about the request; whether the answer is yes already.
    pub(super) fn ask(&mut self, request: &RequestView) -> bool {
        if self.yes {
            return true;
        }
        let lines = self.lines.get_or_insert_with(read_lines);
        if std::io::stdin().is_terminal() {
            // What was typed before the question is no answer to it.
            while lines.try_recv().is_ok() {}
            let mut stderr = anstream::stderr();
            write!(
                stderr,
                "Approve {} as {}? [y/N] ",
                words::name(request),
                request.role
            )
            .ok();
            stderr.flush().ok();
            self.is_asking = true;
        } else {
            output::note(&words::elsewhere(request));
        }
        false
    }

    /// The next answer. Where nobody is asked, or standard input has ended, which is not a no, there is none.
    pub(super) async fn next(&mut self) -> bool {
        let line = match &mut self.lines {
            Some(lines) => lines.recv().await,
            None => None,
        };
        match line {
            Some(line) => {
                // The key that ended the line ended the question's, too.
                self.is_asking = false;
                is_yes(&line)
            }
            None => std::future::pending().await,
        }
    }

    /// Ends the line of a question that is not open any more.
    pub(super) fn end_question(&mut self) {
        if std::mem::take(&mut self.is_asking) {
            output::note("");
        }
    }
}

fn read_lines() -> UnboundedReceiver<String> {
    let (lines, received) = unbounded_channel();
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    received
}
