//! One type for each scope, so that a permit can say in its type what it permits.

use crate::Scope;
use crate::permit::PermitScope;

pub(crate) mod sealed {
    /// Keeps [`PermitScope`](crate::PermitScope) closed: a scope outside the table cannot be permitted.
    pub trait Sealed {}
}

macro_rules! markers {
    ($($name:ident)*) => {$(
        #[doc = concat!("Stands for [`Scope::", stringify!($name), "`] in a [`Permit`](crate::Permit).")]
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl sealed::Sealed for $name {}

        impl PermitScope for $name {
            const SCOPE: Scope = Scope::$name;
        }
    )*};
}

markers! {
    Any View Write Manage Note OwnRecord DeviceList DeviceRevoke DeviceManage GuestManage AuditView
    DaemonManage MetricsView Lockdown LiftLockdown
}
