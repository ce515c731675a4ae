//! What a route may require.

use alloc::borrow::Cow;
use alloc::format;

/// One thing that a route may require. [`Scope::View`], [`Scope::Write`], [`Scope::Manage`] and [`Scope::Note`] are
/// about a resource of the embedder's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Open to everybody, authenticated or not.
    Public,
    /// Open to everybody who is somebody.
    Any,
    /// Look at a resource.
    View,
    /// Type into a resource.
    Write,
    /// Create, stop, rename, delete a resource.
    Manage,
    /// Leave a line on a resource.
    Note,
    /// A device's or guest's own record and connections.
    OwnRecord,
    /// Names of devices.
    DeviceList,
    /// End a device.
    DeviceRevoke,
    /// Offers, approvals, roles, full records.
    DeviceManage,
    /// Invite, list and end guests.
    GuestManage,
    /// Read the audit trail.
    AuditView,
    /// Status, reload, shutdown, certificates.
    DaemonManage,
    /// Read metrics.
    MetricsView,
    /// Close every remote way in.
    Lockdown,
    /// Open them again.
    LiftLockdown,
}

impl Scope {
    /// Every scope, for tables and tests.
    pub const ALL: [Self; 16] = [
        Self::Public,
        Self::Any,
        Self::View,
        Self::Write,
        Self::Manage,
        Self::Note,
        Self::OwnRecord,
        Self::DeviceList,
        Self::DeviceRevoke,
        Self::DeviceManage,
        Self::GuestManage,
        Self::AuditView,
        Self::DaemonManage,
        Self::MetricsView,
        Self::Lockdown,
        Self::LiftLockdown,
    ];

    /// The name on the wire. `noun` is what the embedder calls its resources: with `session` the scope
    /// [`Scope::View`] is `session:view`.
    #[must_use]
    pub fn name(self, noun: &str) -> Cow<'static, str> {
        let fixed = match self {
            Self::View => return format!("{noun}:view").into(),
            Self::Write => return format!("{noun}:write").into(),
            Self::Manage => return format!("{noun}:manage").into(),
            Self::Note => return format!("{noun}:note").into(),
            Self::Public => "public",
            Self::Any => "any",
            Self::OwnRecord => "self",
            Self::DeviceList => "device:list",
            Self::DeviceRevoke => "device:revoke",
            Self::DeviceManage => "device:manage",
            Self::GuestManage => "guest:manage",
            Self::AuditView => "audit:view",
            Self::DaemonManage => "daemon:manage",
            Self::MetricsView => "metrics:view",
            Self::Lockdown => "lockdown",
            Self::LiftLockdown => "lockdown:lift",
        };
        Cow::Borrowed(fixed)
    }

    /// Whether the scope is about the embedder's resources.
    #[must_use]
    pub const fn is_about_resource(self) -> bool {
        matches!(self, Self::View | Self::Write | Self::Manage | Self::Note)
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;
    use alloc::collections::BTreeSet;

    #[test]
    fn the_verbs_take_the_noun_of_the_embedder() {
        assert_eq!(Scope::View.name("session"), "session:view");
        assert_eq!(Scope::Write.name("document"), "document:write");
        assert_eq!(Scope::Manage.name("session"), "session:manage");
        assert_eq!(Scope::Note.name("session"), "session:note");
    }

    #[test]
    fn other_names_do_not_depend_on_the_noun() {
        for scope in Scope::ALL.into_iter().filter(|scope| !scope.is_about_resource()) {
            assert_eq!(scope.name("a"), scope.name("b"));
        }
    }

    #[test]
    fn every_scope_has_its_own_name() {
        let names: BTreeSet<_> = Scope::ALL.iter().map(|scope| scope.name("session")).collect();
        assert_eq!(names.len(), Scope::ALL.len());
    }
}
