//! What counting programs printed: eight digits a line, each line one more than the last.

/// Where lines do not follow each other, and how many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seams {
    /// Whole lines with a number.
    pub(crate) lines: u64,
    /// Places where something is missing.
    pub(crate) seams: u64,
    /// Numbers that are missing there.
    pub(crate) missing: u64,
    /// The number that would come next, if there was one.
    pub(crate) next: Option<u64>,
}

/// Reads lines of numbers that only grow, from where those before them ended. A piece may be missing, and what is left of its first
/// and last line then makes one line.
///
/// # Errors
/// Where a number comes again, or after a higher one.
pub(crate) fn read(text: &[u8], mut next: Option<u64>) -> Result<Seams, String> {
    let mut seen = Seams::default();
    let mut lines = text
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
        .map(number)
        .peekable();
    while let Some(line) = lines.next() {
        let follows = |number: &u64| next.is_none_or(|next| *number >= next);
        // Of two lines that grew together any number can come; what is behind them is behind the gap.
        let is_lone = lines
            .peek()
            .is_none_or(|behind| behind.is_none_or(|behind| next.is_none_or(|next| behind > next)));
        match line {
            Some(number) if follows(&number) => {
                seen.lines += 1;
                seen.seams += u64::from(next.is_some_and(|next| number > next));
                seen.missing += next.map_or(0, |next| number - next);
                next = Some(number + 1);
            }
            Some(number) if !is_lone => {
                return Err(format!("{number:08} comes after {:08}", next.unwrap_or_default()));
            }
            _ => seen.seams += 1,
        }
    }
    seen.next = next;
    Ok(seen)
}

fn number(line: &[u8]) -> Option<u64> {
    let digits = line.trim_ascii_end();
    let is_number = digits.len() == 8 && digits.iter().all(u8::is_ascii_digit);
    is_number
        .then(|| std::str::from_utf8(digits).ok()?.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::{Seams, read};

    fn lines(numbers: impl Iterator<Item = u64>) -> String {
        numbers.map(|number| format!("{number:08}\r\n")).collect()
    }

    #[test]
    fn what_is_missing_is_counted_and_what_is_doubled_or_reordered_is_found() {
        let all = lines(0..200);
        let whole = Seams {
            lines: 200,
            next: Some(200),
            ..Seams::default()
        };
        assert_eq!(read(all.as_bytes(), Some(0)), Ok(whole));
        let without = |from: usize, to: usize| [&all[..from], &all[to..]].concat();
        let gap = read(without(100, 200).as_bytes(), None).unwrap();
        assert_eq!((gap.seams, gap.missing), (1, 10));
        // The seam's own line, and the step behind it.
        let torn = read(without(103, 307).as_bytes(), None).unwrap();
        assert_eq!((torn.seams, torn.missing), (2, 21));
        let late = read(&all.as_bytes()[50..], Some(0)).unwrap();
        assert_eq!((late.seams, late.missing), (1, 5));
        assert!(read(all.as_bytes(), Some(1)).is_err(), "it came before");
        let doubled = lines((0..100).chain(90..200));
        assert!(read(doubled.as_bytes(), None).is_err());
        let twice = lines((0..100).chain(99..200));
        assert!(read(twice.as_bytes(), None).is_err());
        let reordered = lines((0..50).chain(60..70).chain(50..60).chain(70..80));
        assert!(read(reordered.as_bytes(), None).is_err());
    }
}
