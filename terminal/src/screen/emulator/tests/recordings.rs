//! What real programs wrote, on 80 × 24: a full-screen editor (vim), a pager (less), two process viewers (top,
//! htop), progress bars (as pip and apt draw them) and a text-mode installer (whiptail); and what none of them wrote: in
//! `synchronized`, each frame of the editor's stands in a synchronized update (CSI ? 2026 h and l), from where it hides the
//! cursor to where it shows it again.

use std::collections::BTreeSet;

use super::super::{Emulator, Screen};
use super::oracle::Pair;
use super::screen;
use super::state::State;
use crate::size::Size;

const RECORDINGS: [(&str, &[u8]); 7] = [
    ("editor", include_bytes!("../../../../tests/recordings/editor")),
    ("pager", include_bytes!("../../../../tests/recordings/pager")),
    (
        "processes",
        include_bytes!("../../../../tests/recordings/processes"),
    ),
    ("monitor", include_bytes!("../../../../tests/recordings/monitor")),
    (
        "progress",
        include_bytes!("../../../../tests/recordings/progress"),
    ),
    (
        "installer",
        include_bytes!("../../../../tests/recordings/installer"),
    ),
    (
        "synchronized",
        include_bytes!("../../../../tests/recordings/synchronized"),
    ),
];

#[test]
fn programs_look_as_in_alacritty_at_every_moment() {
    for (name, output) in RECORDINGS {
        let mut pair = Pair::new(Size::default());
        for (number, part) in output.chunks(97).enumerate() {
            pair.feed(part);
            if let Err(error) = pair.assert_equal(b"") {
                panic!("{name}, part {number}: {error}");
            }
        }
    }
}

#[test]
fn a_snapshot_at_any_moment_goes_on_as_the_program_does() {
    let size = Size::default();
    for (name, output) in RECORDINGS {
        let end = State::of(&screen(size, output).terminal).without_wraps();
        let mut original = Emulator::new(size);
        let mut fed = 0;
        for cut in cuts(output) {
            original.feed(&output[fed..cut]);
            fed = cut;
            let mut copy = screen(size, &original.snapshot());
            copy.feed(&output[cut - original.pending()..cut]);
            let (ours, theirs) = (State::of(&original.terminal), State::of(&copy.terminal));
            assert!(ours == theirs, "{name}, at {cut}: {}", ours.differences(&theirs));
            copy.feed(&output[cut..]);
            let theirs = State::of(&copy.terminal).without_wraps();
            assert!(end == theirs, "{name}, after {cut}: {}", end.differences(&theirs));
        }
    }
}

/// At each escape and up to three bytes around it, and at 200 places more.
fn cuts(output: &[u8]) -> BTreeSet<usize> {
    let escapes = (0..output.len()).filter(|at| output[*at] == b'\x1b');
    let around = escapes.flat_map(|at| at.saturating_sub(3)..=at + 3);
    // Of Park and Miller's generator, from a seed that stays.
    let places = std::iter::successors(Some(19_u64), |last| Some(last * 48_271 % 0x7FFF_FFFF));
    let places = places.map(|number| usize::try_from(number).unwrap() % output.len());
    around
        .chain(places.take(200))
        .filter(|at| *at <= output.len())
        .collect()
}

#[test]
fn a_cut_inside_a_sequence_changes_nothing() {
    for (name, output) in RECORDINGS {
        let mut whole = Emulator::new(Size::default());
        whole.feed(output);
        let mut bytes = Emulator::new(Size::default());
        output.iter().for_each(|byte| bytes.feed(&[*byte]));
        assert!(State::of(&whole.terminal) == State::of(&bytes.terminal), "{name}");
        assert_eq!(whole.lines(0..u64::MAX), bytes.lines(0..u64::MAX), "{name}");
    }
}
