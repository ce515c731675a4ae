//! The common part of all output: text, controls and plain control sequences, taken without the parser.

use unicode_width::UnicodeWidthChar;

use super::super::row::text_length;
use super::pass::Passed;
use super::{Cell, Modes, Terminal};

impl Terminal {
    /// Draws as much output as is text, controls and complete control sequences of the plain kind. Returns how
    /// many bytes that were; the rest, if any, begins with another sequence or an incomplete one or character.
    pub(in super::super) fn run(&mut self, output: &[u8]) -> usize {
        let mut at = 0;
        // Where lines may pass next, if there is enough for some.
        let mut passing = 0;
        while let Some(&byte) = output.get(at) {
            let rest = &output[at..];
            if at >= passing && rest.len() >= PASSING && self.may_pass() {
                match self.pass(rest) {
                    Passed::Drawn(count) => {
                        at += count;
                        passing = at + 1;
                        continue;
                    }
                    Passed::TooFew(count) => passing = at + count + 1,
                }
            }
            let taken = match byte {
                0x20..=0x7e => self.text(rest),
                0x1b => self.sequence(rest),
                b'\r' if rest.get(1) == Some(&b'\n') => {
                    self.follows_text = false;
                    self.carriage_return();
                    self.line_feed();
                    2
                }
                0x00..=0x1f | 0x7f => {
                    self.execute_control(byte);
                    1
                }
                0x80.. => self.print_others(rest),
            };
            if taken == 0 {
                break;
            }
            at += taken;
        }
        at
    }

    /// A control character of C0; the others have no effect.
    pub(super) fn execute_control(&mut self, byte: u8) {
        self.follows_text = false;
        match byte {
            0x07 => self.signals.bell(),
            0x08 => self.backspace(),
            0x09 => self.put_tab(),
            0x0a..=0x0c => self.line_feed(),
            0x0d => self.carriage_return(),
            0x0e => self.is_shifted = true,
            0x0f => self.is_shifted = false,
            _ => {}
        }
    }

    /// Repeats the character before (REP, ECMA-48 8.3.103), if there is one directly before; the standard leaves
    /// all else undefined.
    pub(super) fn repeat(&mut self, count: u16) {
        let Some((_, character)) = self.repeatable() else {
            return;
        };
        if !matches!(character, ' '..='~') {
            return (0..count).for_each(|_| self.print(character));
        }
        // As text, by rows: eight bytes of output may ask for tens of thousands.
        let text = [character as u8; 256];
        let mut left = usize::from(count);
        while left > 0 {
            let length = left.min(text.len());
            self.run(&text[..length]);
            left -= length;
        }
    }

    /// The character as the current set draws it.
    pub(super) fn drawn(&self, character: char) -> char {
        if self.grid.cursor.drawings[usize::from(self.is_shifted)] {
            line_drawing(character)
        } else {
            character
        }
    }

    /// Prints the ASCII characters that output begins with; returns how many.
    #[inline]
    fn text(&mut self, output: &[u8]) -> usize {
        let cursor = &self.grid.cursor;
        let (row, column, needs_wrap) = (cursor.row, cursor.column, cursor.needs_wrap);
        let drawings = cursor.drawings[usize::from(self.is_shifted)];
        if drawings || self.has(Modes::INSERT) {
            let length = text_length(output);
            output[..length]
                .iter()
                .for_each(|byte| self.print(char::from(*byte)));
            return length;
        }
        let mut taken = 0;
        // Most text goes behind the row's last character, where nothing is to be minded.
        if !needs_wrap && self.grid.rows[row].cells().len() == column {
            let (pen, columns) = (self.pen(), self.columns);
            let (count, is_all) = self.row().append(output, pen, columns);
            if count > 0 {
                self.advance(column + count);
                self.follows_text = true;
                self.last_character = Some(char::from(output[count - 1]));
            }
            if is_all {
                return count;
            }
            taken = count;
        }
        let length = taken + text_length(&output[taken..]);
        if length > taken {
            self.print_ascii(&output[taken..length]);
        }
        length
    }

    fn print_ascii(&mut self, text: &[u8]) {
        self.follows_text = true;
        self.last_character = text.last().map(|byte| char::from(*byte));
        let pen = self.pen();
        let mut rest = text;
        while let Some(last) = rest.last() {
            if self.grid.cursor.needs_wrap && !self.wrap() {
                // All of it goes to the last column, so only the last character stays.
                rest = std::slice::from_ref(last);
            }
            let (columns, column) = (self.columns, self.grid.cursor.column);
            let (now, later) = rest.split_at(rest.len().min(columns - column));
            self.unlead(column, now.len());
            self.row().print(column, now, pen, columns);
            self.advance(column + now.len());
            rest = later;
        }
    }

    /// Prints characters that are not ASCII; returns the bytes they took.
    fn print_others(&mut self, output: &[u8]) -> usize {
        let end = output.iter().position(u8::is_ascii).unwrap_or(output.len());
        let (valid, invalid) = match std::str::from_utf8(&output[..end]) {
            Ok(text) => (text, 0),
            Err(error) => {
                let valid = error.valid_up_to();
                let text = std::str::from_utf8(&output[..valid]).expect("it is valid up to there");
                let cut_off = if end < output.len() { end - valid } else { 0 };
                (text, error.error_len().unwrap_or(cut_off))
            }
        };
        valid.chars().for_each(|character| self.print(character));
        if invalid > 1 || (invalid == 1 && output[valid.len()] > 0x9f) {
            self.print(char::REPLACEMENT_CHARACTER);
        } else if invalid == 1 {
            self.follows_text = false;
        }
        valid.len() + invalid
    }

    fn print(&mut self, character: char) {
        let Some(width) = character.width() else {
            // A control of C1.
            self.follows_text = false;
            return;
        };
        self.follows_text = true;
        self.last_character = Some(character);
        match width {
            0 => self.join(character),
            1 => {
                self.make_room(1);
                let cell = self.pen();
                self.put(Cell::new(self.drawn(character), cell.style()), 1);
            }
            _ => self.print_wide(character),
        }
    }

    fn print_wide(&mut self, character: char) {
        self.make_room(2);
        let style = self.pen().style();
        if self.grid.cursor.column + 1 == self.columns {
            if !self.has(Modes::LINE_WRAP) {
                self.grid.cursor.needs_wrap = true;
                return;
            }
            self.put(Cell::leader(style), 1);
            self.wrap();
        }
        self.put(Cell::wide(character, style), 2);
    }

    /// Wraps if it is time to; in insert mode, moves what is behind the cursor.
    fn make_room(&mut self, width: usize) {
        if self.grid.cursor.needs_wrap {
            self.wrap();
        }
        let (columns, column) = (self.columns, self.grid.cursor.column);
        if self.has(Modes::INSERT) && column + width < columns {
            self.row().insert(column, width, Cell::BLANK, columns);
        }
    }

    fn put(&mut self, cell: Cell, width: usize) {
        let (columns, column) = (self.columns, self.grid.cursor.column);
        self.unlead(column, width);
        let row = self.row();
        row.part(column, column + width);
        row.set(column, cell);
        if width == 2 {
            row.set(column + 1, Cell::half(cell.style()));
        }
        if column + width == columns {
            row.is_wrapped = false;
        }
        self.advance(column + width);
    }

    #[inline]
    fn advance(&mut self, column: usize) {
        self.grid.cursor.needs_wrap = column == self.columns;
        self.grid.cursor.column = column.min(self.columns - 1);
    }

    /// A wide character that is overwritten was not the one that did not fit into the row before any more.
    #[inline]
    fn unlead(&mut self, column: usize, width: usize) {
        let columns = self.columns;
        let at = self.grid.cursor.row;
        if column > 1 || at == 0 {
            return;
        }
        let row = &self.grid.rows[at];
        if (column..(column + width).min(2))
            .any(|column| row.cell(column).is_wide() || row.cell(column).is_half())
        {
            self.grid.rows[at - 1].drop_leader(columns);
        }
    }

    /// Adds a mark to the character before the cursor.
    fn join(&mut self, mark: char) {
        self.sweep_clusters();
        let cursor = self.grid.cursor;
        let row = &mut self.grid.rows[cursor.row];
        let mut column = if cursor.needs_wrap {
            cursor.column
        } else {
            cursor.column.saturating_sub(1)
        };
        if row.cell(column).is_half() {
            column = column.saturating_sub(1);
        }
        row.set(column, self.clusters.join(row.cell(column), mark));
    }

    /// Goes to the next row, in which the text of this one goes on. Returns whether it did.
    pub(super) fn wrap(&mut self) -> bool {
        if !self.has(Modes::LINE_WRAP) {
            return false;
        }
        let columns = self.columns;
        let row = self.row();
        row.fill(columns);
        row.is_wrapped = true;
        self.line_feed();
        self.grid.cursor.column = 0;
        self.grid.cursor.needs_wrap = false;
        true
    }

    /// SGR with one parameter, whose digits are given; returns the length of the sequence.
    #[inline]
    fn one_rendition(&mut self, digits: &[u8]) -> usize {
        let value = |code: u16, digit: &u8| 10 * code + u16::from(digit - b'0');
        self.follows_text = false;
        match (digits.iter().fold(0, value), self.grid.cursor.pen.link) {
            (0, 0) => {
                self.grid.cursor.pen = <_>::default();
                self.pen = Some(Cell::BLANK);
            }
            (code, _) => self.plain_rendition(&[code]),
        }
        digits.len() + 3
    }

    /// Takes a control sequence of digits and semicolons, maybe with a private marker, or the choice of a set for
    /// G0; returns its length, or 0 for anything else.
    fn sequence(&mut self, output: &[u8]) -> usize {
        match output {
            [_, b'(', set @ (b'B' | b'0'), ..] => {
                self.follows_text = false;
                self.grid.cursor.drawings[0] = *set == b'0';
                return 3;
            }
            // The most common by far: one rendition.
            [_, b'[', digit @ b'0'..=b'9', b'm', ..] => return self.one_rendition(&[*digit]),
            [_, b'[', ten @ b'0'..=b'9', digit @ b'0'..=b'9', b'm', ..] => {
                return self.one_rendition(&[*ten, *digit]);
            }
            [_, b'[', ..] => {}
            _ => return 0,
        }
        let marker = output.get(2).copied().filter(|byte| matches!(byte, b'<'..=b'?'));
        let start = 2 + usize::from(marker.is_some());
        let mut parameters = [0_u16; MAX_PARAMETERS];
        let mut last = 0;
        for (index, &byte) in output.iter().enumerate().skip(start) {
            match byte {
                b'0'..=b'9' => {
                    let value = parameters[last].saturating_mul(10);
                    parameters[last] = value.saturating_add(u16::from(byte - b'0'));
                }
                b';' if last + 1 < MAX_PARAMETERS => last += 1,
                0x40..=0x7e => {
                    let parameters = &parameters[..=last];
                    if self.holds_updates
                        && marker == Some(b'?')
                        && byte == b'h'
                        && parameters.contains(&2026)
                    {
                        return 0;
                    }
                    self.control(marker, parameters, byte);
                    return index + 1;
                }
                _ => return 0,
            }
        }
        0
    }
}

/// The line drawing set of the VT100.
fn line_drawing(character: char) -> char {
    let index = u32::from(character).wrapping_sub(u32::from('_'));
    DRAWINGS.get(index as usize).copied().unwrap_or(character)
}

/// From `_` to `~`.
const DRAWINGS: [char; 32] = [
    ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽',
    '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];
/// Bytes of output that may hold more lines than a screen shows.
const PASSING: usize = 2 * 1024;
/// Parameters of a sequence that is taken here; longer ones go through the parser.
const MAX_PARAMETERS: usize = 16;
