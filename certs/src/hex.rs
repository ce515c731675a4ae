//! Bytes as people compare them and files keep them.

use std::fmt::Write;

/// Lower-case hexadecimal digits, two for each byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes any text");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn each_byte_is_two_digits() {
        assert_eq!(hex(&[0x00, 0x0f, 0xa0]), "000fa0");
    }
}
