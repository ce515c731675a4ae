//! Synchronized updates in a session's output (DECSET 2026), so that nobody is sent half a picture.

use std::time::{Duration, Instant};

use crate::offset::Offset;

/// Finds where an update begins and ends, in output cut anywhere.
#[derive(Debug, Default)]
pub(crate) struct Brackets {
    /// The last bytes of the output so far.
    last: [u8; 2],
    /// The parameters of a private mode that is being read.
    mode: Option<Private>,
    /// Where an update began that has not ended, and when that was seen.
    begun: Option<(Offset, Instant)>,
}

#[derive(Debug, Clone, Copy)]
struct Private {
    /// Where its sequence began.
    at: Offset,
    number: u32,
    is_it: bool,
}

impl Brackets {
    /// Takes in output that begins at the offset and came at `now`.
    pub(crate) fn feed(&mut self, at: Offset, output: &[u8], now: Instant) {
        let mut index = 0;
        while index < output.len() {
            if self.mode.is_some() {
                self.step(output[index], now);
                index += 1;
                continue;
            }
            // Few sequences have one, and text seldom does: this looks at many bytes at a time.
            let Some(found) = memchr::memchr(b'?', &output[index..]) else {
                break;
            };
            index += found;
            let before = match index {
                0 => self.last,
                1 => [self.last[1], output[0]],
                _ => [output[index - 2], output[index - 1]],
            };
            self.mode = (before == *b"\x1b[").then(|| Private {
                at: at.plus(index).minus(2),
                number: 0,
                is_it: false,
            });
            index += 1;
        }
        self.last = match output {
            [] => self.last,
            [only] => [self.last[1], *only],
            [.., one, other] => [*one, *other],
        };
    }

    /// Up to where output may be sent at `now`, and when the rest may be at the latest; none if all may be.
    pub(crate) fn held(&self, now: Instant) -> Option<(Offset, Instant)> {
        let (offset, begun) = self.begun?;
        let until = begun + MAX_HELD;
        (now < until).then_some((offset, until))
    }

    fn step(&mut self, byte: u8, now: Instant) {
        let Some(Private { at, number, is_it }) = self.mode else {
            return;
        };
        self.mode = match byte {
            b'0'..=b'9' => Some(Private {
                at,
                number: number.saturating_mul(10).saturating_add(u32::from(byte - b'0')),
                is_it,
            }),
            b';' => Some(Private {
                at,
                number: 0,
                is_it: is_it || number == SYNCHRONIZED,
            }),
            b'h' | b'l' if is_it || number == SYNCHRONIZED => {
                self.begun = (byte == b'h').then(|| self.begun.unwrap_or((at, now)));
                None
            }
            _ => None,
        };
    }
}

/// How long an update may keep output back.
const MAX_HELD: Duration = Duration::from_millis(200);
const SYNCHRONIZED: u32 = 2026;

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
