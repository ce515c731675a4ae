//! Challenges: none but the one that was made is good, and not in another way of writing it.

use std::{convert::Infallible, sync::LazyLock, time::Duration};

use pairing::{Generation, Proofs, UnixMillis};
use rand_core::{TryCryptoRng, TryRng};

pub(crate) fn run(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    let proofs = proofs();
    let opened = proofs.open(text, GENERATION, at(Duration::ZERO));
    assert_eq!(opened.is_ok(), text == *MADE);
    // Elsewhere and later it is not.
    let elsewhere = Generation(GENERATION.0 + 1);
    assert!(proofs.open(text, elsewhere, at(Duration::ZERO)).is_err());
    assert!(proofs.open(text, GENERATION, at(A_DAY)).is_err());
}

/// The challenge that is good.
static MADE: LazyLock<String> = LazyLock::new(|| {
    let made = proofs().challenge(GENERATION, at(Duration::ZERO), &mut Counting(7));
    made.to_string()
});

/// Proofs whose key everybody knows, so that the corpus holds a challenge that is good.
fn proofs() -> Proofs {
    Proofs::new(&mut Counting(0))
}

/// So long after it was made.
fn at(later: Duration) -> UnixMillis {
    NOW.plus(later)
}

/// No generator but the same bytes each time.
struct Counting(u8);

impl TryRng for Counting {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_be_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, target: &mut [u8]) -> Result<(), Infallible> {
        for byte in target {
            self.0 = self.0.wrapping_add(1);
            *byte = self.0;
        }
        Ok(())
    }
}

impl TryCryptoRng for Counting {}

const GENERATION: Generation = Generation(1);
const NOW: UnixMillis = UnixMillis(1_790_000_000_000);
const A_DAY: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpus_holds_the_one_that_is_good() {
        assert_eq!(*super::MADE, include_str!("../../corpus/challenge/good"));
    }
}
