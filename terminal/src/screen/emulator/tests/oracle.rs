//! The emulator equals alacritty's terminal, cut anywhere; see `alacritty.rs` for what was decided otherwise.

use proptest::prelude::proptest;
use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq};

use super::super::{Emulator, Screen};
use super::alacritty::Alacritty;
use super::state::State;
use super::streams::{lines, shown, sizes, streams, usual_sizes};
use crate::size::Size;

/// Both, fed the same.
pub(super) struct Pair {
    pub(super) ours: Emulator,
    theirs: Alacritty,
}

impl Pair {
    pub(super) fn new(size: Size) -> Self {
        Self {
            ours: Emulator::new(size),
            theirs: Alacritty::new(size),
        }
    }

    pub(super) fn feed(&mut self, output: &[u8]) {
        self.ours.feed(output);
        self.theirs.feed(output);
    }

    pub(super) fn assert_equal(&mut self, output: &[u8]) -> Result<(), TestCaseError> {
        let mut theirs = State::of_alacritty(&mut self.theirs.terminal);
        let mut ours = State::of(&self.ours.terminal);
        ours.kept_modes.sort_unstable();
        theirs.kept_modes.sort_unstable();
        prop_assert!(
            ours == theirs,
            "after {:?}:\n{}",
            shown(output),
            ours.differences(&theirs)
        );
        let answers = shown(&self.theirs.terminal.take_replies());
        prop_assert_eq!(
            shown(&self.ours.take_replies()),
            answers,
            "after {:?}",
            shown(output)
        );
        prop_assert_eq!(
            self.ours.history(),
            self.theirs.terminal.history(),
            "after {:?}",
            shown(output)
        );
        if !self.ours.is_alternate() {
            let history = self.ours.history();
            let theirs = self.theirs.terminal.lines(history.clone());
            let text = |line: crate::Line| (line.text.trim_end().to_owned(), line.wrapped);
            let ours: Vec<_> = self.ours.lines(history).into_iter().map(text).collect();
            prop_assert_eq!(ours, theirs, "after {:?}", shown(output));
        }
        Ok(())
    }
}

/// Insert mode next to wide characters is decided otherwise.
fn without_insert_mode(output: Vec<u8>) -> Vec<u8> {
    if output.is_ascii() {
        return output;
    }
    shown(&output).replace("\x1b[4h", "").into_bytes()
}

/// Where lines with wide characters are wrapped anew, alacritty loses count of columns.
fn ascii(mut output: Vec<u8>) -> Vec<u8> {
    output.retain(u8::is_ascii);
    output
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 500, ..Default::default() })]

    #[test]
    fn the_emulator_equals_alacritty(size in sizes(), output in streams(), cut in 0..400_usize) {
        let output = without_insert_mode(output);
        let (before, after) = output.split_at(cut.min(output.len()));
        let mut pair = Pair::new(size);
        pair.feed(before);
        pair.assert_equal(before)?;
        pair.feed(after);
        pair.assert_equal(&output)?;
    }

    #[test]
    fn another_size_wraps_lines_as_alacritty_does(
        size in usual_sizes(), output in lines(), other in usual_sizes(), more in streams(),
    ) {
        let mut pair = Pair::new(size);
        pair.feed(&output);
        pair.ours.resize(other);
        pair.theirs.resize(other);
        pair.assert_equal(&output)?;
        let more = ascii(more);
        pair.feed(&more);
        pair.assert_equal(&[output, more].concat())?;
    }

    #[test]
    fn another_width_keeps_the_text_and_the_cursor_at_it(
        size in sizes(), output in streams(), columns in 1..24_u16,
    ) {
        let mut screen = Emulator::new(size);
        screen.feed(&output);
        screen.feed(b"\x1b[?1049l");
        screen.release();
        let before = whole(&screen);
        screen.resize(Size::new(columns, size.rows()));
        prop_assert_eq!(before, whole(&screen), "after {:?}", shown(&output));
        screen.resize(size);
        screen.feed(b"end");
    }

    #[test]
    fn a_snapshot_draws_the_same_in_alacritty(size in sizes(), output in streams()) {
        let mut ours = Emulator::new(size);
        ours.feed(&output);
        let mut theirs = Alacritty::new(size);
        theirs.feed(&ours.snapshot());
        let (ours, theirs) = (State::of(&ours.terminal), State::of_alacritty(&mut theirs.terminal));
        prop_assert!(ours == theirs, "after {:?}:\n{}", shown(&output), ours.differences(&theirs));
    }
}

/// The text of all lines, put together where they wrap.
fn whole(screen: &Emulator) -> String {
    let lines = screen.lines(0..u64::MAX).into_iter();
    let text: String = lines
        .map(|line| line.text + if line.wrapped { "" } else { "\n" })
        .collect();
    let texts: Vec<&str> = text.lines().map(str::trim_end).collect();
    texts.join("\n").trim_end().to_owned()
}
