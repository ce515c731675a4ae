//! Random bytes of the system's (urandom(4)).

use std::{
    fs::File,
    io::{self, Read},
};

/// So many of them.
///
/// # Errors
/// Where the system gives none.
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
