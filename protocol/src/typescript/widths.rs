//! How many cells a character takes, for the browser: the table that the daemon's screen uses, so that both put every
//! character in the same column.

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

/// The whole file `width-table.ts`: the runs of code points of no cell and of two, as distances in base 36.
pub fn widths() -> String {
    let none = runs(|width| width == 0);
    let two = runs(|width| width >= 2);
    format!(
        "// Made by `cargo xtask gen` from the daemon's own table; do not edit.\n\n\
         /** Runs of code points that take no cell: the distance from the end of the run before, and the length, in base 36. */\n\
         export const NO_CELL =\n  \"{none}\";\n\n\
         /** Runs of code points that take two cells, written in the same way. */\n\
         export const TWO_CELLS =\n  \"{two}\";\n"
    )
}

/// Characters without a width are control characters, which no screen draws.
fn runs(is_meant: impl Fn(usize) -> bool) -> String {
    let mut text = String::new();
    let mut end = 0;
    let mut start = None;
    for code_point in 0..=LAST + 1 {
        let meant = char::from_u32(code_point)
            .and_then(char::width)
            .is_some_and(&is_meant);
        match (meant, start) {
            (true, None) => start = Some(code_point),
            (false, Some(from)) => {
                let gap = if text.is_empty() { "" } else { " " };
                write!(text, "{gap}{} {}", base36(from - end), base36(code_point - from))
                    .expect("a string takes every write");
                end = code_point;
                start = None;
            }
            _ => (),
        }
    }
    text
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

/// Of Unicode; one more is looked at, and is no character, so that the last run ends.
const LAST: u32 = 0x10_FFFF;

#[cfg(test)]
mod tests {
    use super::{base36, runs};

    #[test]
    fn the_committed_table_is_current() {
        let committed = include_str!("../../../web/ui/src/terminal/width-table.ts");
        assert!(
            committed == super::widths(),
            "run `cargo xtask gen` and commit web/ui/src/terminal/width-table.ts"
        );
    }

    #[test]
    fn numbers_are_written_in_base_36() {
        assert_eq!([0, 35, 36, 1295].map(base36), ["0", "z", "10", "zz"]);
    }

    #[test]
    fn the_first_run_of_two_cells_is_hangul() {
        // U+1100 to U+115F.
        assert!(runs(|width| width >= 2).starts_with(&format!("{} {} ", base36(0x1100), base36(0x60))));
    }
}
