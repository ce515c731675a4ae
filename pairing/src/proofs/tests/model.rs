//! Any order of challenges, proofs, revocations, changes of role and time against a small model: a token opens exactly the
//! device that proved its key, on the listener where it did, until the first thing that ends it; a challenge gives one.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use proptest::prelude::*;

use super::{World, id, own, signed};
use crate::proofs::Place;
use crate::testing::at;
use crate::{AccessToken, AuthError, ChallengeError, Generation, Principal, ProofError, Role, UnixMillis};

#[derive(Clone, Debug)]
enum Step {
    Pass(i64),
    Challenge(u64),
    Prove {
        n: u8,
        challenge: usize,
        generation: u64,
    },
    Revoke(u8),
    SetRole(u8, bool),
    EndAll,
}

struct Given {
    text: String,
    ends: UnixMillis,
    generation: u64,
    is_used: bool,
}

struct Opened {
    token: AccessToken,
    n: u8,
    made: UnixMillis,
    generation: u64,
    /// How often everything of the device had ended by then.
    ends: u32,
}

#[derive(Clone, Copy)]
struct Truth {
    is_revoked: bool,
    role: Role,
    ends: u32,
}

struct Model {
    world: World,
    second: i64,
    challenges: Vec<Given>,
    tokens: Vec<Opened>,
    devices: [Truth; 2],
}

fn place(generation: u64) -> Place<'static> {
    Place {
        generation: Generation(generation),
        tailnet: None,
    }
}

impl Model {
    fn new() -> Self {
        let fresh = Truth {
            is_revoked: false,
            role: Role::Viewer,
            ends: 0,
        };
        Self {
            world: World::new(),
            second: 0,
            challenges: Vec::new(),
            tokens: Vec::new(),
            devices: [fresh; 2],
        }
    }

    fn now(&self) -> UnixMillis {
        at(self.second)
    }

    fn device(&mut self, n: u8) -> &mut Truth {
        &mut self.devices[usize::from(n) - 1]
    }

    fn give(&mut self, text: &str, lives: u64, generation: u64) {
        self.challenges.push(Given {
            text: text.to_string(),
            ends: self.now().plus(Duration::from_secs(lives)),
            generation,
            is_used: false,
        });
    }

    fn step(&mut self, step: Step) {
        let now = self.now();
        match step {
            Step::Pass(seconds) => self.second += seconds,
            Step::Challenge(generation) => {
                let World { proofs, rng, .. } = &mut self.world;
                let made = proofs.challenge(Generation(generation), now, rng);
                self.give(made.as_str(), 60, generation);
            }
            Step::Prove {
                n,
                challenge,
                generation,
            } => self.prove(n, challenge, generation),
            Step::Revoke(n) => {
                let revoked = self.world.devices.revoke(&Principal::Owner, id(n), now);
                assert_eq!(revoked.is_err(), self.device(n).is_revoked);
                self.device(n).is_revoked = true;
            }
            Step::SetRole(n, operator) => {
                let role = if operator { Role::Operator } else { Role::Viewer };
                if self.world.devices.set_role(id(n), role).is_ok() && self.device(n).role != role {
                    self.device(n).role = role;
                    self.device(n).ends += 1;
                }
            }
            Step::EndAll => {
                self.world.devices.end_authentications();
                self.devices.iter_mut().for_each(|truth| truth.ends += 1);
            }
        }
    }

    fn prove(&mut self, n: u8, challenge: usize, generation: u64) {
        if self.challenges.is_empty() {
            return;
        }
        let challenge = challenge % self.challenges.len();
        let now = self.now();
        let expected = self.expected_proof(n, challenge, generation);
        let given = &mut self.challenges[challenge];
        let text = given.text.clone();
        given.is_used |= expected.is_ok();
        let signature = signed(n, &text, &own(), n);
        let granted = self
            .world
            .show(n, &text, &own(), &signature, &place(generation), now);
        match granted {
            Ok(granted) => {
                assert_eq!(expected, Ok(()));
                self.give(granted.challenge.as_str(), 960, generation);
                let ends = self.device(n).ends;
                self.tokens.push(Opened {
                    token: granted.token,
                    n,
                    made: now,
                    generation,
                    ends,
                });
            }
            Err(refused) => assert_eq!(expected, Err(refused)),
        }
    }

    fn expected_proof(&self, n: u8, challenge: usize, generation: u64) -> Result<(), ProofError> {
        let given = &self.challenges[challenge];
        if self.devices[usize::from(n) - 1].is_revoked {
            return Err(AuthError::Revoked.into());
        }
        let refused = if given.generation != generation {
            ChallengeError::Foreign
        } else if given.ends <= self.now() {
            ChallengeError::Expired
        } else if given.is_used {
            ChallengeError::Used
        } else {
            return Ok(());
        };
        Err(refused.into())
    }

    fn check(&mut self) {
        let now = self.now();
        for opened in &self.tokens {
            let truth = self.devices[usize::from(opened.n) - 1];
            for generation in 1..3 {
                let found = self
                    .world
                    .opened(&opened.token, &place(generation), now)
                    .map(|who| who.principal().clone());
                let expected = if now.since(opened.made) >= Duration::from_secs(900) {
                    Err(AuthError::AccessEnded)
                } else if truth.is_revoked {
                    Err(AuthError::Revoked)
                } else if opened.generation != generation || opened.ends != truth.ends {
                    Err(AuthError::AccessEnded)
                } else {
                    Ok(Principal::Device {
                        id: id(opened.n),
                        role: truth.role,
                        can_revoke: false,
                    })
                };
                assert_eq!(found, expected);
            }
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = 1..3_u8;
    let prove = (n.clone(), 0..40_usize, 1..3_u64);
    let step = prop_oneof![
        4 => prop_oneof![0..70_i64, 0..1_000_i64].prop_map(Step::Pass),
        6 => (1..3_u64).prop_map(Step::Challenge),
        12 => prove.prop_map(|(n, challenge, generation)| Step::Prove { n, challenge, generation }),
        1 => n.clone().prop_map(Step::Revoke),
        2 => (n, any::<bool>()).prop_map(|(n, operator)| Step::SetRole(n, operator)),
        1 => Just(Step::EndAll),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_token_opens_what_was_proven_where_it_was_proven_and_until_the_first_end(steps in steps()) {
        let mut model = Model::new();
        for step in steps {
            model.step(step);
            model.check();
        }
    }
}
