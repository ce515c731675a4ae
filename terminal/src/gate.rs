//! Whether somebody may type, asked again before every single write.

/// The right to type into a session, as the access layer gave it: it can end at any moment.
///
/// Every queued input carries its writer's gate. The session asks it directly before each `write(2)`, so input
/// that was queued before a revocation and not yet delivered is never delivered.
pub trait Gate: Send + Sync {
    /// Runs `write`, which does not block, while the right is held, and returns `true`; or returns `false`
    /// without having run it. A revocation waits for a `write` that runs.
    fn pass(&self, write: &mut dyn FnMut()) -> bool;
}
