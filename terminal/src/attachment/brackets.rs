//! Synchronized updates in a session's output (DECSET 2026), so that nobody is sent half a picture.

use std::time::{Duration, Instant};

use crate::offset::Offset;

/// Finds where an update begins and ends, in output cut anywhere.
#[derive(Debug, Default)]
pub(crate) struct Brackets {
    state: State,
    /// Where the sequence began that is being read.
    sequence: Offset,
    /// Where an update began that has not ended, and when that was seen.
    begun: Option<(Offset, Instant)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    Csi,
    /// In the parameters of a private mode.
    Private {
        number: u32,
        is_it: bool,
    },
}

impl Brackets {
    /// Takes in output that begins at the offset and came at `now`.
    pub(crate) fn feed(&mut self, at: Offset, output: &[u8], now: Instant) {
        let mut index = 0;
        while index < output.len() {
            if self.state == State::Ground {
                let rest = &output[index..];
                // Mostly there is none, and this looks at many bytes at a time.
                if !rest.contains(&ESCAPE) {
                    return;
                }
                let Some(next) = rest.iter().position(|byte| *byte == ESCAPE) else {
                    return;
                };
                index += next;
                self.sequence = at.plus(index);
                self.state = State::Escape;
            } else {
                self.step(output[index], at.plus(index), now);
            }
            index += 1;
        }
    }

    /// Up to where output may be sent at `now`, and when the rest may be at the latest; none if all may be.
    pub(crate) fn held(&self, now: Instant) -> Option<(Offset, Instant)> {
        let (offset, begun) = self.begun?;
        let until = begun + MAX_HELD;
        (now < until).then_some((offset, until))
    }

    fn step(&mut self, byte: u8, at: Offset, now: Instant) {
        self.state = match (self.state, byte) {
            (_, ESCAPE) => {
                self.sequence = at;
                State::Escape
            }
            (State::Escape, b'[') => State::Csi,
            (State::Csi, b'?') => State::Private {
                number: 0,
                is_it: false,
            },
            (State::Private { number, is_it }, b'0'..=b'9') => State::Private {
                number: number.saturating_mul(10).saturating_add(u32::from(byte - b'0')),
                is_it,
            },
            (State::Private { number, is_it }, b';') => State::Private {
                number: 0,
                is_it: is_it || number == SYNCHRONIZED,
            },
            (State::Private { number, is_it }, b'h' | b'l') => {
                if is_it || number == SYNCHRONIZED {
                    self.begun = (byte == b'h').then(|| self.begun.unwrap_or((self.sequence, now)));
                }
                State::Ground
            }
            _ => State::Ground,
        };
    }
}

/// How long an update may keep output back.
const MAX_HELD: Duration = Duration::from_millis(200);
const SYNCHRONIZED: u32 = 2026;
const ESCAPE: u8 = 0x1b;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Brackets;
    use crate::offset::Offset;

    fn held(output: &[u8], cut: usize) -> Option<u64> {
        let (now, mut brackets) = (Instant::now(), Brackets::default());
        let (one, other) = output.split_at(cut);
        brackets.feed(Offset(0), one, now);
        brackets.feed(Offset(cut as u64), other, now);
        brackets.held(now).map(|(offset, _)| offset.0)
    }

    #[test]
    fn an_update_holds_from_where_it_began_wherever_output_is_cut() {
        let cases: [(&[u8], Option<u64>); 6] = [
            (b"ab\x1b[?2026hcd", Some(2)),
            (b"ab\x1b[?2026hcd\x1b[?2026l", None),
            (b"\x1b[?2026ha\x1b[?2026lb\x1b[?2026hc", Some(18)),
            (b"a\x1b[?25;2026hb", Some(1)),
            (b"a\x1b[?20261hb\x1b[2026h\x1b[?2026$p", None),
            (b"\x1b\x1b[?2026h\x1b[?2026h", Some(1)),
        ];
        for (output, expected) in cases {
            for cut in 0..=output.len() {
                assert_eq!(held(output, cut), expected, "{output:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn an_update_that_does_not_end_holds_a_fifth_of_a_second() {
        let (now, mut brackets) = (Instant::now(), Brackets::default());
        brackets.feed(Offset(0), b"\x1b[?2026h", now);
        assert!(brackets.held(now + Duration::from_millis(199)).is_some());
        brackets.feed(Offset(8), b"more\x1b[?2026h", now + Duration::from_millis(199));
        assert!(brackets.held(now + Duration::from_millis(200)).is_none());
    }
}
