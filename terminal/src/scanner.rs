//! Cuts a program's output into complete units, so that the emulator never stands inside one.
//!
//! A unit is a run of text or one escape sequence or string. What is not complete yet is kept here and counts as
//! not drawn, so the ground offset is exact. The same holds for a synchronized update (`CSI ? 2026 h` to `l`),
//! which is passed on when it ends.

mod state;

use state::State;

/// Takes output cut anywhere and passes on complete units.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    state: State,
    /// What was taken and not passed on.
    held: Vec<u8>,
    /// How much of `held` is complete units; the rest is one incomplete unit.
    complete: usize,
    /// Inside a synchronized update, which begins with `held`.
    is_synchronized: bool,
    /// Inside a sequence that is too long to keep: it is dropped up to its end.
    is_skipping: bool,
}

impl Scanner {
    /// Takes output and passes on what it completes.
    pub(crate) fn feed(&mut self, output: &[u8], sink: &mut dyn FnMut(&[u8])) {
        let output = if self.is_skipping {
            self.skip(output, sink)
        } else {
            output
        };
        if self.held.is_empty() {
            let passed = self.scan(output, 0, true, sink);
            self.held.extend_from_slice(&output[passed..]);
        } else {
            let mut held = std::mem::take(&mut self.held);
            let scanned = if self.state == State::Ground {
                self.complete
            } else {
                held.len()
            };
            held.extend_from_slice(output);
            let passed = self.scan(&held, scanned, true, sink);
            held.drain(..passed);
            self.held = held;
        }
        if self.is_synchronized && self.held.len() > MAX_SYNCHRONIZED {
            self.release(sink);
        }
        if self.held.len() - self.complete > MAX_UNIT {
            self.release(sink);
            self.give_up(sink);
        }
    }

    /// Ends a synchronized update: passes on its complete units.
    pub(crate) fn release(&mut self, sink: &mut dyn FnMut(&[u8])) {
        if self.is_synchronized {
            let rest = self.held.split_off(self.complete);
            let units = std::mem::replace(&mut self.held, rest);
            self.complete = 0;
            self.held_units(&units, sink);
        }
    }

    /// How many of the bytes taken last were not passed on.
    pub(crate) fn pending(&self) -> usize {
        self.held.len()
    }

    /// Whether a synchronized update is held back.
    pub(crate) fn is_synchronized(&self) -> bool {
        self.is_synchronized
    }

    /// Whether nothing is kept of what was taken, so that output may as well be drawn without being scanned.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.is_empty() && !self.is_synchronized && !self.is_skipping
    }

    /// How much of the output to feed at once, so that the rest may be drawn without being scanned.
    pub(crate) fn stride(&self, output: &[u8]) -> usize {
        if self.is_synchronized || self.is_skipping {
            let end = output.windows(END.len()).position(|bytes| bytes == END);
            return end.map_or(output.len(), |start| start + END.len());
        }
        let mut state = self.state;
        for (index, &byte) in output.iter().enumerate() {
            if state != State::Ground || byte == ESC {
                state = state.after(byte);
            }
            if state == State::Ground {
                return index + 1;
            }
        }
        output.len()
    }

    /// What brings a fresh parser to where this one is, before what is pending: nothing, or the beginning of a
    /// sequence that drops the rest of the one dropped here.
    pub(crate) fn opener(&self) -> &'static [u8] {
        if self.is_skipping {
            self.state.opener()
        } else {
            b""
        }
    }

    /// Scans `bytes` from `scanned` on (what is before was scanned) and passes on complete units; holds a
    /// synchronized update back if `hold`. Returns how many bytes were passed on.
    fn scan(&mut self, bytes: &[u8], scanned: usize, hold: bool, sink: &mut dyn FnMut(&[u8])) -> usize {
        let mut at = scanned;
        let mut passed = 0;
        while let Some(end) = self.unit(bytes, at) {
            let start = std::mem::replace(&mut self.complete, end);
            let unit = &bytes[start..end];
            let effect = if unit[0] == ESC {
                effect(unit)
            } else {
                Effect::None
            };
            match effect {
                Effect::Begin if hold && !self.is_synchronized => {
                    self.pass(&bytes[passed..start], sink);
                    passed = start;
                    self.is_synchronized = true;
                }
                Effect::End if self.is_synchronized => {
                    self.held_units(&bytes[passed..end], sink);
                    passed = end;
                }
                _ => {}
            }
            at = end;
        }
        if !self.is_synchronized {
            self.pass(&bytes[passed..self.complete], sink);
            passed = self.complete;
        }
        self.complete -= passed;
        passed
    }

    /// The end of the unit that is scanned up to `at`, if `bytes` has it.
    fn unit(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        let rest = &bytes[at..];
        if self.state == State::Ground && rest.first() != Some(&ESC) {
            let length = rest
                .iter()
                .position(|&byte| byte == ESC)
                .unwrap_or_else(|| whole_characters(rest));
            return (length > 0).then_some(at + length);
        }
        for (index, &byte) in rest.iter().enumerate() {
            self.state = self.state.after(byte);
            if self.state == State::Ground {
                return Some(at + index + 1);
            }
        }
        None
    }

    /// Passes on the units of a synchronized update that has ended.
    fn held_units(&mut self, units: &[u8], sink: &mut dyn FnMut(&[u8])) {
        self.is_synchronized = false;
        self.pass(units, sink);
    }

    fn pass(&mut self, units: &[u8], sink: &mut dyn FnMut(&[u8])) {
        if units.is_empty() {
            return;
        }
        sink(units);
    }

    /// Drops an incomplete unit that is too long, but for the controls in it that have their effect at once.
    fn give_up(&mut self, sink: &mut dyn FnMut(&[u8])) {
        let dropped = std::mem::take(&mut self.held);
        self.is_skipping = true;
        self.state = self.state.given_up();
        if self.state.executes_controls() {
            dropped
                .iter()
                .filter(|byte| is_executed(**byte))
                .for_each(|byte| sink(&[*byte]));
        }
    }

    /// Drops the rest of a unit that was given up; returns what comes after it.
    fn skip<'a>(&mut self, output: &'a [u8], sink: &mut dyn FnMut(&[u8])) -> &'a [u8] {
        for (index, &byte) in output.iter().enumerate() {
            if byte == ESC {
                self.is_skipping = false;
                self.state = State::Ground;
                return &output[index..];
            }
            if self.state.executes_controls() && is_executed(byte) {
                sink(&[byte]);
            }
            self.state = self.state.after(byte);
            if self.state == State::Ground {
                self.is_skipping = false;
                return &output[index + 1..];
            }
        }
        &[]
    }
}

/// The length of the sequence that output begins with, if it is complete.
pub(crate) fn unit_length(output: &[u8]) -> Option<usize> {
    if output.first() != Some(&ESC) {
        return None;
    }
    let mut state = State::Ground;
    for (index, &byte) in output.iter().enumerate() {
        state = state.after(byte);
        if state == State::Ground {
            return Some(index + 1);
        }
    }
    None
}

/// Whether a sequence begins a synchronized update.
pub(crate) fn begins_update(unit: &[u8]) -> bool {
    effect(unit) == Effect::Begin
}

/// What a sequence means to the scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    None,
    /// A synchronized update begins.
    Begin,
    /// A synchronized update ends.
    End,
}

/// The effect of a unit that begins with `ESC`.
fn effect(unit: &[u8]) -> Effect {
    let Some(&last) = unit.last().filter(|last| matches!(last, b'h' | b'l')) else {
        return Effect::None;
    };
    // A unit may hold an aborted sequence, or a string that the last one ends, before the last sequence.
    let start = unit.iter().rposition(|&byte| byte == ESC).unwrap_or(0);
    let sequence: Vec<u8> = unit[start..]
        .iter()
        .copied()
        .filter(|&byte| !is_executed(byte) && byte != DEL)
        .collect();
    let Some(body) = sequence.strip_prefix(b"\x1b[").and_then(|body| body.split_last()) else {
        return Effect::None;
    };
    let body = body.1;
    let is_number = |text: &[u8]| text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b':' | b';'));
    match (last, body.split_first()) {
        (b'h' | b'l', Some((b'?', modes))) if is_number(modes) => {
            let is_synchronized = modes.split(|&byte| byte == b';').any(|mode| mode == b"2026");
            match (is_synchronized, last) {
                (false, _) => Effect::None,
                (true, b'h') => Effect::Begin,
                (true, _) => Effect::End,
            }
        }
        _ => Effect::None,
    }
}

/// How much of a text at the end of the output is whole characters: all but a last one that may still become
/// valid UTF-8.
fn whole_characters(text: &[u8]) -> usize {
    for length in 1..=text.len().min(3) {
        let start = text.len() - length;
        if text[start] >= 0xC0 {
            let may_become =
                std::str::from_utf8(&text[start..]).is_err_and(|error| error.error_len().is_none());
            return if may_become { start } else { text.len() };
        }
        if text[start] < 0x80 {
            break;
        }
    }
    text.len()
}

/// A control that has its effect also inside a sequence.
fn is_executed(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, ESC | CAN | SUB)
}

const ESC: u8 = 0x1b;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const DEL: u8 = 0x7f;
/// How almost everybody ends a synchronized update.
const END: &[u8] = b"\x1b[?2026l";
/// Bytes of an incomplete sequence to keep; longer ones are images and the like, which no screen here shows.
const MAX_UNIT: usize = 64 * 1024;
/// Bytes of a synchronized update to hold back; less than a viewer is sent before it must acknowledge, since one
/// that draws with this scanner acknowledges what it has drawn.
const MAX_SYNCHRONIZED: usize = 256 * 1024;

#[cfg(test)]
mod tests;
