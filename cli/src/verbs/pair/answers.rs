//! The owner's yes or no, read beside everything else.

use std::{
    io::{BufRead, IsTerminal},
    thread,
};

use pairing::RequestId;
use protocol::pairing::RequestView;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::words;
use crate::{output, prompt};

/// Where answers come from.
pub(super) struct Answers {
    /// The first is welcome.
    yes: bool,
    /// Lines of standard input, from the first question on.
    lines: Option<UnboundedReceiver<String>>,
    /// Whom the question that is open is about: an answer is about nobody else.
    asked: Option<RequestId>,
    /// Whether the cursor stands behind it.
    is_asking: bool,
}

impl Answers {
    /// Answers by a person, or yes to the first.
    pub(super) fn new(yes: bool) -> Self {
        Self {
            yes,
            lines: None,
            asked: None,
            is_asking: false,
        }
    }

    /// Whether whoever comes is welcome, without a question.
    pub(super) fn is_yes(&self) -> bool {
        self.yes
    }

    /// Asks about this request, unless it is asked about already: one question is open at a time.
    pub(super) fn ask(&mut self, request: Option<&RequestView>) {
        if self.yes || self.asked == request.map(|request| request.id) {
            return;
        }
        self.end_question();
        let Some(request) = request else { return };
        self.asked = Some(request.id);
        let lines = self.lines.get_or_insert_with(read_lines);
        if std::io::stdin().is_terminal() {
            // What was typed before the question is no answer to it.
            while lines.try_recv().is_ok() {}
            prompt::pose(&format!("Approve {} as {}?", words::name(request), request.role)).ok();
            self.is_asking = true;
        } else {
            output::note(&words::elsewhere(request));
        }
    }

    /// The answer to the open question, and whom it is about. Where nobody is asked, or standard input has ended, which is not a
    /// no, there is none.
    pub(super) async fn next(&mut self) -> (RequestId, bool) {
        if let (Some(asked), Some(lines)) = (self.asked, &mut self.lines)
            && let Some(line) = lines.recv().await
        {
            // The key that ended the line ended the question's, too.
            (self.asked, self.is_asking) = (None, false);
            return (asked, prompt::is_yes(&line));
        }
        std::future::pending().await
    }

    /// Ends the question, whose line something else follows. If it is open still, it is to be asked again.
    pub(super) fn end_question(&mut self) {
        self.asked = None;
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

#[cfg(test)]
mod tests {
    use super::{super::desk::tests::request, Answers, unbounded_channel};

    #[tokio::test]
    async fn an_answer_is_about_whom_the_open_question_names_and_nobody_else() {
        let (typed, lines) = unbounded_channel();
        let mut answers = Answers::new(false);
        answers.lines = Some(lines);
        let [stranger, phone] = [1, 2].map(|number| request(number, "pending"));
        answers.ask(Some(&stranger));
        answers.ask(Some(&stranger));
        typed.send("n".to_owned()).unwrap();
        assert_eq!(answers.next().await, (stranger.id, false));
        answers.ask(Some(&phone));
        typed.send("y".to_owned()).unwrap();
        assert_eq!(answers.next().await, (phone.id, true));
        typed.send("y".to_owned()).unwrap();
        let none = futures_util::FutureExt::now_or_never(answers.next());
        assert_eq!(none, None, "nobody is asked about");
    }
}
