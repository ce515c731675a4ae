//! The registry's lock: std's; to the model checker, one whose holders it lets come in every order.

#[cfg(not(test))]
pub(super) use std::sync::{Mutex, MutexGuard};

#[cfg(test)]
pub(super) use self::checked::{Mutex, MutexGuard, check};

#[cfg(test)]
mod checked;
