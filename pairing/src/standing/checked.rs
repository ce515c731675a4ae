//! The word of a standing under test: the processor's, or one that the model checker orders.

use core::sync::atomic::Ordering;
use std::cell::Cell;
use std::thread_local;

/// core's, or loom's where it was made in a model.
#[derive(Debug)]
pub(super) enum AtomicU64 {
    Core(core::sync::atomic::AtomicU64),
    Loom(loom::sync::atomic::AtomicU64),
}

/// Runs a model in every order of its threads that takes at most two of them off the processor, with every value that their
/// memory may show them.
pub(super) fn check(model: impl Fn() + Send + Sync + 'static) {
    IN_MODEL.set(true);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
    IN_MODEL.set(false);
}

macro_rules! as_either {
    ($self:ident, $word:ident => $do:expr) => {
        match $self {
            Self::Core($word) => $do,
            Self::Loom($word) => $do,
        }
    };
}

impl AtomicU64 {
    pub(super) fn new(value: u64) -> Self {
        if IN_MODEL.get() {
            Self::Loom(loom::sync::atomic::AtomicU64::new(value))
        } else {
            Self::Core(core::sync::atomic::AtomicU64::new(value))
        }
    }

    pub(super) fn load(&self, order: Ordering) -> u64 {
        as_either!(self, word => word.load(order))
    }

    pub(super) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        as_either!(self, word => word.fetch_add(value, order))
    }

    pub(super) fn fetch_sub(&self, value: u64, order: Ordering) -> u64 {
        as_either!(self, word => word.fetch_sub(value, order))
    }

    pub(super) fn fetch_update(
        &self,
        set: Ordering,
        fetch: Ordering,
        update: impl FnMut(u64) -> Option<u64>,
    ) -> Result<u64, u64> {
        as_either!(self, word => word.fetch_update(set, fetch, update))
    }
}

impl Default for AtomicU64 {
    fn default() -> Self {
        Self::new(0)
    }
}

thread_local! {
    /// All threads of a model are one of the system's.
    static IN_MODEL: Cell<bool> = const { Cell::new(false) };
}
