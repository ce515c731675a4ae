//! How much of a client's input the terminal has taken, to the byte.

/// Whole messages, and bytes of the one after them with the form in which they were typed; as one number, so that it is remembered as one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Progress(pub(super) u64);

/// Where a piece of input stands in what its client sends: bytes `from..` of a message of `length` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) sequence: u64,
    pub(super) from: usize,
    pub(super) length: usize,
    /// Whether the message is typed as a paste in brackets (DECSET 2004): its bytes count in that form.
    pub(super) in_brackets: bool,
}

impl Progress {
    /// The last message that was taken whole.
    pub(super) fn messages(self) -> u64 {
        self.0 >> BITS
    }

    /// Whether the part of this message that was taken was typed in brackets; none where no part of it was, or all.
    pub(super) fn form_of(self, sequence: u64) -> Option<bool> {
        let is_partly_taken = self.messages() + 1 == sequence && self.bytes() > 0;
        is_partly_taken.then_some(self.0 & IN_BRACKETS != 0)
    }

    fn bytes(self) -> usize {
        (self.0 & BYTES) as usize
    }
}

impl Place {
    /// The progress once the first `taken` bytes of the piece are with the terminal.
    pub(super) fn after(self, taken: usize) -> Progress {
        let bytes = self.from + taken;
        if bytes >= self.length {
            return Progress(self.sequence << BITS);
        }
        let form = if self.in_brackets && bytes > 0 {
            IN_BRACKETS
        } else {
            0
        };
        Progress((self.sequence.saturating_sub(1) << BITS) | form | bytes as u64)
    }

    /// How many of the piece's bytes the terminal has already, at most `piece`.
    pub(super) fn taken(self, piece: usize, progress: Progress) -> usize {
        let whole = progress.messages();
        if whole >= self.sequence {
            return piece;
        }
        if whole + 1 < self.sequence {
            return 0;
        }
        progress.bytes().saturating_sub(self.from).min(piece)
    }
}

/// The highest sequence that input may carry.
pub(super) const MAX_SEQUENCE: u64 = (1 << (64 - BITS)) - 1;
/// Bytes of one message at most.
pub(super) const MAX_LENGTH: usize = BYTES as usize;
/// Bits for the message that is taken in part, its form and its bytes; the rest count messages, more than anybody types.
const BITS: u32 = 24;
const IN_BRACKETS: u64 = 1 << (BITS - 1);
const BYTES: u64 = IN_BRACKETS - 1;

#[cfg(test)]
mod tests {
    use super::{Place, Progress};

    fn place(sequence: u64, from: usize, length: usize) -> Place {
        Place {
            sequence,
            from,
            length,
            in_brackets: false,
        }
    }

    #[test]
    fn a_part_of_a_message_keeps_the_form_in_which_it_was_typed() {
        let paste = Place {
            in_brackets: true,
            ..place(3, 0, 20)
        };
        assert_eq!(paste.after(0).form_of(3), None);
        assert_eq!(paste.after(8).form_of(3), Some(true));
        assert_eq!(paste.after(8).form_of(4), None);
        assert_eq!(paste.after(20).form_of(4), None);
        assert_eq!(place(3, 0, 20).after(8).form_of(3), Some(false));
        assert_eq!(paste.taken(20, paste.after(8)), 8);
        assert_eq!(paste.after(8).messages(), 2);
        assert!(paste.after(8) < paste.after(9) && paste.after(19) < paste.after(20));
    }

    #[test]
    fn what_was_taken_is_not_taken_again() {
        let whole = place(3, 0, 10);
        assert_eq!(whole.taken(10, Progress::default()), 0);
        assert_eq!(whole.taken(10, place(2, 0, 5).after(5)), 0);
        assert_eq!(whole.taken(10, whole.after(4)), 4);
        assert_eq!(whole.taken(10, whole.after(10)), 10);
        assert_eq!(whole.taken(10, place(7, 0, 1).after(1)), 10);
    }

    #[test]
    fn a_piece_knows_its_part_of_a_message_taken_in_part() {
        let second = place(3, 6, 10);
        assert_eq!(second.taken(4, place(3, 0, 10).after(6)), 0);
        assert_eq!(second.taken(4, place(3, 0, 10).after(8)), 2);
        assert_eq!(second.after(4).messages(), 3);
        assert_eq!(second.after(3).messages(), 2);
    }

    #[test]
    fn progress_grows_with_each_byte() {
        let steps = [
            place(1, 0, 2).after(1),
            place(1, 0, 2).after(2),
            place(2, 0, 9).after(8),
            place(2, 8, 9).after(1),
        ];
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");
    }
}
