//! Which resources were made from inside of which.

use core::fmt;

use crate::{ResourceId, Scope};

/// Knows the resources' descent; the embedder's, as it makes them. What it does not know descends from nothing.
pub trait Family: fmt::Debug + Send + Sync {
    /// Whether `resource` was made from inside of `ancestor`, or of something that was.
    fn descends(&self, resource: &ResourceId, ancestor: &ResourceId) -> bool;
}

/// Whether a program inside of `own` has the scope on `resource`: it looks at itself and its children, and acts on its children.
pub(crate) fn reaches(
    family: Option<&dyn Family>,
    own: &ResourceId,
    scope: Scope,
    resource: &ResourceId,
) -> bool {
    let is_child = || family.is_some_and(|family| family.descends(resource, own));
    match scope {
        Scope::View | Scope::Note => resource == own || is_child(),
        Scope::Write | Scope::Manage => resource != own && is_child(),
        _ => false,
    }
}
