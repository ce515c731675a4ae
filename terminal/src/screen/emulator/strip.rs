//! A row as text with runs of styles: what is kept of it in the scrollback, and what is drawn of it as a line.

use unicode_width::UnicodeWidthChar;

use super::cell::Cell;
use super::clusters::Clusters;
use super::row::Row;
use super::style::Styles;
use crate::screen::Line;
use crate::snapshot::{Links, Painter, Pen};

/// The bytes of a row: flags; if it has styles, their number and for each the cells (u16) and the style (u32);
/// then its text. All numbers are little-endian.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strip<'a> {
    flags: u8,
    runs: &'a [u8],
    text: &'a str,
}

impl<'a> Strip<'a> {
    /// Reads what [`encode`] wrote.
    pub(super) fn decode(bytes: &'a [u8]) -> Self {
        let (flags, rest) = bytes
            .split_first()
            .map_or((0, bytes), |(flags, rest)| (*flags, rest));
        let (runs, text) = match rest.split_first_chunk() {
            Some((count, rest)) if flags & STYLED != 0 => {
                rest.split_at((RUN * usize::from(u16::from_le_bytes(*count))).min(rest.len()))
            }
            _ => (&[][..], rest),
        };
        let text = std::str::from_utf8(text).expect("a row was encoded from characters");
        Self { flags, runs, text }
    }

    /// Whether the row goes on in the next one.
    pub(super) fn is_wrapped(self) -> bool {
        self.flags & WRAPPED != 0
    }

    /// Whether its last cell was left blank because a wide character did not fit.
    pub(super) fn is_led(self) -> bool {
        self.flags & LED != 0
    }

    /// Whether its text, written behind a row that goes on in it, begins in the next row by itself: it may have been written
    /// over since that row was left.
    pub(super) fn follows(self, former: Self) -> bool {
        let first = self.written().chars().next();
        first.is_some_and(|first| !former.is_led() || first.width() == Some(2))
    }

    /// The cells of each run and its style; rows without styles have none.
    pub(super) fn runs(self) -> impl Iterator<Item = (usize, u32)> {
        let (chunks, _) = self.runs.as_chunks::<RUN>();
        chunks.iter().map(|[low, high, style @ ..]| {
            (
                usize::from(u16::from_le_bytes([*low, *high])),
                u32::from_le_bytes(*style),
            )
        })
    }

    /// How many cells were written.
    pub(super) fn columns(self) -> usize {
        if self.flags & STYLED != 0 {
            self.runs().map(|(cells, _)| cells).sum()
        } else {
            self.text.len()
        }
    }

    /// The row's cells again.
    pub(super) fn row(self, clusters: &mut Clusters) -> Row {
        let mut cells = Vec::with_capacity(self.columns());
        if self.flags & STYLED == 0 {
            let plain = self.text.bytes().map(|byte| Cell::BLANK.with_ascii(byte));
            cells.extend(plain);
            return Row::new(cells, self.is_wrapped());
        }
        let mut rest = self.text;
        for (length, style) in self.runs() {
            let end = cells.len() + length;
            while cells.len() < end && !rest.is_empty() {
                let (character, marks) = first_cell(&mut rest);
                let width = character.width().unwrap_or(1);
                let cell = if width == 2 {
                    Cell::wide(character, style)
                } else {
                    Cell::new(character, style)
                };
                cells.push(if marks.is_empty() {
                    cell
                } else {
                    clusters.put(cell, format!("{character}{marks}"))
                });
                if width == 2 {
                    cells.push(Cell::half(style));
                }
            }
        }
        if self.flags & LED != 0
            && let Some(last) = cells.last_mut()
        {
            *last = Cell::leader(last.style());
        }
        Row::new(cells, self.is_wrapped())
    }

    /// The text of each run, and its style.
    pub(super) fn parts(self) -> impl Iterator<Item = (&'a str, u32)> {
        let mut rest = self.written();
        let is_ascii = rest.is_ascii();
        let plain = if self.flags & STYLED == 0 { rest } else { "" };
        let runs = self.runs().map(move |(length, style)| {
            let part = match is_ascii {
                true => rest.split_at(length.min(rest.len())).0,
                false => columns_of(&mut { rest }, length),
            };
            rest = &rest[part.len()..];
            (part, style)
        });
        runs.chain((!plain.is_empty()).then_some((plain, 0)))
    }

    /// The text, without the blank where a wide character did not fit.
    fn written(self) -> &'a str {
        let blank = if self.flags & LED != 0 { " " } else { "" };
        self.text.strip_suffix(blank).unwrap_or(self.text)
    }

    /// The row as a line, of which `links` is counted on.
    pub(super) fn line(self, number: u64, styles: &Styles, links: &mut Links) -> Line {
        let mut painter = Painter::after(*links);
        for (part, style) in self.parts() {
            painter.set_pen(&styles.pen(styles.get(style)));
            painter.sequence(part);
        }
        painter.set_pen(&Pen::default());
        *links = painter.links();
        let text = self.written();
        Line {
            number,
            ansi: String::from_utf8(painter.into_bytes()).expect("text and sequences are UTF-8"),
            text: if self.is_wrapped() {
                text.to_owned()
            } else {
                text.trim_end().to_owned()
            },
            wrapped: self.is_wrapped(),
        }
    }
}

/// Writes a row's bytes.
pub(super) fn encode(row: &Row, clusters: &Clusters, into: &mut Vec<u8>) {
    let mut cells = row.cells();
    let wrapped = if row.is_wrapped { WRAPPED } else { 0 };
    if !row.is_wrapped {
        let written = cells.iter().rposition(|cell| *cell != Cell::BLANK);
        cells = &cells[..written.map_or(0, |last| last + 1)];
    }
    let all = Cell::union(cells);
    if all < 0x80 {
        into.push(wrapped);
        into.extend(cells.iter().map(|cell| cell.byte()));
        return;
    }
    let led = if cells.last().is_some_and(|last| last.is_leader()) {
        LED
    } else {
        0
    };
    into.push(wrapped | led | STYLED);
    let count = into.len();
    into.extend_from_slice(&[0; 2]);
    into.reserve(RUN * 8 + cells.len());
    let mut runs = 0_u16;
    let mut start = 0;
    let mut style = cells[0].style();
    let mut put = |length: usize, style: u32| {
        let mut run = [0; RUN];
        // A row has at most 1,000 cells.
        run[..2].copy_from_slice(&(length as u16).to_le_bytes());
        run[2..].copy_from_slice(&style.to_le_bytes());
        into.extend_from_slice(&run);
        runs += 1;
    };
    for (column, cell) in cells.iter().enumerate() {
        if cell.style() != style {
            put(column - start, style);
            start = column;
            style = cell.style();
        }
    }
    put(cells.len() - start, style);
    into[count..count + 2].copy_from_slice(&runs.to_le_bytes());
    if all & 0xffff_ff80 == 0 {
        into.extend(cells.iter().map(|cell| cell.byte()));
        return;
    }
    let mut text = String::new();
    for cell in cells.iter().filter(|cell| !cell.is_half()) {
        if cell.is_ascii() {
            into.push(cell.byte());
        } else {
            text.clear();
            clusters.push(*cell, &mut text);
            into.extend_from_slice(text.as_bytes());
        }
    }
}

/// Writes the bytes of a row that has nothing but these ASCII characters, without styles, and does not go on.
#[inline]
pub(super) fn encode_text(text: &[u8], into: &mut Vec<u8>) {
    let written = text.iter().rposition(|byte| *byte != b' ');
    into.push(0);
    into.extend_from_slice(&text[..written.map_or(0, |last| last + 1)]);
}

/// Takes the first cell's character and marks off a text.
fn first_cell<'a>(text: &mut &'a str) -> (char, &'a str) {
    let mut characters = text.chars();
    let first = characters.next().unwrap_or(' ');
    let behind = characters.as_str();
    let end = behind
        .find(|mark: char| mark.is_ascii() || mark.width() != Some(0))
        .unwrap_or(behind.len());
    let (marks, rest) = behind.split_at(end);
    *text = rest;
    (first, marks)
}

/// Takes the text of so many columns off a text.
fn columns_of<'a>(text: &mut &'a str, columns: usize) -> &'a str {
    let whole = *text;
    let mut taken = 0;
    while taken < columns && !text.is_empty() {
        let (character, _) = first_cell(text);
        taken += character.width().unwrap_or(1);
    }
    &whole[..whole.len() - text.len()]
}

/// The row goes on in the next one.
const WRAPPED: u8 = 1;
/// Its last cell was left blank because a wide character did not fit.
const LED: u8 = 1 << 1;
/// It is not plain ASCII.
const STYLED: u8 = 1 << 2;
/// Bytes of a run.
const RUN: usize = 6;
