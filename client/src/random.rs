//! Random bytes of the system's.

use ring::rand::{SecureRandom, SystemRandom};

use crate::error::Error;

/// So many of them.
///
/// # Errors
/// Where the system gives none.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(_) => Err(Error::NoRandomness("no number could be drawn")),
    }
}
