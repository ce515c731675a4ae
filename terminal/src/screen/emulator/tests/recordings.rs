//! What real programs wrote, on 80 × 24: a full-screen editor (vim), a pager (less), two process viewers (top,
//! htop), progress bars (as pip and apt draw them) and a text-mode installer (whiptail).

use super::super::{Emulator, Screen};
use super::assert_goes_on;
use super::oracle::Pair;
use super::state::State;
use crate::size::Size;

const RECORDINGS: [(&str, &[u8]); 6] = [
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
    for (name, output) in RECORDINGS {
        for cut in (0..output.len()).step_by(output.len() / 13 + 1) {
            if let Err(error) = assert_goes_on(Size::default(), output, cut) {
                panic!("{name}, cut at {cut}: {error}");
            }
        }
    }
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
