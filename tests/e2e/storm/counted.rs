//! Numbers in a row, a line each, of which pieces may be missing.

/// What somebody got of the lines `00000000`, `00000001`, and so on.
pub(super) struct Counted<'a> {
    text: &'a [u8],
}

impl<'a> Counted<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text }
    }

    /// Asserts that the lines of a terminal are whole up to the `end N` behind them, but for so many pieces; returns how
    /// many are missing.
    pub(super) fn assert_whole(&self, whose: &str, most: usize) -> usize {
        let text = String::from_utf8_lossy(self.text);
        let (numbers, end) = text.rsplit_once("end ").expect("it was counted to the end");
        let count = end.trim().parse().expect("the last number");
        Counted::new(numbers.as_bytes()).assert_pieces(whose, "\r\n", count, most)
    }

    /// The same of the lines of a file up to a number.
    pub(super) fn assert_whole_to(&self, whose: &str, count: u64, most: usize) -> usize {
        self.assert_pieces(whose, "\n", count, most)
    }

    fn assert_pieces(&self, whose: &str, end: &str, count: u64, most: usize) -> usize {
        let all: String = (0..count).map(|number| format!("{number:08}{end}")).collect();
        match gaps(self.text, all.as_bytes()) {
            Ok(gaps) => {
                assert!(
                    gaps <= most,
                    "{whose} misses {gaps} pieces where {most} may be missing"
                );
                gaps
            }
            Err(at) => panic!(
                "{whose} has something doubled, reordered or foreign at byte {at}: {:?}",
                String::from_utf8_lossy(&self.text[at.saturating_sub(60)..self.text.len().min(at + 60)])
            ),
        }
    }
}

/// How many pieces, each at most one read long, are missing; where it cannot be explained so.
fn gaps(text: &[u8], all: &[u8]) -> Result<usize, usize> {
    let (mut at, mut expected, mut gaps) = (0, 0, 0);
    loop {
        let same = text[at..].iter().zip(&all[expected..]);
        let same = same.take_while(|(left, right)| left == right).count();
        (at, expected) = (at + same, expected + same);
        if at == text.len() && expected == all.len() {
            return Ok(gaps);
        }
        // The first bytes behind a gap may be as those that are missing were.
        let (from, missing) = (0..=LINE.min(same))
            .flat_map(|back| (1..=READ).map(move |missing| (back, missing)))
            .find(|&(back, missing)| {
                let (at, after) = (at - back, expected - back + missing);
                let length = (text.len() - at).min(SURE);
                all.get(after..after + length) == Some(&text[at..at + length])
                    && (length == SURE || after + length == all.len())
            })
            .ok_or(at)?;
        (at, expected) = (at - from, expected - from + missing);
        gaps += 1;
    }
}

/// Bytes of a line at most.
const LINE: usize = 10;
/// Bytes that tell where they belong.
const SURE: usize = 3 * LINE;
/// Bytes of one read or write at most.
const READ: usize = 4096;

#[cfg(test)]
mod tests {
    use super::{READ, gaps};

    fn lines(numbers: std::ops::Range<u32>) -> Vec<u8> {
        numbers
            .flat_map(|number| format!("{number:08}\n").into_bytes())
            .collect()
    }

    #[test]
    fn missing_pieces_are_counted_and_all_else_is_seen() {
        let all = lines(0..2000);
        assert_eq!(gaps(&all, &all), Ok(0));
        let without = |from: usize, to: usize| [&all[..from], &all[to..]].concat();
        assert_eq!(gaps(&without(0, 9), &all), Ok(1));
        assert_eq!(gaps(&without(94, 1003), &all), Ok(1));
        assert_eq!(gaps(&without(all.len() - 7, all.len()), &all), Ok(1));
        assert!(gaps(&without(9, 9 + 2 * READ + 9), &all).is_err());
        let doubled = [&all[..900], &all[891..]].concat();
        assert!(gaps(&doubled, &all).is_err());
        let reordered = [&all[..90], &all[99..108], &all[90..99], &all[108..]].concat();
        assert!(gaps(&reordered, &all).is_err());
    }
}
