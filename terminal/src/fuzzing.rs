//! What the fuzz targets feed of this crate and nobody else calls.

/// Reads the bytes as each kind of message between daemon, keeper and reaper, and as the plan of a program that the keeper is handed.
///
/// # Panics
/// Where what is read is written in another way than it was.
pub fn keeper(bytes: &[u8]) {
    crate::keeper::read_any(bytes);
}
