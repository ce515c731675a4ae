//! Medians and percentiles.

/// The middle of the values.
pub(crate) fn median(values: &[f64]) -> f64 {
    percentile(values, 50)
}

/// The value that so many per cent of the values do not exceed; not a number where there are none.
pub(crate) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// The tail that the samples can tell: p99 of at least 1,000, else the maximum; with its name.
pub(crate) fn tail(values: &[f64]) -> (&'static str, f64) {
    if values.len() >= ENOUGH_FOR_P99 {
        ("p99", percentile(values, 99))
    } else {
        ("max", percentile(values, 100))
    }
}

/// How often each target is measured, in turns.
pub(crate) const ROUNDS: usize = 5;

const ENOUGH_FOR_P99: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::{median, percentile, tail};

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(median(&values), 50.0);
        assert_eq!(percentile(&values, 99), 99.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn fewer_than_a_thousand_samples_have_a_maximum_and_no_p99() {
        assert_eq!(tail(&[1.0, 9.0, 2.0]), ("max", 9.0));
        let many: Vec<f64> = (0..1_000).map(f64::from).collect();
        assert_eq!(tail(&many), ("p99", 989.0));
    }
}
