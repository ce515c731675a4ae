//! The terminal's title and its stack.

/// The title and those to go back to; each short and without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Titles {
    title: String,
    saved: Vec<String>,
}

impl Titles {
    /// The title; empty if the program gave none.
    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Another title.
    pub(super) fn set(&mut self, title: &str) {
        let mut title: String = title
            .chars()
            .filter(|character| !character.is_control())
            .collect();
        title.truncate(title.floor_char_boundary(MAX_BYTES));
        self.title = title.trim().to_owned();
    }

    /// Saves the title. The oldest saved one is forgotten when too many are.
    pub(super) fn push(&mut self) {
        if self.saved.len() == MAX_SAVED {
            self.saved.remove(0);
        }
        self.saved.push(self.title.clone());
    }

    /// Goes back to the title saved last, if any.
    pub(super) fn pop(&mut self) {
        if let Some(title) = self.saved.pop() {
            self.title = title;
        }
    }

    /// The sequences that make fresh titles these.
    pub(super) fn sequences(&self) -> String {
        let saved = self
            .saved
            .iter()
            .map(|title| format!("\x1b]2;{title}\x1b\\\x1b[22t"))
            .collect::<String>();
        if saved.is_empty() && self.title.is_empty() {
            return saved;
        }
        saved + &format!("\x1b]2;{}\x1b\\", self.title)
    }
}

/// Titles saved at most; xterm keeps ten.
const MAX_SAVED: usize = 16;
/// Bytes of a title.
const MAX_BYTES: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::Titles;

    #[test]
    fn a_title_has_no_controls_and_an_end() {
        let mut titles = Titles::default();
        titles.set(&format!(" a\u{9c}\x1b]{}", "é".repeat(1_000)));
        assert!(titles.title().starts_with("a]é"));
        assert!(titles.title().len() <= 1_024);
    }

    #[test]
    fn a_saved_title_comes_back() {
        let mut titles = Titles::default();
        titles.set("one");
        titles.push();
        titles.set("two");
        assert_eq!(titles.sequences(), "\x1b]2;one\x1b\\\x1b[22t\x1b]2;two\x1b\\");
        titles.pop();
        assert_eq!(titles.title(), "one");
        titles.pop();
        assert_eq!(titles.title(), "one");
    }
}
