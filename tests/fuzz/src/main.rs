//! libFuzzer around the target that `FUZZ_TARGET` names; its arguments are libFuzzer's.

#![no_main]

use std::sync::LazyLock;

use fuzz::Target;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| (CHOSEN.run)(bytes));

static CHOSEN: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    fuzz::target(&name).unwrap_or_else(|| panic!("FUZZ_TARGET names no target: {name:?}"))
});
