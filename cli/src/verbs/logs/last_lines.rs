//! Where the last lines of an output begin.

use protocol::sessions::{Output, OutputQuery, Session};

use crate::{
    client::{Client, with_query},
    failure::Failure,
};

/// The offset of the first byte of the last `lines` lines, or the oldest that is kept.
pub(super) async fn begin(client: &Client, session: &Session, lines: u64) -> Result<u64, Failure> {
    let mut search = Search::new(session.end, lines);
    loop {
        let (from, limit) = match search.next() {
            Step::Found(offset) => return Ok(offset),
            Step::Read { from, limit } => (from, limit),
        };
        let query = OutputQuery {
            from: Some(from),
            limit: Some(limit),
        };
        let path = with_query(&format!("/sessions/{}/output", session.id), &query);
        let piece: Output = client.get(&path).await?;
        search.take(piece.offset, &piece.data.0);
    }
}

/// Looks for the beginning from the end backwards.
struct Search {
    end: u64,
    /// Everything from here on is searched.
    searched: u64,
    /// Newlines still to find.
    missing: u64,
    found: Option<u64>,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Read { from: u64, limit: u64 },
    Found(u64),
}

impl Search {
    fn new(end: u64, lines: u64) -> Self {
        Self {
            end,
            searched: end,
            missing: lines,
            found: (lines == 0 || end == 0).then_some(end),
        }
    }

    fn next(&self) -> Step {
        match self.found {
            Some(offset) => Step::Found(offset),
            None => {
                let from = self.searched.saturating_sub(PIECE);
                Step::Read {
                    from,
                    limit: self.searched - from,
                }
            }
        }
    }

    /// Takes what was read: it may begin later than wanted, where older bytes are gone.
    fn take(&mut self, offset: u64, bytes: &[u8]) {
        let wanted = self.searched.saturating_sub(PIECE);
        for (index, byte) in bytes.iter().enumerate().rev() {
            let at = offset + index as u64;
            // The newline at the very end ends the last line, and begins none.
            if *byte == b'\n' && at + 1 < self.end {
                self.missing -= 1;
                if self.missing == 0 {
                    self.found = Some(at + 1);
                    return;
                }
            }
        }
        if offset > wanted || wanted == 0 {
            self.found = Some(offset.min(self.end));
        }
        self.searched = wanted;
    }
}

/// Bytes of one question.
const PIECE: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::{Search, Step};

    fn begin(output: &[u8], kept_from: usize, lines: u64) -> usize {
        let mut search = Search::new(output.len() as u64, lines);
        loop {
            match search.next() {
                Step::Found(offset) => return usize::try_from(offset).unwrap(),
                Step::Read { from, limit } => {
                    let to = usize::try_from(from + limit).unwrap();
                    let from = usize::try_from(from).unwrap().max(kept_from).min(to);
                    search.take(from as u64, &output[from..to]);
                }
            }
        }
    }

    #[test]
    fn the_last_lines_are_found_with_and_without_a_newline_at_the_end() {
        assert_eq!(begin(b"one\ntwo\nthree\n", 0, 2), 4);
        assert_eq!(begin(b"one\ntwo\nthree", 0, 2), 4);
        assert_eq!(begin(b"one\ntwo\n\n", 0, 1), 8);
        assert_eq!(begin(b"one", 0, 1), 0);
    }

    #[test]
    fn more_lines_than_there_are_is_all_and_none_is_nothing() {
        assert_eq!(begin(b"one\ntwo\n", 0, 9), 0);
        assert_eq!(begin(b"one\ntwo\n", 0, 0), 8);
        assert_eq!(begin(b"", 0, 3), 0);
    }

    #[test]
    fn what_is_gone_is_not_looked_for() {
        assert_eq!(begin(b"one\ntwo\nthree\n", 6, 9), 6);
        assert_eq!(begin(b"one\ntwo\n", 8, 9), 8);
    }

    #[test]
    fn lines_longer_than_a_piece_are_found() {
        let mut output = vec![b'x'; 200_000];
        output[10] = b'\n';
        output[150_000] = b'\n';
        assert_eq!(begin(&output, 0, 1), 150_001);
        assert_eq!(begin(&output, 0, 2), 11);
        assert_eq!(begin(&output, 0, 3), 0);
    }
}
