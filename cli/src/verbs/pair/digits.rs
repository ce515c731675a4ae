//! A code in digits that are read from across the table.

/// The code in lines as large as the width allows; in none where it is too narrow, or has other characters.
pub(super) fn large(code: &str, width: usize) -> Vec<String> {
    let glyphs: Option<Vec<[u8; HEIGHT]>> = code.chars().map(glyph).collect();
    let Some(glyphs) = glyphs.filter(|glyphs| !glyphs.is_empty()) else {
        return Vec::new();
    };
    let columns = glyphs.len() * (WIDTH + 1) - 1;
    let is_set = |row: usize, column: usize| {
        let (glyph, at) = (column / (WIDTH + 1), column % (WIDTH + 1));
        row < HEIGHT && at < WIDTH && glyphs[glyph][row] >> (WIDTH - 1 - at) & 1 == 1
    };
    if columns * 2 <= width {
        let cell = |row, column| if is_set(row, column) { "██" } else { "  " };
        return (0..HEIGHT)
            .map(|row| (0..columns).map(|column| cell(row, column)).collect())
            .collect();
    }
    if columns > width {
        return Vec::new();
    }
    let cell = |row, column| match (is_set(row, column), is_set(row + 1, column)) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    };
    (0..HEIGHT)
        .step_by(2)
        .map(|row| (0..columns).map(|column| cell(row, column)).collect())
        .collect()
}

fn glyph(character: char) -> Option<[u8; HEIGHT]> {
    match character {
        '-' => Some([0, 0, 0b111, 0, 0]),
        digit => DIGITS.get(digit.to_digit(10)? as usize).copied(),
    }
}

/// Points of a digit.
const WIDTH: usize = 3;
const HEIGHT: usize = 5;
const DIGITS: [[u8; HEIGHT]; 10] = [
    [0b111, 0b101, 0b101, 0b101, 0b111],
    [0b010, 0b110, 0b010, 0b010, 0b111],
    [0b111, 0b001, 0b111, 0b100, 0b111],
    [0b111, 0b001, 0b111, 0b001, 0b111],
    [0b101, 0b101, 0b111, 0b001, 0b001],
    [0b111, 0b100, 0b111, 0b001, 0b111],
    [0b111, 0b100, 0b111, 0b101, 0b111],
    [0b111, 0b001, 0b001, 0b010, 0b010],
    [0b111, 0b101, 0b111, 0b101, 0b111],
    [0b111, 0b101, 0b111, 0b001, 0b111],
];

#[cfg(test)]
mod tests {
    use super::large;

    #[test]
    fn digits_are_as_large_as_there_is_room() {
        assert_eq!(
            large("493-027", 31),
            [
                "█ █ █▀█ ▀▀█     █▀█ ▀▀█ ▀▀█",
                "▀▀█ ▀▀█ ▀▀█ ▀▀▀ █ █ █▀▀  ▄▀",
                "  ▀ ▀▀▀ ▀▀▀     ▀▀▀ ▀▀▀  ▀ ",
            ]
        );
        let lines = large("493-027", 54);
        assert_eq!((lines.len(), lines[0].chars().count()), (5, 54));
    }

    #[test]
    fn each_digit_looks_like_no_other() {
        let drawn: std::collections::BTreeSet<_> =
            (0..10).map(|digit: u32| large(&digit.to_string(), 3)).collect();
        assert_eq!(drawn.len(), 10);
    }

    #[test]
    fn what_does_not_fit_and_what_is_no_code_is_left_out() {
        for (code, width) in [("493-027", 26), ("", 80), ("49x", 80)] {
            assert!(large(code, width).is_empty(), "{code}");
        }
    }
}
