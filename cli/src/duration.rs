//! Spans of time as people write and read them.

use std::time::Duration;

use jiff::Timestamp;

/// Seconds of a span such as `90d`, `12h`, `30m` or `45s`.
///
/// # Errors
/// A sentence that says what is taken.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let digits = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor);
    let seconds = number
        .parse::<u64>()
        .ok()
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor));
    match seconds {
        Some(seconds) if seconds > 0 => Ok(seconds),
        _ => Err("a span is a number with a unit: 45s, 30m, 12h, 90d or 2w".to_owned()),
    }
}

/// A span that may also be in milliseconds: `500ms`, `2s`, `30m`.
///
/// # Errors
/// A sentence that says what is taken.
pub(crate) fn parse_fine(text: &str) -> Result<Duration, String> {
    let Some(number) = text.strip_suffix("ms") else {
        return parse(text).map(Duration::from_secs).map_err(|_| FINE.to_owned());
    };
    match number.parse::<u64>() {
        Ok(milliseconds) if milliseconds > 0 => Ok(Duration::from_millis(milliseconds)),
        _ => Err(FINE.to_owned()),
    }
}

/// How long before `now` it was, in its largest unit: `12s`, `5m`, `3h`, `2d`.
pub(crate) fn since(then: Timestamp, now: Timestamp) -> String {
    brief(now.as_second() - then.as_second())
}

/// How long after `now` it will be, in its largest unit.
pub(crate) fn until(then: Timestamp, now: Timestamp) -> String {
    brief(then.as_second() - now.as_second())
}

/// How long after `now` it will be, in hours, the last of which has begun.
pub(crate) fn hours_until(then: Timestamp, now: Timestamp) -> String {
    let seconds = u64::try_from(then.as_second() - now.as_second()).unwrap_or_default();
    match seconds.div_ceil(3_600) {
        1 => "1 hour".to_owned(),
        hours => format!("{hours} hours"),
    }
}

fn brief(seconds: i64) -> String {
    let seconds = u64::try_from(seconds).unwrap_or_default();
    let (unit, factor) = UNITS[..DAYS]
        .iter()
        .rev()
        .find(|(_, factor)| seconds >= *factor)
        .unwrap_or(&UNITS[0]);
    format!("{}{unit}", seconds / factor)
}

/// Units and their seconds, smallest first.
const UNITS: [(&str, u64); 5] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800)];
/// What is taken where milliseconds are.
const FINE: &str = "a span is a number with a unit: 500ms, 45s, 30m or 12h";
/// Weeks are understood, and never shown: a span in days is easier to compare.
const DAYS: usize = 4;

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use std::time::Duration;

    use super::{hours_until, parse, parse_fine, since};

    #[test]
    fn a_fine_span_may_be_in_milliseconds() {
        assert_eq!(parse_fine("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_fine("2s"), Ok(Duration::from_secs(2)));
        for text in ["ms", "0ms", "-1ms", "1.5ms", "2"] {
            assert!(parse_fine(text).is_err(), "{text}");
        }
        assert!(parse_fine("1x").unwrap_err().contains("500ms"));
    }

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        assert_eq!(parse("90d"), Ok(7_776_000));
        assert_eq!(parse("45s"), Ok(45));
        assert_eq!(parse("2w"), Ok(1_209_600));
    }

    #[test]
    fn anything_else_is_no_span() {
        for text in [
            "",
            "90",
            "d",
            "-1d",
            "1.5h",
            "1y",
            "0s",
            "99999999999999999999d",
            "9999999999999999w",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_to_come_is_said_in_hours_that_have_begun() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (seconds, said) in [
            (86_400, "24 hours"),
            (86_399, "24 hours"),
            (3_601, "2 hours"),
            (59, "1 hour"),
        ] {
            assert_eq!(hours_until(at(seconds), at(0)), said);
        }
    }

    #[test]
    fn a_time_is_shown_in_its_largest_unit_and_never_as_negative() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (seconds, shown) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (7_300, "2h"),
            (900_000, "10d"),
            (-5, "0s"),
        ] {
            assert_eq!(since(at(1_000_000), at(1_000_000 + seconds)), shown);
        }
    }
}
