//! What a principal that got no permit is told.

use std::fmt;

use pairing::{Denied, Principal, Scope};

use super::Failure;

/// What a principal may not, and whom to turn to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MayNot {
    sentence: &'static str,
    hint: &'static str,
}

impl MayNot {
    /// What to do now.
    pub(super) fn hint(self) -> &'static str {
        self.hint
    }
}

impl fmt::Display for MayNot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.sentence)
    }
}

impl Failure {
    /// A principal got no permit.
    pub fn denied(denied: Denied, principal: &Principal) -> Self {
        let scope = match denied {
            Denied::Scope(scope) | Denied::Resource(scope) => scope,
            Denied::Withheld(_) => return Self::Withheld,
            Denied::Ended => return Self::Ended,
        };
        if let Principal::Session(session) = principal {
            return Self::NotFromInside {
                session: session.to_string(),
                may_not: match scope {
                    Scope::View => "sees itself and the sessions that were started from it",
                    Scope::Note => "leaves notes on itself and on the sessions that were started from it",
                    Scope::Write | Scope::Manage => "acts on the sessions alone that were started from it",
                    _ => "is not the owner",
                },
            };
        }
        let sentence = match scope {
            Scope::View => "this principal may not look at this",
            Scope::Write => "this principal may only look, not type",
            Scope::Manage => "this principal may only look, not create, stop or change",
            Scope::Note => "this principal may only look, not leave a note",
            Scope::DeviceList | Scope::DeviceRevoke | Scope::Lockdown => {
                "this needs a device that may revoke others"
            }
            Scope::MetricsView => "this needs a device that was added to read metrics",
            Scope::OwnRecord => "this is about a device's own record, and this principal is no device",
            Scope::Public | Scope::Any => "this principal may not do this",
            Scope::DeviceManage
            | Scope::GuestManage
            | Scope::AuditView
            | Scope::DaemonManage
            | Scope::LiftLockdown => "only the owner may do this, on the machine itself",
        };
        // Nobody is to be sent to themselves.
        let hint = match principal {
            Principal::Owner => "ask as a device, or name one that `transom devices` lists",
            _ => "ask the owner",
        };
        Self::NotPermitted(MayNot { sentence, hint })
    }
}
