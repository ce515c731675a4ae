use std::{
    cell::Cell,
    ops::{Deref, DerefMut},
    sync::{LockResult, PoisonError},
};

/// std's, or loom's where it was made in a model.
pub(crate) enum Mutex<T> {
    Std(std::sync::Mutex<T>),
    Loom(loom::sync::Mutex<T>),
}

pub(crate) enum MutexGuard<'a, T> {
    Std(std::sync::MutexGuard<'a, T>),
    Loom(loom::sync::MutexGuard<'a, T>),
}

/// Runs a model in every order of its threads that takes at most three of them off the processor.
pub(crate) fn check(model: impl Fn() + Send + Sync + 'static) {
    IN_MODEL.set(true);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
    IN_MODEL.set(false);
}

impl<T> Mutex<T> {
    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        match self {
            Self::Std(mutex) => wrapped(mutex.lock(), MutexGuard::Std),
            Self::Loom(mutex) => wrapped(mutex.lock(), MutexGuard::Loom),
        }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        if IN_MODEL.get() {
            Self::Loom(loom::sync::Mutex::new(T::default()))
        } else {
            Self::Std(std::sync::Mutex::default())
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Std(guard) => guard,
            Self::Loom(guard) => guard,
        }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match self {
            Self::Std(guard) => guard,
            Self::Loom(guard) => guard,
        }
    }
}

fn wrapped<G, H>(locked: LockResult<G>, wrap: impl Fn(G) -> H) -> LockResult<H> {
    locked
        .map(&wrap)
        .map_err(|poisoned| PoisonError::new(wrap(poisoned.into_inner())))
}

thread_local! {
    /// All threads of a model are one of the system's.
    static IN_MODEL: Cell<bool> = const { Cell::new(false) };
}
