//! The one source of random numbers: the operating system's.

use rand::{Rng, rand_core::UnwrapErr, rngs::SysRng};

/// A generator for ids, secrets and keys. It panics where the system has no randomness to give: nothing could go on.
pub fn rng() -> UnwrapErr<SysRng> {
    UnwrapErr(SysRng)
}

/// Random bytes, for ids that are no secrets of the access layer's own.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rng().fill_bytes(&mut bytes);
    bytes
}
