//! Pairing codes.

use pairing::PairingCode;

pub(crate) fn run(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    if let Ok(code) = text.parse::<PairingCode>() {
        assert!(
            [code.to_string(), code.grouped()]
                .iter()
                .any(|shown| shown == text)
        );
        assert_eq!(code.grouped().parse(), Ok(code));
    }
}
