//! What the person is told besides the screen: who came or went, and how the link is.

use std::{io::Write, time::Instant};

use protocol::attach::{ClaimChange, Hello, Mode, Presence, ServerMessage};

use super::{NOTICE, Painter};
use crate::{
    attach::{others, unconfirmed},
    escape::escape,
};

impl<W: Write + Send + 'static> Painter<W> {
    /// Takes a message that draws nothing.
    pub(super) fn hear(&mut self, message: &ServerMessage) {
        match message {
            ServerMessage::Presence(presence) => {
                let present = (presence.viewers, presence.writers);
                if std::mem::replace(&mut self.present, present) != present {
                    let words = presence_in_words(self.place.mode, presence);
                    self.say(match self.said_of_size() {
                        Some(size) => format!("{size}; {words}"),
                        None => words,
                    });
                }
            }
            ServerMessage::Hello(hello) => self.greeted(hello),
            _ => {}
        }
    }

    /// Shows that the connection is lost.
    pub(super) fn away(&mut self) {
        self.is_away = true;
        self.repaint_all();
    }

    /// Shows that it is there again.
    pub(super) fn back(&mut self, hello: &Hello) {
        if std::mem::take(&mut self.is_away) {
            self.repaint_all();
        }
        self.greeted(hello);
    }

    /// Says that nobody knows whether the program got so many keys.
    pub(super) fn given_up(&mut self, keys: usize) {
        let unconfirmed = unconfirmed(keys);
        self.say(match self.place.mode {
            Mode::Write => format!("{unconfirmed}; type them again if they are missing"),
            Mode::View | Mode::Lossless => format!("{ONLY_VIEWS}; {unconfirmed}"),
        });
    }

    /// Takes who holds the size; who lost it is told to whom.
    pub(super) fn claimed(&mut self, claim: ClaimChange) {
        let sized_by = claim.by.filter(|_| !claim.holder);
        match &sized_by {
            // Who takes it has mostly just come, of which there are words already.
            Some(by) if claim.taken_from => self.say(match (self.said_of_size(), &self.notice) {
                (None, Some((words, _))) => format!("{}; {words}", has_size(by)),
                _ => has_size(by),
            }),
            // It is ours again, or nobody's.
            None if self.sized_by.is_some() => self.unsay(),
            _ => {}
        }
        self.sized_by = sized_by;
    }

    /// Takes the words over the screen away.
    pub(super) fn unsay(&mut self) {
        self.stale |= self.notice.take().is_some();
    }

    /// The words of who has the size, while they are shown.
    fn said_of_size(&self) -> Option<String> {
        let (words, _) = self.notice.as_ref()?;
        let size = has_size(self.sized_by.as_deref()?);
        words.starts_with(&size).then_some(size)
    }

    fn greeted(&mut self, hello: &Hello) {
        if hello.mode != self.place.mode {
            self.place.mode = hello.mode;
            self.present = (hello.viewers, hello.writers);
            self.say(ONLY_VIEWS.to_owned());
        }
    }

    fn say(&mut self, words: String) {
        self.notice = Some((words, Instant::now() + NOTICE));
        self.repaint_all();
    }
}

fn has_size(by: &str) -> String {
    format!("{} has the size now", escape(by))
}

/// Who else is there, with the names of those who may type.
fn presence_in_words(mode: Mode, presence: &Presence) -> String {
    let own = usize::from(mode == Mode::Write);
    let names: Vec<String> = presence
        .typing
        .iter()
        .skip(own)
        .map(|name| escape(name).into_owned())
        .collect();
    match others(mode, presence.viewers, presence.writers) {
        None => "nobody else is here any more".to_owned(),
        Some(others) if names.is_empty() => others,
        Some(others) => format!("{others}: {}", names.join(", ")),
    }
}

const ONLY_VIEWS: &str = "from now on this only views: the daemon cannot write down who types";

#[cfg(test)]
mod tests {
    use protocol::attach::{Mode, Presence};

    use super::presence_in_words;

    #[test]
    fn who_may_type_is_named() {
        let presence = Presence {
            viewers: 1,
            writers: 2,
            typing: vec!["me".to_owned(), "dev\u{1b}_1".to_owned()],
        };
        assert_eq!(
            presence_in_words(Mode::Write, &presence),
            "1 other views, 1 other may type: dev\\u{1b}_1"
        );
        let alone = Presence {
            viewers: 0,
            writers: 1,
            typing: vec!["me".to_owned()],
        };
        assert_eq!(
            presence_in_words(Mode::Write, &alone),
            "nobody else is here any more"
        );
    }
}
