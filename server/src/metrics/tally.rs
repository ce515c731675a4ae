//! What is counted as it happens; all else is read where it stands.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// How often what happened, by its name, since the start of the daemon. Of names there are as many as the program has words for
/// them.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<BTreeMap<&'static str, u64>>);

impl Tally {
    /// Counts it once more.
    pub(crate) fn count(&self, name: &'static str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(name).or_default();
        *count = count.saturating_add(1);
    }

    /// How often.
    pub(crate) fn of(&self, name: &str) -> u64 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(name).copied().unwrap_or(0)
    }

    /// All that ever happened.
    pub(crate) fn all(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn each_name_is_counted_on_its_own() {
        let tally = Tally::default();
        for name in ["a", "b", "a"] {
            tally.count(name);
        }
        assert_eq!((tally.of("a"), tally.of("b"), tally.of("c")), (2, 1, 0));
        assert_eq!(tally.all().len(), 2);
    }
}
