//! The kitty keyboard protocol's flags and their stack, for one screen.

/// The flags in force and those to go back to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Keyboard {
    flags: u8,
    saved: Vec<u8>,
}

impl Keyboard {
    /// The flags in force.
    pub(super) fn flags(&self) -> u8 {
        self.flags
    }

    /// Changes the flags in force.
    pub(super) fn set(&mut self, flags: u8) {
        self.flags = flags;
    }

    /// Saves the flags in force and goes on with others. The oldest saved ones are forgotten when too many are.
    pub(super) fn push(&mut self, flags: u8) {
        if self.saved.len() == MAX_SAVED {
            self.saved.remove(0);
        }
        self.saved.push(std::mem::replace(&mut self.flags, flags));
    }

    /// Goes back `count` times; to no flags when there is nothing more to go back to.
    pub(super) fn pop(&mut self, count: u16) {
        for _ in 0..usize::from(count).min(MAX_SAVED + 1) {
            self.flags = self.saved.pop().unwrap_or(0);
        }
    }

    /// The sequences that make a fresh keyboard this one.
    pub(super) fn sequences(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        let mut flags = self.saved.iter().chain([&self.flags]);
        let first = flags.next().map(|flags| format!("\x1b[={flags};1u"));
        first
            .into_iter()
            .chain(flags.map(|flags| format!("\x1b[>{flags}u")))
            .collect()
    }
}

/// What kitty keeps is not said; programs nest a few.
const MAX_SAVED: usize = 16;

#[cfg(test)]
mod tests {
    use super::Keyboard;

    #[test]
    fn what_was_pushed_is_popped() {
        let mut keyboard = Keyboard::default();
        keyboard.push(1);
        keyboard.push(5);
        assert_eq!(keyboard.sequences(), "\x1b[=0;1u\x1b[>1u\x1b[>5u");
        keyboard.pop(1);
        assert_eq!(keyboard.flags(), 1);
        keyboard.pop(60_000);
        assert_eq!(keyboard, Keyboard::default());
    }

    #[test]
    fn a_program_cannot_push_without_end() {
        let mut keyboard = Keyboard::default();
        (0..10_000).for_each(|_| keyboard.push(1));
        assert!(keyboard.saved.len() <= 16);
    }
}
