//! What was typed and is not confirmed yet.

use std::collections::VecDeque;

use protocol::attach::ClientMessage;

/// Input in the order in which it was typed, from the first that is not confirmed.
#[derive(Debug, Default)]
pub(super) struct Unconfirmed(VecDeque<(u64, Vec<u8>)>);

impl Unconfirmed {
    pub(super) fn push(&mut self, sequence: u64, bytes: Vec<u8>) {
        self.0.push_back((sequence, bytes));
    }

    /// Forgets what the program got.
    pub(super) fn confirm(&mut self, applied: u64) {
        while self.0.front().is_some_and(|(sequence, _)| *sequence <= applied) {
            self.0.pop_front();
        }
    }

    /// Forgets all of it; gives back how many keys that were.
    pub(super) fn give_up(&mut self) -> usize {
        let keys = self.keys();
        self.0.clear();
        keys
    }

    /// Whether all that was typed is confirmed.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many keys are not confirmed.
    pub(super) fn keys(&self) -> usize {
        self.0.iter().map(|(_, bytes)| keys(bytes)).sum()
    }

    /// The messages that type it again.
    pub(super) fn messages(&self) -> impl Iterator<Item = ClientMessage> {
        self.0.iter().map(|(sequence, bytes)| ClientMessage::Input {
            sequence: *sequence,
            bytes: bytes.clone(),
        })
    }
}

/// Keys in what a terminal sent: characters, and sequences as one.
fn keys(bytes: &[u8]) -> usize {
    let (mut count, mut rest) = (0, bytes);
    while let Some((first, after)) = rest.split_first() {
        rest = match (first, after) {
            (0x1b, [b'[' | b'O', tail @ ..]) => {
                let end = tail.iter().position(|byte| (0x40..=0x7e).contains(byte));
                end.map_or(&[], |end| &tail[end + 1..])
            }
            _ => after,
        };
        let is_rest_of_character = (0x80..0xc0).contains(first);
        count += usize::from(!is_rest_of_character);
    }
    count
}

#[cfg(test)]
mod tests {
    use protocol::attach::ClientMessage;

    use super::{Unconfirmed, keys};

    #[test]
    fn what_was_confirmed_is_not_typed_again() {
        let mut unconfirmed = Unconfirmed::default();
        for sequence in 1..=3 {
            unconfirmed.push(sequence, vec![b'a']);
        }
        unconfirmed.confirm(2);
        let again: Vec<_> = unconfirmed.messages().collect();
        assert_eq!(
            again,
            [ClientMessage::Input {
                sequence: 3,
                bytes: vec![b'a']
            }]
        );
        assert_eq!((unconfirmed.give_up(), unconfirmed.keys()), (1, 0));
    }

    #[test]
    fn keys_are_counted_not_bytes() {
        assert_eq!(keys(b"ls\r"), 3);
        assert_eq!(keys("é한".as_bytes()), 2);
        assert_eq!(keys(b"\x1b[A\x1bOP\x1b[1;5Cx"), 4);
    }
}
