//! What the programs write: the same bytes in each run.

use clap::ValueEnum;

/// A kind of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Lines of words, up to 80 columns.
    Plain,
    /// Colours, cursor moves, erasing, wide characters, and text between them.
    Mixed,
    /// What `yes` writes.
    Yes,
}

impl Kind {
    /// How it is called on the command line and in a figure's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Mixed => "mixed",
            Self::Yes => "yes",
        }
    }

    /// About a megabyte that may be repeated.
    pub(crate) fn block(self) -> Vec<u8> {
        let mut dice = Dice(0x5eed);
        let mut block = Vec::with_capacity(BLOCK + 4096);
        while block.len() < BLOCK {
            match self {
                Self::Plain => plain_line(&mut dice, &mut block),
                Self::Mixed => mixed_line(&mut dice, &mut block),
                Self::Yes => block.extend_from_slice(b"y\n"),
            }
        }
        block
    }
}

fn plain_line(dice: &mut Dice, block: &mut Vec<u8>) {
    let columns = 20 + dice.below(60);
    let begin = block.len();
    while block.len() - begin < columns {
        word(dice, block);
        block.push(b' ');
    }
    block.truncate(begin + columns);
    block.push(b'\n');
}

/// As a test runner, a coloured log and a full-screen program write, taken in turns.
fn mixed_line(dice: &mut Dice, block: &mut Vec<u8>) {
    match dice.below(8) {
        0 => block.extend_from_slice(format!("\x1b[{};1H\x1b[2K", 1 + dice.below(30)).as_bytes()),
        1 => block.extend_from_slice(format!("\x1b[38;5;{}m", dice.below(256)).as_bytes()),
        2 => block.extend_from_slice("\u{d55c}\u{ae00} \u{6f22}\u{5b57} ".as_bytes()),
        3 => block.extend_from_slice(b"\r\x1b[K[#####     ] \x1b[1m"),
        _ => {}
    }
    for _ in 0..2 + dice.below(5) {
        block.extend_from_slice(format!("\x1b[{}m", 30 + dice.below(8)).as_bytes());
        word(dice, block);
        block.extend_from_slice(b"\x1b[0m ");
        word(dice, block);
        block.push(b' ');
    }
    block.extend_from_slice(b"\r\n");
}

fn word(dice: &mut Dice, block: &mut Vec<u8>) {
    for _ in 0..2 + dice.below(9) {
        block.push(b'a' + u8::try_from(dice.below(26)).unwrap_or_default());
    }
}

/// Knuth's linear congruential generator (MMIX): the same numbers each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

const BLOCK: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn the_same_bytes_come_each_time() {
        for kind in [Kind::Plain, Kind::Mixed, Kind::Yes] {
            assert_eq!(kind.block(), kind.block());
            assert!(kind.block().len() >= 1 << 20);
        }
        assert!(Kind::Plain.block().is_ascii());
    }
}
