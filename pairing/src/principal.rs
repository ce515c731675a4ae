//! The result of authentication.

use crate::{DeviceId, GuestId, ResourceId, Role, Scope};

/// Who somebody turned out to be. All decisions start here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The local user, proven by the Unix socket. Alone may approve.
    Owner,
    /// A program inside a resource, which therefore is not the owner.
    Session(ResourceId),
    /// A paired device.
    Device {
        /// Which.
        id: DeviceId,
        /// What it may do with resources.
        role: Role,
        /// Whether it may also list and end devices.
        can_revoke: bool,
    },
    /// Somebody invited to look at named resources until a time.
    Guest(GuestId),
    /// Everybody else, local or remote.
    Nobody,
}

impl Principal {
    /// Whether the table of principals and scopes says yes. What it does not name is denied.
    ///
    /// A program inside a resource has its scopes on that and its children only, and a guest on named resources only: on which,
    /// their permits say.
    #[must_use]
    pub fn allows(&self, scope: Scope) -> bool {
        match self {
            Self::Owner => scope != Scope::OwnRecord,
            Self::Device { role, can_revoke, .. } => device_allows(*role, *can_revoke, scope),
            Self::Guest(_) => matches!(scope, Scope::Public | Scope::Any | Scope::View | Scope::OwnRecord),
            Self::Session(_) => matches!(scope, Scope::Public | Scope::Any) || scope.is_about_resource(),
            Self::Nobody => scope == Scope::Public,
        }
    }

    /// The device, if it is one.
    #[must_use]
    pub fn device_id(&self) -> Option<DeviceId> {
        match self {
            Self::Device { id, .. } => Some(*id),
            Self::Owner | Self::Session(_) | Self::Guest(_) | Self::Nobody => None,
        }
    }
}

fn device_allows(role: Role, can_revoke: bool, scope: Scope) -> bool {
    if role == Role::Metrics {
        return matches!(scope, Scope::Public | Scope::MetricsView);
    }
    match scope {
        Scope::Public | Scope::Any | Scope::View | Scope::OwnRecord => true,
        Scope::Write | Scope::Manage | Scope::Note => role == Role::Operator,
        Scope::DeviceList | Scope::DeviceRevoke | Scope::Lockdown => can_revoke,
        Scope::DeviceManage
        | Scope::GuestManage
        | Scope::AuditView
        | Scope::DaemonManage
        | Scope::MetricsView
        | Scope::LiftLockdown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Principal;
    use crate::{DeviceId, GuestId, Role, Scope};
    use alloc::string::String;

    fn device(role: Role, can_revoke: bool) -> Principal {
        Principal::Device {
            id: DeviceId::from_bytes([1; 8]),
            role,
            can_revoke,
        }
    }

    /// The row of one principal: a `y` or `-` for each of [`Scope::ALL`].
    fn row(principal: &Principal) -> String {
        Scope::ALL
            .iter()
            .map(|scope| if principal.allows(*scope) { 'y' } else { '-' })
            .collect()
    }

    // public any view write manage note self list revoke devices guests audit daemon metrics lockdown lift
    #[test]
    fn each_principal_has_exactly_the_scopes_of_the_table() {
        let session = Principal::Session("ses_0000000000000001".parse().unwrap());
        assert_eq!(row(&Principal::Owner), "yyyyyy-yyyyyyyyy");
        assert_eq!(row(&device(Role::Operator, false)), "yyyyyyy---------");
        assert_eq!(row(&device(Role::Operator, true)), "yyyyyyyyy-----y-");
        assert_eq!(row(&device(Role::Viewer, false)), "yyy---y---------");
        assert_eq!(row(&device(Role::Viewer, true)), "yyy---yyy-----y-");
        assert_eq!(row(&device(Role::Metrics, false)), "y------------y--");
        assert_eq!(
            row(&Principal::Guest(GuestId::from_bytes([1; 8]))),
            "yyy---y---------"
        );
        assert_eq!(row(&session), "yyyyyy----------");
        assert_eq!(row(&Principal::Nobody), "y---------------");
    }

    #[test]
    fn only_the_owner_may_approve_invite_or_lift_the_lockdown() {
        for scope in [Scope::DeviceManage, Scope::GuestManage, Scope::LiftLockdown] {
            assert!(Principal::Owner.allows(scope));
            assert!(!device(Role::Operator, true).allows(scope));
        }
    }

    #[test]
    fn a_device_is_found_in_its_principal_only() {
        assert_eq!(
            device(Role::Viewer, false).device_id(),
            Some(DeviceId::from_bytes([1; 8]))
        );
        assert_eq!(Principal::Owner.device_id(), None);
        assert_eq!(Principal::Nobody.device_id(), None);
    }
}
