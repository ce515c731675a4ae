//! Random orders of everything that happens to devices, against a model of three maps.

use super::IDLE;
use crate::marker::View;
use crate::testing::{at, device, token, token_key};
use crate::{
    AuthError, Authenticated, Device, DeviceId, Devices, EndCause, Permit, Principal, Role, UnixMillis,
};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};

#[derive(Clone, Debug)]
enum Step {
    Add { n: u8, lifetime: Option<i64> },
    Authenticate(u8),
    SetRole(u8, bool),
    Revoke { by: Option<u8>, n: u8 },
    Touch(u8),
    Pass(i64),
    Expire,
}

/// What is true of one device that ever lived.
#[derive(Clone, Copy)]
struct Truth {
    role: Role,
    ends: Option<i64>,
    seen: i64,
    /// How and at which second.
    ended: Option<(EndCause, i64)>,
}

#[derive(Default)]
struct Model {
    second: i64,
    devices: BTreeMap<u8, Truth>,
    /// Each permit with the device and role that it was given for.
    permits: Vec<(u8, Role, Permit<View>)>,
}

impl Model {
    fn now(&self) -> UnixMillis {
        at(self.second)
    }

    fn is_over(&self, truth: Truth) -> bool {
        let idle_end = truth.seen + i64::try_from(IDLE.as_secs()).unwrap();
        self.second >= truth.ends.map_or(idle_end, |end| end.min(idle_end))
    }

    fn expected(&self, n: u8) -> Result<Role, AuthError> {
        let truth = *self.devices.get(&n).ok_or(AuthError::Unknown)?;
        match truth.ended {
            Some((_, at)) if self.second - at > 90 * 86_400 => Err(AuthError::Unknown),
            Some((EndCause::Revoked, _)) => Err(AuthError::Revoked),
            Some((EndCause::Expired, _)) => Err(AuthError::Expired),
            None if self.is_over(truth) => Err(AuthError::Expired),
            None => Ok(truth.role),
        }
    }

    fn take(&mut self, devices: &mut Devices, step: &Step) {
        let now = self.now();
        match *step {
            Step::Add { n, lifetime } => {
                let ends = lifetime.map(|seconds| self.second + seconds);
                let added = devices.add(Device {
                    created: now,
                    expires_at: ends.map(at),
                    ..device(n)
                });
                assert_eq!(
                    added,
                    !self.devices.contains_key(&n),
                    "a device came back, or did not come"
                );
                let truth = Truth {
                    role: Role::Viewer,
                    ends,
                    seen: self.second,
                    ended: None,
                };
                self.devices.entry(n).or_insert(truth);
            }
            Step::Authenticate(n) => {
                if let Ok(who) = devices.authenticate(&token(n), &token_key(), now) {
                    let permit = who.authenticated.permit(None).unwrap();
                    self.permits.push((n, self.devices[&n].role, permit));
                }
            }
            Step::SetRole(n, operator) => {
                let role = if operator { Role::Operator } else { Role::Viewer };
                if devices.set_role(id(n), role).is_ok() {
                    self.devices.get_mut(&n).unwrap().role = role;
                    self.permits.retain(|(m, held, permit)| {
                        let stale = *m == n && *held != role;
                        assert!(!stale || !permit.is_current(), "a permit outlived its role");
                        !stale
                    });
                }
            }
            Step::Revoke { by, n } => self.revoke(devices, by, n),
            Step::Touch(n) => {
                if devices.touch(id(n), "192.0.2.1", now).is_some() {
                    self.devices.get_mut(&n).unwrap().seen = self.second;
                }
            }
            Step::Pass(seconds) => self.second += seconds,
            Step::Expire => {
                for over in devices.expire(now) {
                    self.devices.get_mut(&over.device.id.as_bytes()[0]).unwrap().ended =
                        Some((EndCause::Expired, self.second));
                    assert!(over.standing.is_quiet());
                }
            }
        }
    }

    /// None of these devices may revoke others, so only the owner and the device itself can.
    fn revoke(&mut self, devices: &mut Devices, by: Option<u8>, n: u8) {
        let principal = by.map_or(Principal::Owner, |by| device(by).principal());
        let revoked = devices.revoke(&principal, id(n), self.now()).is_ok();
        assert!(!revoked || by.is_none_or(|by| by == n), "a device ended another");
        if revoked {
            self.devices.get_mut(&n).unwrap().ended = Some((EndCause::Revoked, self.second));
        }
    }

    fn check(&self, devices: &Devices) {
        for n in 0..4 {
            let found = devices.authenticate(&token(n), &token_key(), self.now());
            assert_eq!(found.map(|who| role(&who.authenticated)), self.expected(n));
        }
        for (n, _, permit) in &self.permits {
            assert_eq!(permit.is_current(), self.devices[n].ended.is_none());
            assert_eq!(permit.hold().is_some(), permit.is_current());
        }
    }
}

fn id(n: u8) -> DeviceId {
    DeviceId::from_bytes([n; 8])
}

fn role(who: &Authenticated) -> Role {
    match who.principal() {
        Principal::Device { role, .. } => *role,
        other => panic!("{other:?}"),
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = 0..4_u8;
    let step = prop_oneof![
        (n.clone(), proptest::option::of(1..200_i64)).prop_map(|(n, lifetime)| Step::Add { n, lifetime }),
        n.clone().prop_map(Step::Authenticate),
        (n.clone(), any::<bool>()).prop_map(|(n, operator)| Step::SetRole(n, operator)),
        (proptest::option::of(n.clone()), n.clone()).prop_map(|(by, n)| Step::Revoke { by, n }),
        n.prop_map(Step::Touch),
        prop_oneof![8 => 1..100_i64, 1 => Just(40 * 86_400)].prop_map(Step::Pass),
        Just(Step::Expire),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest::proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn in_any_order_a_token_opens_its_device_until_that_ends_and_never_again(steps in steps()) {
        let mut devices = Devices::new(IDLE);
        let mut model = Model::default();
        for step in &steps {
            model.take(&mut devices, step);
            model.check(&devices);
        }
    }
}
