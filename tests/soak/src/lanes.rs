//! Those who act at the same time, each by a script of its own, which its seed alone decides.

pub(crate) mod breaker;
pub(crate) mod guests;
pub(crate) mod people;
pub(crate) mod sessions;
pub(crate) mod typists;
pub(crate) mod viewers;
pub(crate) mod watcher;
