//! What a session turned on in the local terminal, and the bytes that turn it off again.

use std::collections::{BTreeMap, BTreeSet};

/// A parsed control sequence (ECMA-48 section 5.4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Csi<'a> {
    /// `<`, `=`, `>` or `?` before the parameters.
    pub(super) prefix: Option<u8>,
    parameters: &'a [u8],
    /// Bytes 0x20 to 0x2F before the last one.
    pub(super) intermediates: &'a [u8],
    /// The byte that names the function.
    pub(super) last: u8,
}

impl<'a> Csi<'a> {
    /// Parses what stands between the introducer and the last byte; nothing where the order of bytes is wrong.
    pub(super) fn parse(body: &'a [u8], last: u8) -> Option<Self> {
        let prefix = body.first().copied().filter(|byte| (0x3c..=0x3f).contains(byte));
        let body = &body[usize::from(prefix.is_some())..];
        let end = body
            .iter()
            .position(|byte| (0x20..=0x2f).contains(byte))
            .unwrap_or(body.len());
        let (parameters, intermediates) = body.split_at(end);
        let well_formed = parameters.iter().all(|byte| (0x30..=0x3b).contains(byte))
            && intermediates.iter().all(|byte| (0x20..=0x2f).contains(byte));
        well_formed.then_some(Self {
            prefix,
            parameters,
            intermediates,
            last,
        })
    }

    /// The parameter with this index, if it is given.
    pub(super) fn parameter(&self, index: usize) -> Option<u16> {
        self.parameters().nth(index).flatten()
    }

    /// Whether it turns such a private mode on or off.
    pub(super) fn sets_private(&self, is_meant: impl Fn(u16) -> bool) -> bool {
        self.private_switch().is_some() && self.parameters().flatten().any(is_meant)
    }

    /// The same sequence without some of its parameters; nothing where no other remains.
    pub(super) fn without(&self, is_meant: impl Fn(u16) -> bool) -> Vec<u8> {
        let others: Vec<String> = self
            .parameters()
            .flatten()
            .filter(|other| !is_meant(*other))
            .map(|other| other.to_string())
            .collect();
        if others.is_empty() {
            return Vec::new();
        }
        format!("\x1b[?{}{}", others.join(";"), char::from(self.last)).into_bytes()
    }

    fn parameters(&self) -> impl Iterator<Item = Option<u16>> + use<'a> {
        self.parameters
            .split(|byte| *byte == b';')
            .map(|text| std::str::from_utf8(text).ok()?.parse().ok())
    }

    fn private_switch(&self) -> Option<bool> {
        match (self.prefix, self.intermediates, self.last) {
            (Some(b'?'), b"", b'h') => Some(true),
            (Some(b'?'), b"", b'l') => Some(false),
            _ => None,
        }
    }
}

/// What differs from a terminal's defaults, as far as sequences that passed can tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Modes {
    /// Whether the alternate screen is ours: the session is shown in it, and does not switch screens itself.
    ours: bool,
    /// Whether the session would show its alternate screen, while that is ours.
    full_screen: bool,
    /// Whether the session keeps a cursor (DECSC), which nobody else may save over.
    saved_cursor: bool,
    private: BTreeMap<u16, bool>,
    ansi: BTreeSet<u16>,
    /// Entries on kitty's keyboard stacks of the primary and the alternate screen.
    keyboard: [u16; 2],
    keyboard_set: bool,
    /// xterm's key resources (XTMODKEYS).
    key_resources: BTreeSet<u16>,
    titles: u16,
    /// Numbers of the commands that changed colours.
    colours: BTreeSet<u16>,
    cursor_style: bool,
    region: bool,
    tab_stops: bool,
    keypad: bool,
    pointer: bool,
    progress: bool,
}

impl Modes {
    /// Notes an escape sequence without its ESC.
    pub(super) fn saw_escape(&mut self, sequence: &[u8]) {
        match sequence {
            b"7" => self.saved_cursor = true,
            b"=" => self.keypad = true,
            b">" => self.keypad = false,
            b"H" => self.tab_stops = true,
            _ => {}
        }
    }

    /// Notes a control sequence; false where it must not pass, since it would take what is not the session's.
    pub(super) fn saw_csi(&mut self, csi: &Csi<'_>) -> bool {
        if let Some(on) = csi.private_switch() {
            let passes = csi.parameters().flatten().filter(|mode| !self.withholds(*mode));
            let passed: Vec<u16> = passes.collect();
            self.saved_cursor |= passed.contains(&SAVE_CURSOR);
            self.private.extend(passed.into_iter().map(|mode| (mode, on)));
            return true;
        }
        match (csi.prefix, csi.intermediates, csi.last) {
            (None, b"", b'h') => self.ansi.extend(csi.parameters().flatten()),
            (None, b"", b'l') => self
                .ansi
                .retain(|mode| csi.parameters().all(|parameter| parameter != Some(*mode))),
            (None, b"", b'r') => self.region = true,
            (None, b"", b's') => self.saved_cursor = true,
            // The lines that scrolled away are not the session's alone.
            (None, b"", b'J') => return csi.parameter(0) != Some(3),
            (None, b"", b'g') => self.tab_stops = true,
            (None, b" ", b'q') => self.cursor_style = true,
            (Some(b'>'), b"", b'm') => self.key_resources.extend(csi.parameter(0)),
            (Some(b'='), b"", b'u') => self.keyboard_set = true,
            (Some(b'>'), b"", b'u') => *self.keyboard_depth() += 1,
            (Some(b'<'), b"", b'u') => return take(self.keyboard_depth(), csi.parameter(0).unwrap_or(1)),
            (None, b"", b't') if csi.parameter(0) == Some(22) => self.titles += 1,
            (None, b"", b't') if csi.parameter(0) == Some(23) => return take(&mut self.titles, 1),
            _ => {}
        }
        true
    }

    /// Notes an operating system command, without introducer and end.
    pub(super) fn saw_osc(&mut self, body: &[u8]) {
        let number = body
            .split(|byte| *byte == b';')
            .next()
            .and_then(|text| std::str::from_utf8(text).ok());
        match number.and_then(|text| text.parse::<u16>().ok()) {
            Some(number @ (4 | 5 | 10..=19)) => drop(self.colours.insert(number)),
            Some(22) => self.pointer = true,
            Some(9) if body.starts_with(b"9;4;") => self.progress = true,
            _ => {}
        }
    }

    /// Whether the local terminal may send reports of the mouse or of its focus.
    pub(super) fn reports(&self) -> bool {
        REPORTING.iter().any(|mode| self.private.get(mode) == Some(&true))
    }

    /// The bytes that take the alternate screen for us.
    pub(super) fn enter(&mut self) -> &'static [u8] {
        self.ours = true;
        b"\x1b[?1049h"
    }

    /// Whether the alternate screen is ours.
    pub(super) fn is_ours(&self) -> bool {
        self.ours
    }

    /// Whether the session, shown in the alternate screen that is ours, would show its own.
    pub(super) fn is_full_screen(&self) -> bool {
        self.full_screen
    }

    /// Whether the session counts on the cursor that it saved.
    pub(super) fn has_saved_cursor(&self) -> bool {
        self.saved_cursor
    }

    /// Whether this private mode may not pass: reports of the size would be the local terminal's, not the session's;
    /// and the alternate screen may be ours. The older two modes of that are nobody's: the daemon's screen ignores
    /// them.
    pub(super) fn withholds(&self, mode: u16) -> bool {
        mode == IN_BAND_SIZE || (self.ours && ALTERNATE.contains(&mode))
    }

    /// Notes a switch of screens that does not pass, if the sequence is one: the bytes that stand in for it.
    pub(super) fn switch(&mut self, csi: &Csi<'_>) -> Option<Vec<u8>> {
        let on = csi.private_switch()?;
        if !self.ours || !csi.sets_private(|mode| mode == ALTERNATE_WITH_CURSOR) {
            return None;
        }
        self.full_screen = on;
        let mut bytes = Vec::new();
        // Each screen has a stack of its own.
        pop_keyboard(std::mem::take(self.keyboard_depth()), &mut bytes);
        bytes.extend_from_slice(b"\x1b[2J");
        Some(bytes)
    }

    /// The bytes that turn off what is on, and leave the alternate screen. But for that the cursor stays where it is.
    pub(super) fn restore(&self) -> Vec<u8> {
        let mut bytes = self.turn_off();
        if self.ours {
            bytes.extend_from_slice(b"\x1b[?1049l");
        }
        bytes
    }

    /// The bytes that turn off what is on; the alternate screen stays if it is ours.
    pub(super) fn begin_anew(&mut self) -> Vec<u8> {
        let bytes = self.turn_off();
        *self = Self {
            ours: self.ours,
            ..Self::default()
        };
        bytes
    }

    fn turn_off(&self) -> Vec<u8> {
        // Attributes, an open link, character sets.
        let mut bytes = b"\x1b[0m\x1b]8;;\x1b\\\x0f\x1b(B\x1b)B".to_vec();
        if self.is_alternate() {
            pop_keyboard(self.keyboard[1], &mut bytes);
        }
        for (mode, on) in &self.private {
            if *on != ON_BY_DEFAULT.contains(mode) {
                bytes.extend(format!("\x1b[?{mode}{}", if *on { 'l' } else { 'h' }).bytes());
            }
        }
        pop_keyboard(self.keyboard[0], &mut bytes);
        for mode in &self.ansi {
            bytes.extend(format!("\x1b[{mode}l").bytes());
        }
        for resource in &self.key_resources {
            bytes.extend(format!("\x1b[>{resource}m").bytes());
        }
        for number in &self.colours {
            bytes.extend(format!("\x1b]{}\x1b\\", number + 100).bytes());
        }
        for _ in 0..self.titles {
            bytes.extend_from_slice(b"\x1b[23;0t");
        }
        let switches: [(bool, &[u8]); 7] = [
            (self.keyboard_set, b"\x1b[=0;1u"),
            (self.cursor_style, b"\x1b[0 q"),
            (self.region, b"\x1b7\x1b[r\x1b8"),
            (self.tab_stops, b"\x1b[?5W"),
            (self.keypad, b"\x1b>"),
            (self.pointer, b"\x1b]22;default\x1b\\"),
            (self.progress, b"\x1b]9;4;0\x1b\\"),
        ];
        bytes.extend(
            switches
                .iter()
                .filter(|(on, _)| *on)
                .flat_map(|(_, off)| off.iter().copied()),
        );
        bytes
    }

    /// Whether the local terminal shows its alternate screen.
    pub(super) fn is_alternate(&self) -> bool {
        self.ours || ALTERNATE.iter().any(|mode| self.private.get(mode) == Some(&true))
    }

    fn keyboard_depth(&mut self) -> &mut u16 {
        let screen = usize::from(self.is_alternate());
        &mut self.keyboard[screen]
    }
}

/// Takes from a stack what the session itself put there; false where it put nothing.
fn take(depth: &mut u16, count: u16) -> bool {
    let had = *depth;
    *depth = had.saturating_sub(count);
    had > 0 && count <= had
}

fn pop_keyboard(depth: u16, bytes: &mut Vec<u8>) {
    if depth > 0 {
        bytes.extend(format!("\x1b[<{depth}u").bytes());
    }
}

/// Private modes of the alternate screen.
const ALTERNATE: [u16; 3] = [47, 1047, ALTERNATE_WITH_CURSOR];
/// The one of them in use, which saves the cursor and clears the screen.
const ALTERNATE_WITH_CURSOR: u16 = 1049;
/// Private mode that saves and restores the cursor.
const SAVE_CURSOR: u16 = 1048;
/// Private mode of reports of the size, of which the first comes at once.
const IN_BAND_SIZE: u16 = 2048;
/// Private modes that a terminal starts with: autowrap, autorepeat, the cursor.
const ON_BY_DEFAULT: [u16; 3] = [7, 8, 25];
/// Private modes that make a terminal send what nobody typed.
const REPORTING: [u16; 6] = [9, 1000, 1001, 1002, 1003, 1004];

#[cfg(test)]
mod tests {
    use super::Modes;
    use crate::attach::filter::Filter;

    fn after(output: &str) -> String {
        let mut modes = Modes::default();
        Filter::default().pass(output.as_bytes(), &mut modes, &mut Vec::new());
        String::from_utf8(modes.restore()).unwrap()
    }

    const NOTHING: &str = "\x1b[0m\x1b]8;;\x1b\\\x0f\x1b(B\x1b)B";

    #[test]
    fn plain_output_leaves_nothing_to_restore() {
        assert_eq!(after("hello\r\n\x1b[1mbold\x1b[m"), NOTHING);
    }

    #[test]
    fn every_mode_that_a_session_turned_on_is_turned_off() {
        for (on, off) in [
            ("\x1b[?1000h\x1b[?1006h", "\x1b[?1000l\x1b[?1006l"),
            ("\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[?1049h", "\x1b[?1049l"),
            ("\x1b[?25l", "\x1b[?25h"),
            ("\x1b[?7l", "\x1b[?7h"),
            ("\x1b[4h", "\x1b[4l"),
            ("\x1b=", "\x1b>"),
            ("\x1b[>4;2m", "\x1b[>4m"),
            ("\x1b[5 q", "\x1b[0 q"),
            ("\x1b[2;9r", "\x1b7\x1b[r\x1b8"),
            ("\x1b]11;#000\x07", "\x1b]111\x1b\\"),
            ("\x1b[>1u\x1b[>3u", "\x1b[<2u"),
            ("\x1b[22;0t", "\x1b[23;0t"),
        ] {
            assert_eq!(after(on), format!("{NOTHING}{off}"), "{on:?}");
        }
    }

    #[test]
    fn what_the_session_turned_off_itself_needs_nothing() {
        assert_eq!(
            after("\x1b[?1049h\x1b[?25l\x1b[>1u\x1b[<u\x1b[?25h\x1b[?1049l\x1b[22t\x1b[23t"),
            NOTHING
        );
    }

    #[test]
    fn the_alternate_screens_keyboard_is_popped_before_it_is_left() {
        assert_eq!(
            after("\x1b[?1049h\x1b[>1u"),
            format!("{NOTHING}\x1b[<1u\x1b[?1049l")
        );
    }

    #[test]
    fn a_full_reset_by_the_session_restores_everything() {
        assert_eq!(after("\x1b[?1003h\x1b[?1049h\x1bc"), NOTHING);
    }

    #[test]
    fn the_alternate_screen_that_is_ours_is_left_last() {
        let mut modes = Modes::default();
        assert_eq!(modes.enter(), b"\x1b[?1049h");
        Filter::default().pass(b"\x1b[>1u\x1b[?1000h", &mut modes, &mut Vec::new());
        let off = format!("{NOTHING}\x1b[<1u\x1b[?1000l");
        assert_eq!(
            String::from_utf8(modes.restore()).unwrap(),
            format!("{off}\x1b[?1049l")
        );
        assert_eq!(String::from_utf8(modes.begin_anew()).unwrap(), off);
        assert!(modes.is_ours());
    }
}
