//! Proofs that a principal has a scope.

use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;

use crate::error::Fault;
use crate::family::{Family, reaches};
use crate::marker::sealed::Sealed;
use crate::standing::{Epoch, Hold, Standing};
use crate::{GuestId, Principal, ResourceId, Scope, Sight};

/// Somebody who was authenticated, with the means to see that this still holds.
#[derive(Clone, Debug)]
pub struct Authenticated {
    principal: Principal,
    standing: Arc<Standing>,
    epoch: Epoch,
    /// By what the children of a principal inside of a resource are known.
    family: Option<Arc<dyn Family>>,
    /// What a guest may look at.
    sights: Option<Arc<[Sight]>>,
    withheld: &'static [Scope],
}

/// A scope as a type: see [`marker`](crate::marker).
pub trait PermitScope: Sealed {
    /// The scope as a value.
    const SCOPE: Scope;
}

/// Why there is no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The principal does not have the scope.
    #[error("this principal may not do that")]
    Scope(Scope),
    /// The principal has the scope, and not on this resource.
    #[error("this principal may not do that here")]
    Resource(Scope),
    /// The principal has the scope, and it is kept from it for now.
    #[error("this is kept from the principal for now")]
    Withheld(Scope),
    /// The principal was revoked, or its role changed, since it was authenticated.
    #[error("this authentication has ended")]
    Ended,
}

impl Authenticated {
    /// Somebody whom the caller has just authenticated as `principal`.
    #[must_use]
    pub fn new(principal: Principal, standing: Arc<Standing>) -> Self {
        let epoch = standing.epoch();
        Self {
            principal,
            standing,
            epoch,
            family: None,
            sights: None,
            withheld: &[],
        }
    }

    /// A program that the caller has just found to be inside of `resource`.
    #[must_use]
    pub fn inside(resource: ResourceId, standing: Arc<Standing>, family: Arc<dyn Family>) -> Self {
        Self {
            family: Some(family),
            ..Self::new(Principal::Session(resource), standing)
        }
    }

    /// A guest whom the caller has just authenticated.
    pub(crate) fn guest(id: GuestId, standing: Arc<Standing>, sights: Arc<[Sight]>) -> Self {
        Self {
            sights: Some(sights),
            ..Self::new(Principal::Guest(id), standing)
        }
    }

    /// The same, kept from these scopes.
    #[must_use]
    pub fn without(self, withheld: &'static [Scope]) -> Self {
        Self { withheld, ..self }
    }

    /// Somebody who showed no credential.
    #[must_use]
    pub fn nobody() -> Self {
        Self::new(Principal::Nobody, Standing::new())
    }

    /// Who it is.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The liveness that everything of this principal shares.
    #[must_use]
    pub fn standing(&self) -> &Arc<Standing> {
        &self.standing
    }

    /// Whether neither a revocation nor a change of role came since.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.standing.epoch() == self.epoch
    }

    /// Whether a permit for `scope` would be given.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn check(&self, scope: Scope) -> Result<(), Denied> {
        if !self.is_current() {
            return Err(Denied::Ended);
        }
        if !self.principal.allows(scope) {
            return Err(Denied::Scope(scope));
        }
        if self.withheld.contains(&scope) {
            return Err(Denied::Withheld(scope));
        }
        Ok(())
    }

    fn sight(&self, resource: &ResourceId) -> Option<&Sight> {
        let sights = self.sights.as_deref().unwrap_or_default();
        sights.iter().find(|sight| sight.resource == *resource)
    }

    /// Whether the principal's scope extends to the resource.
    fn reaches(&self, scope: Scope, resource: &ResourceId) -> bool {
        match &self.principal {
            Principal::Owner | Principal::Device { .. } => true,
            Principal::Session(own) => reaches(self.family.as_deref(), own, scope, resource),
            Principal::Guest(_) => scope == Scope::View && self.sight(resource).is_some(),
            Principal::Nobody => false,
        }
    }

    /// The only way to a permit. `resource` is what it shall be about; none stands for all that the principal sees.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn permit<S: PermitScope>(&self, resource: Option<ResourceId>) -> Result<Permit<S>, Denied> {
        self.check(S::SCOPE)?;
        if let Some(resource) = &resource
            && !self.reaches(S::SCOPE, resource)
        {
            return Err(Denied::Resource(S::SCOPE));
        }
        Ok(Permit {
            authenticated: self.clone(),
            resource,
            scope: PhantomData,
        })
    }
}

impl Denied {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Scope(_) | Self::Resource(_) | Self::Withheld(_) => "not_permitted",
            Self::Ended => "authentication_ended",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Scope(_) | Self::Resource(_) | Self::Withheld(_) => Fault::Permission,
            Self::Ended => Fault::Credential,
        }
    }
}

/// Proof that a principal has the scope `S`. It watches: see [`Permit::is_current`] and [`Permit::hold`].
pub struct Permit<S> {
    authenticated: Authenticated,
    resource: Option<ResourceId>,
    scope: PhantomData<fn() -> S>,
}

impl<S: PermitScope> Permit<S> {
    /// Who acts.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.authenticated.principal
    }

    /// Who acts, with its liveness.
    #[must_use]
    pub fn authenticated(&self) -> &Authenticated {
        &self.authenticated
    }

    /// What the permit is about; none stands for all that the principal sees.
    #[must_use]
    pub fn resource(&self) -> Option<&ResourceId> {
        self.resource.as_ref()
    }

    /// Whether the permit is good for this resource.
    #[must_use]
    pub fn covers(&self, resource: &ResourceId) -> bool {
        self.resource.as_ref().is_none_or(|own| own == resource)
            && self.authenticated.reaches(S::SCOPE, resource)
    }

    /// From which mark of the embedder's on the resource may be looked at; none where all of it may.
    #[must_use]
    pub fn since(&self, resource: &ResourceId) -> Option<u64> {
        self.authenticated.sight(resource).and_then(|sight| sight.since)
    }

    /// Whether neither a revocation nor a change of role came since it was given. For looking; before writing take a
    /// [`Permit::hold`].
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.authenticated.is_current()
    }

    /// The right to write now, if the permit is still current.
    pub fn hold(&self) -> Option<Hold> {
        self.authenticated.standing.hold(self.authenticated.epoch)
    }
}

impl<S> Clone for Permit<S> {
    fn clone(&self) -> Self {
        Self {
            authenticated: self.authenticated.clone(),
            resource: self.resource.clone(),
            scope: PhantomData,
        }
    }
}

impl<S: PermitScope> fmt::Debug for Permit<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("scope", &S::SCOPE)
            .field("principal", &self.authenticated.principal)
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Authenticated, Denied, Permit, PermitScope};
    use crate::family::Family;
    use crate::marker::{self, DeviceManage, Manage, View, Write};
    use crate::standing::Standing;
    use crate::{DeviceId, Fault, Principal, ResourceId, Role, Scope};
    use alloc::format;
    use alloc::sync::Arc;

    fn device(role: Role) -> Authenticated {
        let principal = Principal::Device {
            id: DeviceId::from_bytes([7; 8]),
            role,
            can_revoke: false,
        };
        Authenticated::new(principal, Standing::new())
    }

    #[test]
    fn a_viewer_gets_a_permit_to_look_and_none_to_type() {
        let viewer = device(Role::Viewer);
        assert!(viewer.permit::<View>(None).is_ok());
        assert_eq!(
            viewer.permit::<Write>(None).unwrap_err(),
            Denied::Scope(Scope::Write)
        );
        assert_eq!(
            viewer.permit::<Manage>(None).unwrap_err(),
            Denied::Scope(Scope::Manage)
        );
    }

    #[test]
    fn nobody_gets_no_permit() {
        let nobody = Authenticated::nobody();
        assert!(nobody.permit::<View>(None).is_err());
        assert_eq!(nobody.check(Scope::Public), Ok(()));
        assert_eq!(nobody.check(Scope::Any), Err(Denied::Scope(Scope::Any)));
    }

    #[test]
    fn a_permit_stops_being_current_when_the_standing_ends() {
        let operator = device(Role::Operator);
        let permit: Permit<Write> = operator.permit(None).unwrap();
        assert!(permit.is_current());
        assert!(permit.hold().is_some());
        operator.standing().end();
        assert!(!permit.is_current());
        assert!(permit.hold().is_none());
    }

    #[test]
    fn an_ended_authentication_gives_no_permit_even_for_what_it_could() {
        let operator = device(Role::Operator);
        operator.standing().end();
        assert_eq!(operator.permit::<View>(None).unwrap_err(), Denied::Ended);
    }

    #[test]
    fn a_copy_of_a_permit_ends_with_it() {
        let operator = device(Role::Operator);
        let copy = operator.permit::<Write>(None).unwrap().clone();
        operator.standing().end();
        assert!(copy.hold().is_none());
    }

    #[test]
    fn a_permit_about_one_resource_does_not_cover_another() {
        let resource = "ses_1".parse().unwrap();
        let permit = device(Role::Viewer)
            .permit::<View>(Some("ses_1".parse().unwrap()))
            .unwrap();
        assert_eq!(permit.resource(), Some(&resource));
        assert!(permit.covers(&resource));
        assert!(!permit.covers(&"ses_2".parse().unwrap()));
    }

    #[test]
    fn a_permit_without_a_resource_covers_all() {
        let permit = device(Role::Viewer).permit::<View>(None).unwrap();
        assert!(permit.covers(&"ses_2".parse().unwrap()));
    }

    /// `ses_2` was made from inside of `ses_1`.
    #[derive(Debug)]
    struct OneChild;

    impl Family for OneChild {
        fn descends(&self, resource: &ResourceId, ancestor: &ResourceId) -> bool {
            (resource.as_str(), ancestor.as_str()) == ("ses_2", "ses_1")
        }
    }

    fn inside() -> Authenticated {
        Authenticated::inside("ses_1".parse().unwrap(), Standing::new(), Arc::new(OneChild))
    }

    #[test]
    fn a_program_looks_at_its_own_and_its_children_and_acts_on_its_children_alone() {
        fn good_for<S: PermitScope>() -> [bool; 3] {
            ["ses_1", "ses_2", "ses_3"].map(|id| {
                let id: ResourceId = id.parse().unwrap();
                let named = inside().permit::<S>(Some(id.clone())).is_ok();
                assert_eq!(inside().permit::<S>(None).unwrap().covers(&id), named);
                named
            })
        }
        assert_eq!(good_for::<View>(), [true, true, false]);
        assert_eq!(good_for::<marker::Note>(), [true, true, false]);
        assert_eq!(good_for::<Write>(), [false, true, false]);
        assert_eq!(good_for::<Manage>(), [false, true, false]);
    }

    #[test]
    fn a_program_whose_children_are_not_known_has_none() {
        let alone = Authenticated::new(Principal::Session("ses_1".parse().unwrap()), Standing::new());
        let refused = alone.permit::<Write>(Some("ses_2".parse().unwrap())).unwrap_err();
        assert_eq!(refused, Denied::Resource(Scope::Write));
        assert_eq!(refused.fault(), Fault::Permission);
    }

    #[test]
    fn what_is_withheld_is_denied_although_the_principal_may() {
        let owner = Authenticated::new(Principal::Owner, Standing::new()).without(&[Scope::DeviceManage]);
        assert_eq!(
            owner.permit::<DeviceManage>(None).unwrap_err(),
            Denied::Withheld(Scope::DeviceManage)
        );
        assert!(owner.permit::<Manage>(None).is_ok());
    }

    #[test]
    fn a_permit_shows_scope_and_principal() {
        let owner = Authenticated::new(Principal::Owner, Standing::new());
        let permit = owner.permit::<DeviceManage>(None).unwrap();
        assert_eq!(permit.principal(), &Principal::Owner);
        assert_eq!(
            format!("{permit:?}"),
            "Permit { scope: DeviceManage, principal: Owner, resource: None, .. }"
        );
    }

    #[test]
    fn missing_rights_and_an_ended_authentication_are_kept_apart() {
        assert_eq!(Denied::Scope(Scope::Write).fault(), Fault::Permission);
        assert_eq!(Denied::Ended.fault(), Fault::Credential);
        assert_ne!(Denied::Scope(Scope::Write).code(), Denied::Ended.code());
    }

    #[test]
    fn permits_and_holds_go_from_thread_to_thread() {
        fn goes<T: Send + Sync + 'static>() {}
        goes::<Authenticated>();
        goes::<Permit<Write>>();
        goes::<crate::Hold>();
        goes::<crate::Authority>();
        goes::<crate::Devices>();
    }
}
