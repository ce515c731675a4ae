//! What the parser makes of the sequences that are not taken without it.

use vte::{Params, Perform};

use super::Terminal;

impl Perform for Terminal {
    fn execute(&mut self, byte: u8) {
        self.execute_control(byte);
    }

    fn csi_dispatch(&mut self, parameters: &Params, intermediates: &[u8], is_ignored: bool, last: char) {
        // A final character is ASCII.
        let last = last as u8;
        if is_ignored {
            return;
        }
        if intermediates.is_empty() && last == b'm' {
            self.rendition(parameters.iter());
            return;
        }
        let parameters: Vec<u16> = parameters.iter().map(|parameter| parameter[0]).collect();
        match intermediates {
            // Not directly behind a character, whatever it says.
            [] if last == b'b' => {}
            [] => self.control(None, &parameters, last),
            [marker @ b'<'..=b'?'] => self.control(Some(*marker), &parameters, last),
            intermediates => self.intermediate_control(intermediates, &parameters, last),
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _: bool, last: u8) {
        match (intermediates, last) {
            ([set @ b'('..=b'+'], b'B' | b'0') => {
                self.grid.cursor.drawings[usize::from(set - b'(')] = last == b'0';
            }
            ([], b'D') => self.line_feed(),
            ([], b'E') => {
                self.line_feed();
                self.carriage_return();
            }
            ([], b'H') => self.set_tab(true),
            ([], b'M') => self.reverse_line_feed(),
            ([], b'Z') => self.answer("\x1b[?6c"),
            ([], b'c') => self.reset(),
            ([], b'7') => self.save_cursor(),
            ([], b'8') => self.restore_cursor(),
            (b"#", b'8') => self.align(),
            ([], b'=') => self.modes.set(super::Modes::APP_KEYPAD, true),
            ([], b'>') => self.modes.set(super::Modes::APP_KEYPAD, false),
            _ => {}
        }
    }

    fn osc_dispatch(&mut self, parameters: &[&[u8]], is_bell_terminated: bool) {
        let terminator = if is_bell_terminated { "\x07" } else { "\x1b\\" };
        self.command(parameters, terminator);
    }
}
