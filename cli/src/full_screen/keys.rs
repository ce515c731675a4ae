//! Keys in what a terminal sends.

/// The keys of the table in these bytes, in a row; what is in no table is passed over.
pub(crate) fn keys<K: Copy>(mut bytes: &[u8], table: &[(&[u8], K)]) -> Vec<K> {
    let mut keys = Vec::new();
    while !bytes.is_empty() {
        let known = table.iter().find(|(sequence, _)| bytes.starts_with(sequence));
        if let Some((sequence, key)) = known {
            keys.push(*key);
            bytes = &bytes[sequence.len()..];
        } else {
            bytes = &bytes[unknown(bytes)..];
        }
    }
    keys
}

/// How long the first key is that means nothing here: letters within a sequence are no keys.
fn unknown(bytes: &[u8]) -> usize {
    let [0x1b, b'[' | b'O', rest @ ..] = bytes else {
        return 1;
    };
    let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte));
    end.map_or(bytes.len(), |end| end + 3)
}

#[cfg(test)]
mod tests {
    use super::keys;

    const TABLE: [(&[u8], char); 3] = [(b"q", 'q'), (b"j", 'j'), (b"\x1b[A", 'A')];

    #[test]
    fn keys_are_known_alone_and_in_a_row() {
        assert_eq!(keys(b"q", &TABLE), ['q']);
        assert_eq!(keys(b"jx\x1b[Aq", &TABLE), ['j', 'A', 'q']);
    }

    #[test]
    fn letters_within_other_sequences_are_no_keys() {
        assert_eq!(keys(b"\x1b[1;5q\x1bOq\x1b[<35;4;4M", &TABLE), [] as [char; 0]);
        assert_eq!(keys(b"x\x1b[200~", &TABLE), [] as [char; 0]);
        assert_eq!(keys(b"\x1b", &TABLE), [] as [char; 0]);
    }
}
