//! The oracle: alacritty's terminal, which the emulator must equal.
//!
//! Where it differs, somebody decided so. These are all differences; `alacritty/` does ours to alacritty's terminal:
//!
//! | what | alacritty | ours | why |
//! |---|---|---|---|
//! | REP | repeats the last character it printed, whatever came since | only directly behind it, and only if writing it again in its place changes nothing | ECMA-48 leaves the rest undefined, and a snapshot can bring back no more |
//! | CUU, CUD, HPA and the like in origin mode | count the region's top twice | do not | DEC STD 070 |
//! | DECRC in origin mode | may leave the region | stays in it | DEC STD 070 |
//! | halves of wide characters whose other half is erased or shifted away | stay | become blanks | no terminal can draw a half |
//! | DCH beyond the last column | erases cells before the cursor | does not | ECMA-48 |
//! | ED 1 in the second row | leaves the first row | erases it | ECMA-48 |
//! | DECCOLM on a screen of one row | does not move the cursor | homes it | DEC STD 070 |
//! | ED 2 on a blank screen | adds a blank line to an empty scrollback | adds none | nothing was there |
//! | CBT behind the last column | still waits to wrap | does not | the cursor has moved |
//! | insert mode next to wide characters | blanks neighbours of what leaves the row | does not | they were not written |
//! | a wrapped line | is a mark of the last cell, which may be shifted into the row and back | is one of the row | as every other terminal |
//! | DECSTBM below the last row | keeps a region that is off the screen | cuts it off | xterm |
//! | kitty keyboard stack | removes saved titles when it is full; `CSI = u` is lost when it is popped | keeps a stack | the protocol |
//! | X10 mouse, 1015, 1016, 45, 66 | unknown | kept for whoever attaches | they decide what he sends |
//! | RIS | keeps changed colours, and rows of the former scrollback's colour | changes all back | xterm |
//! | rows used again after a change of size | may show what was in them | are blank | as all others |
//! | entering the alternate screen | finds the cursor an earlier program saved there | finds none | it is no business of this one |
//! | titles and links | of any length | bounded, without control characters | memory, and whoever is shown them |
//! | marks in a cell | without number | at most 16 | memory |
//! | clipboard (OSC 52), size in pixels | as configured | not answered | nobody here knows |
//! | DECSTR | unknown | resets | `reset` and `tput init` send it |
//! | a wide character that wrapped, overwritten while the row before is in the scrollback | clears that row's sign of it | leaves it | it matters to a change of size alone |
//! | a narrower or wider primary screen | removes filled rows below a cursor in the middle of a wrapped line; puts a cursor that waits to wrap where it does not; forgets styled blanks and signs here and there | keeps text and the cursor at its text | nothing that was written may be lost |

use alacritty_terminal::vte::ansi::{Processor, Timeout};

use crate::scanner::{Scanner, unit_length};
use crate::size::Size;
use terminal::Terminal;

mod cells;
mod state;
mod terminal;

/// A terminal of alacritty's, fed complete units only.
pub(super) struct Alacritty {
    scanner: Scanner,
    parser: Processor<NotHere>,
    pub(super) terminal: Terminal,
    follows_text: bool,
}

impl Alacritty {
    pub(super) fn new(size: Size) -> Self {
        Self {
            scanner: Scanner::default(),
            parser: Processor::new(),
            terminal: Terminal::new(size),
            follows_text: false,
        }
    }

    pub(super) fn feed(&mut self, output: &[u8]) {
        self.scan(|scanner, sink| scanner.feed(output, sink));
    }

    pub(super) fn resize(&mut self, size: Size) {
        self.scan(Scanner::release);
        self.terminal.resize(size);
    }

    fn scan(&mut self, scan: impl FnOnce(&mut Scanner, &mut dyn FnMut(&[u8]))) {
        let mut all = Vec::new();
        scan(&mut self.scanner, &mut |units| all.push(units.to_vec()));
        all.iter().for_each(|units| self.units(units));
    }

    fn units(&mut self, mut units: &[u8]) {
        while !units.is_empty() {
            let text = units.iter().position(|&byte| byte == 0x1b).unwrap_or(units.len());
            let length = if text > 0 {
                text
            } else {
                unit_length(units).unwrap_or(units.len())
            };
            let (unit, rest) = units.split_at(length);
            self.unit(unit);
            if text == units.len()
                && std::str::from_utf8(unit).is_err_and(|error| error.error_len().is_none())
            {
                // Cut off by a synchronized update that begins.
                self.parser.advance(&mut self.terminal, b"\x1b\\");
            }
            units = rest;
        }
    }

    fn unit(&mut self, unit: &[u8]) {
        if unit[0] != 0x1b {
            self.parser.advance(&mut self.terminal, unit);
            self.follows_text = unit.last().is_some_and(|&byte| byte >= 0x20 && byte != 0x7f);
            return;
        }
        let start = unit.iter().rposition(|&byte| byte == 0x1b).unwrap_or(0);
        let repeats = unit[start..].starts_with(b"\x1b[") && unit.ends_with(b"b");
        let is_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b';');
        if repeats && start == 0 && unit[2..unit.len() - 1].iter().all(is_number) {
            if self.follows_text && self.terminal.repeatable().is_some() {
                self.parser.advance(&mut self.terminal, unit);
            }
            return;
        }
        self.follows_text = false;
        self.parser
            .advance(&mut self.terminal, if repeats { &unit[..start] } else { unit });
        if repeats {
            self.parser.advance(&mut self.terminal, b"\x1b\\");
        }
    }
}

/// Synchronized updates are held back by the scanner, so the parser never waits for the end of one.
#[derive(Default)]
struct NotHere;

impl Timeout for NotHere {
    fn set_timeout(&mut self, _: std::time::Duration) {}

    fn clear_timeout(&mut self) {}

    fn pending_timeout(&self) -> bool {
        false
    }
}
