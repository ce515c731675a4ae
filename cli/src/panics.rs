//! Panics in a terminal that was taken over.

use std::{panic, sync::Once};

/// Has the terminal given back before a panic's message, which should be readable, also where the unwinding is caught
/// elsewhere. Each `once` does so once, however often it is asked.
pub(crate) fn restore_before(once: &'static Once, restore: fn()) {
    once.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            report(info);
        }));
    });
}
