//! One module per target.

pub(crate) mod attach;
pub(crate) mod challenge;
pub(crate) mod code;
pub(crate) mod fragment;
pub(crate) mod gate;
pub(crate) mod keeper;
pub(crate) mod label;
pub(crate) mod proof;
pub(crate) mod screen;
pub(crate) mod token;

/// The bytes as text; what is none reaches no parser of texts.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
