//! QR codes in a terminal.

use qrcode::{Color, EcLevel, QrCode};

/// A QR code as lines of half blocks, two modules high each, with a quiet zone around.
pub(crate) struct Picture {
    /// Lines of characters; dark modules are drawn, light ones left blank.
    pub(crate) lines: Vec<String>,
    /// Characters in each line.
    pub(crate) width: usize,
}

/// Draws the text with the least error correction, so that it is small; nothing if it is too long for any code.
pub(crate) fn picture(text: &str) -> Option<Picture> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let (modules, side) = (code.to_colors(), code.width());
    let is_dark = |row: usize, column: usize| {
        let inside = (QUIET..side + QUIET).contains(&row) && (QUIET..side + QUIET).contains(&column);
        inside && modules[(row - QUIET) * side + (column - QUIET)] == Color::Dark
    };
    let width = side + 2 * QUIET;
    let half = |row: usize, column: usize| match (is_dark(row, column), is_dark(row + 1, column)) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    };
    let lines = (0..width)
        .step_by(2)
        .map(|row| (0..width).map(|column| half(row, column)).collect())
        .collect();
    Some(Picture { lines, width })
}

/// Modules around the code. The standard asks for four, which would not fit 24 rows; cameras do with one where what
/// lies beyond is another colour.
const QUIET: usize = 1;

#[cfg(test)]
mod tests {
    use super::picture;

    /// As long as a link to a loopback listener is.
    fn link() -> String {
        let (id, secret, pin) = ("0".repeat(16), "s".repeat(43), "p".repeat(43));
        format!("https://127.0.0.1:7443/pair#ofr_{id}.{secret}.sha256/{pin}")
    }

    #[test]
    fn the_usual_link_fits_24_rows_with_room_for_text_beside_it() {
        let picture = picture(&link()).unwrap();
        assert!(
            picture.lines.len() <= 24 && picture.width <= 48,
            "{} rows",
            picture.lines.len()
        );
        assert!(
            picture
                .lines
                .iter()
                .all(|line| line.chars().count() == picture.width)
        );
    }

    #[test]
    fn the_edge_is_blank_and_the_finder_pattern_begins_inside() {
        let picture = picture("x").unwrap();
        assert!(
            picture
                .lines
                .iter()
                .all(|line| line.starts_with(' ') && line.ends_with(' '))
        );
        assert!(
            picture.lines[0].trim().starts_with("▄▄▄▄▄▄▄"),
            "{}",
            picture.lines[0]
        );
    }

    #[test]
    fn a_text_too_long_for_any_code_has_no_picture() {
        assert!(picture(&"x".repeat(3_000)).is_none());
    }
}
