//! What of a session's output may go to the local terminal: everything but queries, and what would take from the
//! person's own screen.
//!
//! The daemon's screen answers a program's queries, once and for everybody. Were they forwarded, the local terminal
//! would answer them again, and the answer would be typed into the program. A full reset becomes the turning off of
//! what the session turned on, and its erasing of the scrollback is dropped: that scrollback is the person's. While
//! the alternate screen is ours, a program's own switches of screens are dropped too, and the screen is cleared where
//! one stood: whoever draws must then draw anew. Sequences after ECMA-48, xterm's ctlseqs and kitty's protocol
//! specifications.

use super::modes::{Csi, Modes};

/// A streaming filter; a sequence cut anywhere is held until its rest comes.
#[derive(Debug, Default)]
pub(super) struct Filter {
    state: State,
    /// The sequence so far, from its ESC, or the lead byte of a C1 control.
    held: Vec<u8>,
    /// Whether something was dropped after which the screen shows less than the session's.
    lacks: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// After 0xC2, which leads U+0080 to U+00BF: the C1 controls are among them.
    Lead,
    Escape,
    Csi,
    Osc,
    OscEscape,
    DcsHead,
    /// Inside a string whose fate is decided.
    String {
        forward: bool,
    },
    StringEscape {
        forward: bool,
    },
}

impl Filter {
    /// Appends to `out` what of the bytes may pass, and notes in `modes` what it changes.
    pub(super) fn pass(&mut self, bytes: &[u8], modes: &mut Modes, out: &mut Vec<u8>) {
        let mut rest = bytes;
        while let Some(byte) = rest.first().copied() {
            if self.state == State::Ground {
                let plain = rest
                    .iter()
                    .position(|byte| matches!(*byte, 0x1b | ENQ | 0xc2))
                    .unwrap_or(rest.len());
                out.extend_from_slice(&rest[..plain]);
                rest = &rest[plain..];
                if let Some((byte, after)) = rest.split_first() {
                    self.begin(*byte);
                    rest = after;
                }
                continue;
            }
            if self.step(byte, modes, out) {
                rest = &rest[1..];
            }
        }
    }

    /// Whether the local terminal's screen has to be drawn anew, since a switch of screens or a reset was dropped.
    pub(super) fn take_lack(&mut self) -> bool {
        std::mem::take(&mut self.lacks)
    }

    fn begin(&mut self, byte: u8) {
        self.held.clear();
        self.state = match byte {
            0x1b => State::Escape,
            0xc2 => State::Lead,
            _ => return,
        };
        self.held.push(byte);
    }

    /// Takes one byte outside the ground state; false asks for the same byte again in the new state.
    fn step(&mut self, byte: u8, modes: &mut Modes, out: &mut Vec<u8>) -> bool {
        match self.state {
            State::Ground => return false,
            State::Lead => return self.lead(byte, out),
            State::Escape => return self.escape(byte, modes, out),
            State::Csi => return self.csi(byte, modes, out),
            State::Osc => self.osc(byte, modes, out),
            State::OscEscape => return self.osc_escape(byte, modes, out),
            State::DcsHead => self.dcs_head(byte, out),
            State::String { forward } => self.string(byte, forward, out),
            State::StringEscape { forward } => return self.string_escape(byte, forward, out),
        }
        true
    }

    /// C1 controls are dropped: the daemon's screen does not act on them, so nobody's may.
    fn lead(&mut self, byte: u8, out: &mut Vec<u8>) -> bool {
        self.state = State::Ground;
        match byte {
            0x80..=0x9f => true,
            0xa0..=0xbf => {
                out.extend_from_slice(&[0xc2, byte]);
                true
            }
            _ => {
                out.push(0xc2);
                false
            }
        }
    }

    fn escape(&mut self, byte: u8, modes: &mut Modes, out: &mut Vec<u8>) -> bool {
        self.state = match byte {
            b'[' if self.held.len() == 1 => State::Csi,
            b']' if self.held.len() == 1 => State::Osc,
            b'P' if self.held.len() == 1 => State::DcsHead,
            // Application strings, privacy messages and starts of string: none is for us to pass on.
            b'_' | b'^' | b'X' if self.held.len() == 1 => State::String { forward: false },
            0x20..=0x2f if self.held.len() < MAX_CSI => State::Escape,
            // DECID asks who the terminal is; a lone ST ends nothing.
            b'Z' | b'\\' if self.held.len() == 1 => State::Ground,
            b'c' if self.held.len() == 1 => {
                out.extend(modes.begin_anew());
                out.extend_from_slice(b"\x1b[H\x1b[2J");
                self.lacks = true;
                State::Ground
            }
            0x30..=0x7e => {
                self.held.push(byte);
                modes.saw_escape(&self.held[1..]);
                out.append(&mut self.held);
                State::Ground
            }
            _ => return self.control(byte, out),
        };
        self.held.push(byte);
        true
    }

    fn csi(&mut self, byte: u8, modes: &mut Modes, out: &mut Vec<u8>) -> bool {
        match byte {
            0x40..=0x7e => self.end_csi(byte, modes, out),
            // A sequence of this length means nothing to anybody: it is swallowed to its end.
            0x20..=0x3f if self.held.len() >= MAX_CSI => self.held.truncate(2),
            0x20..=0x3f => self.held.push(byte),
            _ => return self.control(byte, out),
        }
        true
    }

    fn end_csi(&mut self, last: u8, modes: &mut Modes, out: &mut Vec<u8>) {
        self.state = State::Ground;
        let Some(csi) = Csi::parse(&self.held[2..], last) else {
            return;
        };
        if is_query(&csi) || !modes.saw_csi(&csi) {
            return;
        }
        if let Some(switch) = modes.switch(&csi) {
            out.extend(switch);
            self.lacks = true;
        }
        if csi.sets_private(|mode| modes.withholds(mode)) {
            out.extend(csi.without(|mode| modes.withholds(mode)));
        } else {
            out.append(&mut self.held);
            out.push(last);
        }
    }

    /// A byte that is no part of an escape or control sequence: executed at once, or the sequence's end.
    fn control(&mut self, byte: u8, out: &mut Vec<u8>) -> bool {
        match byte {
            0x1b => self.begin(byte),
            CAN | SUB => {
                self.state = State::Ground;
                out.push(byte);
            }
            ENQ | 0x7f => {}
            0x00..=0x1f => out.push(byte),
            _ => {
                self.state = State::Ground;
                return false;
            }
        }
        true
    }

    fn osc(&mut self, byte: u8, modes: &mut Modes, out: &mut Vec<u8>) {
        match byte {
            0x1b => self.state = State::OscEscape,
            BEL => self.end_osc(modes, out),
            CAN | SUB => self.state = State::Ground,
            // Terminals ignore other controls inside; without them no terminal can take the string for ended.
            0x00..=0x1f => {}
            _ if self.held.len() >= MAX_OSC => self.state = State::String { forward: false },
            _ => self.held.push(byte),
        }
    }

    fn osc_escape(&mut self, byte: u8, modes: &mut Modes, out: &mut Vec<u8>) -> bool {
        if byte == b'\\' {
            self.end_osc(modes, out);
            return true;
        }
        self.begin(0x1b);
        false
    }

    fn end_osc(&mut self, modes: &mut Modes, out: &mut Vec<u8>) {
        self.state = State::Ground;
        let body = &self.held[2..];
        let has_c1 = body
            .windows(2)
            .any(|pair| pair[0] == 0xc2 && (0x80..=0x9f).contains(&pair[1]));
        if has_c1 || is_osc_query(body) {
            return;
        }
        modes.saw_osc(body);
        out.append(&mut self.held);
        out.extend_from_slice(b"\x1b\\");
    }

    /// Sixel pictures and old synchronized updates pass; every other device control string asks, or configures.
    fn dcs_head(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            0x40..=0x7e => {
                let head = &self.held[2..];
                let plain = head.iter().all(|byte| matches!(byte, b'0'..=b'9' | b';'));
                let forward = (byte == b'q' && plain) || (byte == b's' && head.first() == Some(&b'='));
                if forward {
                    out.append(&mut self.held);
                    out.push(byte);
                }
                self.state = State::String { forward };
            }
            0x1b => self.state = State::StringEscape { forward: false },
            CAN | SUB => self.state = State::Ground,
            _ if self.held.len() >= MAX_CSI => self.state = State::String { forward: false },
            _ => self.held.push(byte),
        }
    }

    fn string(&mut self, byte: u8, forward: bool, out: &mut Vec<u8>) {
        match byte {
            0x1b => self.state = State::StringEscape { forward },
            CAN | SUB => {
                self.state = State::Ground;
                out.push(byte);
            }
            // A string of ours that the filter swallows may end as OSC strings do.
            BEL if !forward => self.state = State::Ground,
            _ if forward && byte >= 0x20 => out.push(byte),
            _ => {}
        }
    }

    fn string_escape(&mut self, byte: u8, forward: bool, out: &mut Vec<u8>) -> bool {
        if forward {
            out.extend_from_slice(b"\x1b\\");
        }
        if byte == b'\\' {
            self.state = State::Ground;
            return true;
        }
        self.begin(0x1b);
        false
    }
}

/// Whether a terminal answers the control sequence, or acts on the window that is not the session's.
fn is_query(csi: &Csi<'_>) -> bool {
    let first = csi.parameter(0).unwrap_or_default();
    match (csi.prefix, csi.intermediates, csi.last) {
        // DA, DSR, DECREQTPARM, media copy.
        (_, b"", b'c') | (None, b"", b'x') | (None | Some(b'?'), b"", b'n' | b'i') => true,
        // The title stack passes; reports, moves and sizes of the window do not.
        (None, b"", b't') => !matches!(first, 22 | 23),
        // XTVERSION, XTQMODKEYS, XTSMGRAPHICS, kitty's keyboard query.
        (Some(b'>'), b"", b'q') | (Some(b'?'), b"", b'm' | b'S' | b'u') => true,
        // DECRQM, DECRQPSR, DECRQTSR, DECRQUPSS, DECRQCRA, DECRQDE.
        (_, b"$", b'p' | b'w' | b'u') | (_, b"&", b'u') | (_, b"*", b'y') | (_, b"\"", b'v') => true,
        // XTREPORTCOLORS, XTREPORTSGR, XTTITLEPOS, and the DEC locator.
        (_, b"#", b'R' | b'|' | b'S') | (_, b"'", b'w' | b'|' | b'z' | b'{') => true,
        _ => false,
    }
}

/// Whether a terminal answers the operating system command.
fn is_osc_query(body: &[u8]) -> bool {
    let mut fields = body.split(|byte| *byte == b';');
    match fields.next().unwrap_or_default() {
        // Words for people and marks: a question mark in them is no question.
        b"0" | b"1" | b"2" | b"7" | b"8" | b"9" | b"133" | b"633" | b"777" => false,
        // xterm's features, kitty's clipboard, iTerm2's own: they answer in ways of their own.
        b"60" | b"61" | b"62" | b"1337" | b"5522" => true,
        b"21" => fields.any(|field| field.ends_with(b"=?")),
        b"99" => fields
            .next()
            .is_some_and(|keys| keys.split(|byte| *byte == b':').any(|key| key == b"p=?")),
        _ => fields.any(|field| field.first() == Some(&b'?')),
    }
}

const ENQ: u8 = 0x05;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
/// Bytes of a control sequence; the longest in use has about 100.
const MAX_CSI: usize = 1024;
/// Bytes of an operating system command: a clipboard's worth.
const MAX_OSC: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
