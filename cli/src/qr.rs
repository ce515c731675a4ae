//! QR codes in a terminal.

use qrcode::{Color, EcLevel, QrCode};

/// A QR code, not yet drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    /// Row by row.
    is_dark: Vec<bool>,
    side: usize,
}

/// What the drawn part of a character stands for; the blank part is the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Dark modules.
    Dark,
    /// Light modules, those of the quiet zone among them.
    Light,
}

impl Code {
    /// Encodes a link with the least error correction, so that it is small; nothing if it is too long for any code.
    ///
    /// Scheme and host, in which case means nothing (RFC 3986, 6.2.2.1), are in capitals, of which codes hold more.
    pub(crate) fn of_link(link: &str) -> Option<Self> {
        let host = link.find("://").map_or(link.len(), |at| at + 3);
        let path = link[host..].find('/').map_or(link.len(), |at| host + at);
        let (authority, rest) = if host < link.len() {
            link.split_at(path)
        } else {
            ("", link)
        };
        let text = authority.to_ascii_uppercase() + rest;
        let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
        Some(Self {
            side: code.width(),
            is_dark: code
                .to_colors()
                .into_iter()
                .map(|color| color == Color::Dark)
                .collect(),
        })
    }

    /// Columns and rows of the picture with so many modules around the code.
    pub(crate) fn size(&self, quiet: usize) -> (usize, usize) {
        let width = self.side + 2 * quiet;
        (width, width.div_ceil(2))
    }

    /// The code in half blocks, two modules high each, with so many modules around it.
    pub(crate) fn picture(&self, quiet: usize, ink: Ink) -> Vec<String> {
        let (columns, rows) = self.size(quiet);
        let is_drawn = |row, column| (ink == Ink::Dark) == self.is_dark(row, column, quiet);
        let half = |row: usize, column: usize| match (is_drawn(row, column), is_drawn(row + 1, column)) {
            (true, true) => '█',
            (true, false) => '▀',
            (false, true) => '▄',
            (false, false) => ' ',
        };
        (0..rows)
            .map(|row| (0..columns).map(|column| half(2 * row, column)).collect())
            .collect()
    }

    /// Whether the module is dark, counted from the corner of the quiet zone.
    fn is_dark(&self, row: usize, column: usize, quiet: usize) -> bool {
        let inside = |at: usize| at.checked_sub(quiet).filter(|at| *at < self.side);
        match (inside(row), inside(column)) {
            (Some(row), Some(column)) => self.is_dark[row * self.side + column],
            _ => false,
        }
    }
}

/// Modules around a code where there is room for them: what the standard asks for (ISO/IEC 18004, 5.3.8).
pub(crate) const QUIET: usize = 4;
/// Modules around a code where there is not: with four, no link would fit 24 rows, and cameras do with one.
pub(crate) const QUIET_AT_LEAST: usize = 1;

#[cfg(test)]
pub(crate) mod tests {
    use super::{Code, Ink, QUIET_AT_LEAST};

    /// A link by this name and port, of an offer with the last digit of its id.
    pub(crate) fn link(authority: &str, digit: u8) -> String {
        let secret = "Q3DkLWGxob2yRR-aNMeJSs8azIwNXzjR5pe_97xHTl4";
        let pin = "sha256/qRUtkjZJoCbbRDZ4NmXoXnfKuP6COm9ya48o8-l3sbk";
        format!("https://{authority}/pair#ofr_64bfdce54d1474d{digit}.{secret}.{pin}")
    }

    #[test]
    fn links_by_a_loopback_address_and_by_a_name_in_a_tailnet_fit_24_rows_with_words_beside_them() {
        for authority in ["127.0.0.1:7443", "workstation.tail1a2b3c.ts.net:7443"] {
            let code = Code::of_link(&link(authority, 1)).unwrap();
            let (columns, rows) = code.size(QUIET_AT_LEAST);
            assert!(rows <= 24 && columns <= 48, "{authority}: {columns} × {rows}");
            for ink in [Ink::Dark, Ink::Light] {
                let picture = code.picture(QUIET_AT_LEAST, ink);
                assert_eq!(picture.len(), rows);
                assert!(picture.iter().all(|line| line.chars().count() == columns));
            }
        }
    }

    #[test]
    fn the_edge_is_light_and_the_finder_pattern_begins_inside() {
        let code = Code::of_link("x").unwrap();
        let picture = code.picture(1, Ink::Dark);
        let is_blank = |line: &String| line.starts_with(' ') && line.ends_with(' ');
        assert!(picture.iter().all(is_blank));
        assert!(picture[0].trim().starts_with("▄▄▄▄▄▄▄"), "{}", picture[0]);
        assert!(
            code.picture(4, Ink::Dark)[..2]
                .iter()
                .all(|line| line.trim().is_empty())
        );
    }

    #[test]
    fn drawn_in_light_each_half_is_what_it_is_not_when_drawn_in_dark() {
        let code = Code::of_link(&link("h:1", 1)).unwrap();
        let other = |character| match character {
            '█' => ' ',
            '▀' => '▄',
            '▄' => '▀',
            _ => '█',
        };
        let dark = code.picture(1, Ink::Dark);
        let light = code.picture(1, Ink::Light);
        let turned = dark
            .iter()
            .map(|line| line.chars().map(other).collect::<String>());
        assert_eq!(turned.collect::<Vec<_>>(), light);
    }

    #[test]
    fn every_module_is_where_the_encoder_put_it() {
        let text = "HTTPS://H:1/pair#secret";
        let matrix = qrcode::QrCode::with_error_correction_level(text, qrcode::EcLevel::L).unwrap();
        let picture = Code::of_link("https://h:1/pair#secret")
            .unwrap()
            .picture(2, Ink::Dark);
        let rows: Vec<Vec<char>> = picture.iter().map(|line| line.chars().collect()).collect();
        for row in 0..matrix.width() {
            for column in 0..matrix.width() {
                let halves = match rows[(row + 2) / 2][column + 2] {
                    '█' => [true, true],
                    '▀' => [true, false],
                    '▄' => [false, true],
                    _ => [false, false],
                };
                let is_dark = matrix[(column, row)] == qrcode::Color::Dark;
                assert_eq!(halves[row % 2], is_dark, "row {row}, column {column}");
            }
        }
    }

    #[test]
    fn a_text_too_long_for_any_code_has_none() {
        assert!(Code::of_link(&"x".repeat(3_000)).is_none());
    }
}
