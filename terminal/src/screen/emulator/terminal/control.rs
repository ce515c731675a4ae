//! What control sequences do.

use super::super::modes::{CursorStyle, Modes, Shape};
use super::{Terminal, is_default_tab};

impl Terminal {
    /// A control sequence without intermediates, maybe with a private marker.
    pub(super) fn control(&mut self, marker: Option<u8>, parameters: &[u16], last: u8) {
        if marker.is_none() && last == b'b' {
            self.repeat(or(parameters, 0, 1));
            return;
        }
        self.follows_text = false;
        match marker {
            None => self.plain_control(parameters, last),
            Some(b'?') => self.private_control(parameters, last),
            Some(marker) => self.other_control(marker, parameters, last),
        }
    }

    fn plain_control(&mut self, parameters: &[u16], last: u8) {
        let count = usize::from(or(parameters, 0, 1));
        let column = self.grid.cursor.column;
        match last {
            b'm' => self.plain_rendition(parameters),
            b'H' | b'f' => self.go(count - 1, usize::from(or(parameters, 1, 1)) - 1),
            b'A' => self.move_up(count),
            b'B' | b'e' => self.move_down(count),
            b'C' | b'a' => self.move_forward(count),
            b'D' => self.move_backward(count),
            b'E' => {
                self.move_down(count);
                self.carriage_return();
            }
            b'F' => {
                self.move_up(count);
                self.carriage_return();
            }
            b'G' | b'`' => self.move_to(self.grid.cursor.row, count - 1),
            b'd' => self.go(count - 1, column),
            b'J' => self.erase_screen(or(parameters, 0, 0)),
            b'K' => self.erase_line(or(parameters, 0, 0)),
            b'X' => self.erase_characters(count),
            b'@' => self.insert_blanks(count),
            b'P' => self.delete_characters(count),
            b'L' => self.insert_lines(count),
            b'M' => self.delete_lines(count),
            b'S' => self.scroll_up(self.region.0, count),
            b'T' => self.scroll_down(self.region.0, count),
            b'r' => self.set_region(or(parameters, 0, 1), or(parameters, 1, 0)),
            b'I' => self.move_forward_tabs(or(parameters, 0, 1)),
            b'Z' => self.move_backward_tabs(or(parameters, 0, 1)),
            b'g' => match or(parameters, 0, 0) {
                0 => self.set_tab(false),
                3 => self.tabs.fill(false),
                _ => {}
            },
            b'h' | b'l' => parameters.iter().for_each(|number| {
                if let Some(mode) = Modes::ansi(*number) {
                    self.modes.set(mode, last == b'h');
                }
            }),
            b's' => self.save_cursor(),
            b'u' => self.restore_cursor(),
            b't' => match or(parameters, 0, 1) {
                22 => self.titles.push(),
                23 => self.titles.pop(),
                18 => self.answer_size(),
                _ => {}
            },
            b'c' if or(parameters, 0, 0) == 0 => self.answer("\x1b[?6c"),
            b'n' => self.answer_status(or(parameters, 0, 0)),
            _ => {}
        }
    }

    fn private_control(&mut self, parameters: &[u16], last: u8) {
        match last {
            b'h' | b'l' => parameters
                .iter()
                .for_each(|number| self.set_private_mode(*number, last == b'h')),
            b'W' if or(parameters, 0, 0) == 5 => {
                let columns = 0..self.columns;
                self.tabs = columns.map(is_default_tab).collect();
            }
            b'm' if parameters.first() == Some(&4) => {
                self.answer(&format!("\x1b[>4;{}m", self.other_keys));
            }
            b'u' => self.answer(&format!("\x1b[?{}u", self.keyboard.flags())),
            _ => {}
        }
    }

    fn other_control(&mut self, marker: u8, parameters: &[u16], last: u8) {
        // Five flags are known.
        let flags = (or(parameters, 0, 0) & 0x1f) as u8;
        match (marker, last) {
            (b'>', b'm') if or(parameters, 0, 1) == 4 && or(parameters, 1, 0) <= 2 => {
                self.other_keys = or(parameters, 1, 0) as u8;
            }
            (b'>', b'u') => self.keyboard.push(flags),
            (b'<', b'u') => self.keyboard.pop(or(parameters, 0, 1)),
            (b'=', b'u') => {
                let before = self.keyboard.flags();
                self.keyboard.set(match or(parameters, 1, 1) {
                    3 => before & !flags,
                    2 => before | flags,
                    _ => flags,
                });
            }
            (b'>', b'c') if or(parameters, 0, 0) == 0 => self.answer(SECONDARY_ATTRIBUTES),
            _ => {}
        }
    }

    /// A control sequence with intermediates, the private marker among them.
    pub(super) fn intermediate_control(&mut self, intermediates: &[u8], parameters: &[u16], last: u8) {
        match (intermediates, last) {
            (b"!", b'p') => self.soft_reset(),
            (b"$", b'p') => self.answer_mode(or(parameters, 0, 0)),
            (b"?$", b'p') => self.answer_private_mode(or(parameters, 0, 0)),
            (b" ", b'q') => {
                let style = or(parameters, 0, 0);
                let shape = match style {
                    0 => {
                        self.cursor_style = None;
                        return;
                    }
                    1 | 2 => Shape::Block,
                    3 | 4 => Shape::Underline,
                    5 | 6 => Shape::Beam,
                    _ => return,
                };
                let is_blinking = style % 2 == 1;
                self.cursor_style = Some(CursorStyle { shape, is_blinking });
            }
            _ => {}
        }
    }

    /// DECSET and DECRST.
    fn set_private_mode(&mut self, number: u16, on: bool) {
        match number {
            3 => self.change_width(),
            12 => self.cursor_style.get_or_insert_default().is_blinking = on,
            1049 if on => self.show_alternate(),
            1049 => self.show_primary(),
            _ => {}
        }
        if let Some((mode, excluded)) = Modes::private(number) {
            if on {
                self.modes.set(excluded, false);
            }
            self.modes.set(mode, on);
            if number == 6 && on {
                self.go(0, 0);
            }
        } else if KEPT_MODES.contains(&number) {
            self.kept_modes.retain(|kept| *kept != number);
            if on {
                self.kept_modes.push(number);
            }
        }
    }
}

/// The parameter at an index, or what it is when it is absent or 0.
pub(super) fn or(parameters: &[u16], index: usize, default: u16) -> u16 {
    match parameters.get(index) {
        Some(0) | None => default,
        Some(value) => *value,
    }
}

/// Private modes that are kept for whoever attaches, without an effect on the screen: X10 mouse, reverse
/// wrap-around, the keypad, two encodings of the mouse.
const KEPT_MODES: [u16; 5] = [9, 45, 66, 1015, 1016];
/// What a program takes for a terminal with the usual abilities of today.
const SECONDARY_ATTRIBUTES: &str = "\x1b[>0;2600;1c";
