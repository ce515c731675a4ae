mod access;
mod model;

use super::{Granted, Place, Proof, Proofs};
use crate::testing::{HashSignatures, SeededRng, at, device, key, sign, token, token_key};
use crate::{
    AccessToken, Audience, AuthError, Authenticated, Challenge, ChallengeError, Device, DeviceId, Devices,
    Fault, Generation, OpenChallenge, ProofCheck, ProofError, ShownProof, TailnetIdentity, UnixMillis,
    proof_text,
};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

/// A daemon with devices 1 to 3, of which 3 is bound to node `n3`.
struct World {
    devices: Devices,
    proofs: Proofs,
    rng: SeededRng,
}

fn id(n: u8) -> DeviceId {
    DeviceId::from_bytes([n; 8])
}

fn node(name: &str) -> TailnetIdentity {
    TailnetIdentity {
        user_id: "u".into(),
        user: "alice".into(),
        node_id: name.into(),
        node: name.into(),
        tags: [].into(),
    }
}

fn place(tailnet: Option<&TailnetIdentity>) -> Place<'_> {
    Place {
        generation: Generation(1),
        tailnet,
    }
}

fn own() -> Audience {
    "origin:https://localhost:7300".parse().unwrap()
}

fn signed(by: u8, challenge: &str, audience: &Audience, of: u8) -> Vec<u8> {
    sign(
        key(by).as_bytes(),
        proof_text(challenge, audience, id(of)).as_bytes(),
    )
}

impl World {
    fn new() -> Self {
        let bound = Device {
            tailnet: Some(node("n3")),
            ..device(3)
        };
        let mut rng = SeededRng::new(5);
        Self {
            devices: Devices::load(
                [device(1), device(2), bound],
                [],
                Duration::from_secs(90 * 86_400),
            ),
            proofs: Proofs::new(&mut rng),
            rng,
        }
    }

    fn challenge(&mut self, now: UnixMillis) -> Challenge {
        self.proofs.challenge(Generation(1), now, &mut self.rng)
    }

    /// Proves with any text as the challenge, and any signature.
    fn show(
        &mut self,
        n: u8,
        challenge: &str,
        audience: &Audience,
        signature: &[u8],
        place: &Place<'_>,
        now: UnixMillis,
    ) -> Result<Granted, ProofError> {
        let holder = self.devices.authenticate(&token(n), &token_key(), now)?;
        let challenge = self.proofs.open(challenge, place.generation, now)?;
        let accepts = |audience: &Audience| *audience == own();
        let check = ProofCheck {
            verifier: &HashSignatures,
            accepts: &accepts,
        };
        let proof = holder.prove(challenge, ShownProof { audience, signature }, check, place)?;
        Ok(self.proofs.claim(proof, now)?.grant(&mut self.rng))
    }

    /// The good proof of device `n` for a challenge that was read.
    fn proof_of(&self, n: u8, challenge: OpenChallenge) -> Proof {
        let holder = self.devices.authenticate(&token(n), &token_key(), at(0)).unwrap();
        let signature = signed(n, &challenge.text, &own(), n);
        let shown = ShownProof {
            audience: &own(),
            signature: &signature,
        };
        let check = ProofCheck {
            verifier: &HashSignatures,
            accepts: &|_| true,
        };
        holder.prove(challenge, shown, check, &place(None)).unwrap()
    }

    /// Proves as device `n` itself does.
    fn prove(&mut self, n: u8, challenge: &str, now: UnixMillis) -> Result<Granted, ProofError> {
        let signature = signed(n, challenge, &own(), n);
        self.show(n, challenge, &own(), &signature, &place(None), now)
    }

    fn opened(
        &mut self,
        token: &AccessToken,
        place: &Place<'_>,
        now: UnixMillis,
    ) -> Result<Authenticated, AuthError> {
        self.proofs.authenticate(token, &self.devices, place, now)?.1
    }

    fn granted(&mut self, n: u8, now: UnixMillis) -> Granted {
        let challenge = self.challenge(now);
        self.prove(n, challenge.as_str(), now).unwrap()
    }
}

#[test]
fn a_proof_of_the_key_gives_a_token_for_fifteen_minutes_that_is_the_device() {
    let mut world = World::new();
    let granted = world.granted(1, at(0));
    assert_eq!(granted.expires_in, Duration::from_secs(900));
    let who = world.opened(&granted.token, &place(None), at(0)).unwrap();
    assert_eq!(who.principal().device_id(), Some(id(1)));
    assert!(granted.token.reveal().starts_with("tsm_acc_"));
}

#[test]
fn a_token_without_the_key_opens_nothing_and_a_key_without_its_token_neither() {
    let mut world = World::new();
    let holder = world
        .devices
        .authenticate(&token(1), &token_key(), at(0))
        .unwrap();
    assert_eq!(holder.as_bearer(None).unwrap_err(), AuthError::ProofRequired);
    let challenge = world.challenge(at(0));
    let text = challenge.as_str();
    // The key of 1, and the token of 2: whomever the signature names.
    for of in [1, 2] {
        let signature = signed(1, text, &own(), of);
        let shown = world.show(2, text, &own(), &signature, &place(None), at(0));
        assert_eq!(shown.unwrap_err(), ProofError::BadSignature);
    }
    // A failed try does not use the challenge up.
    assert!(world.prove(2, text, at(0)).is_ok());
}

#[test]
fn a_challenge_is_proven_once_and_within_sixty_seconds() {
    let mut world = World::new();
    let challenge = world.challenge(at(0));
    assert!(world.prove(1, challenge.as_str(), at(59)).is_ok());
    let again = world.prove(1, challenge.as_str(), at(59)).unwrap_err();
    assert_eq!(again, ProofError::Challenge(ChallengeError::Used));
    let late = world.challenge(at(59));
    let late = world.prove(1, late.as_str(), at(59 + 60)).unwrap_err();
    assert_eq!(late, ProofError::Challenge(ChallengeError::Expired));
    assert_eq!(late.fault(), Fault::Credential);
}

#[test]
fn a_signature_for_another_audience_gives_nothing() {
    let mut world = World::new();
    let challenge = world.challenge(at(0));
    let text = challenge.as_str();
    let relay: Audience = "origin:https://localhost:9999".parse().unwrap();
    // A relay that passes on what its victim signed for it.
    let signature = signed(1, text, &relay, 1);
    let passed_on = world.show(1, text, &relay, &signature, &place(None), at(0));
    assert_eq!(passed_on.unwrap_err(), ProofError::WrongAudience);
    let renamed = world.show(1, text, &own(), &signature, &place(None), at(0));
    assert_eq!(renamed.unwrap_err(), ProofError::BadSignature);
}

#[test]
fn a_signature_for_pairing_is_no_proof() {
    let mut world = World::new();
    let challenge = world.challenge(at(0));
    let text = challenge.as_str();
    let pairing = crate::pair_text(crate::RequestId::from_bytes([1; 8]), text, &own());
    let signature = sign(key(1).as_bytes(), pairing.as_bytes());
    let shown = world.show(1, text, &own(), &signature, &place(None), at(0));
    assert_eq!(shown.unwrap_err(), ProofError::BadSignature);
}

#[test]
fn a_renewal_needs_no_more_than_the_last_answer_as_long_as_its_token_lives() {
    let mut world = World::new();
    let first = world.granted(1, at(0));
    let second = world.prove(1, first.challenge.as_str(), at(899)).unwrap();
    let third = world.prove(1, second.challenge.as_str(), at(899 + 959)).unwrap();
    let late = world.prove(1, third.challenge.as_str(), at(899 + 959 + 960));
    assert_eq!(late.unwrap_err(), ProofError::Challenge(ChallengeError::Expired));
}

#[test]
fn twenty_renewals_at_once_all_succeed_and_end_nothing() {
    let mut world = World::new();
    let challenges: Vec<_> = (0..20).map(|_| world.challenge(at(0))).collect();
    let granted: Vec<_> = challenges
        .iter()
        .map(|challenge| world.prove(1, challenge.as_str(), at(1)).unwrap())
        .collect();
    for one in &granted {
        assert!(world.opened(&one.token, &place(None), at(2)).is_ok());
    }
}

#[test]
fn a_device_without_a_key_has_nothing_to_prove() {
    let mut world = World::new();
    world.devices.add(Device {
        public_key: None,
        ..device(9)
    });
    let challenge = world.challenge(at(0));
    assert_eq!(
        world.prove(9, challenge.as_str(), at(0)).unwrap_err(),
        ProofError::NoKey
    );
}

#[test]
fn a_bound_device_proves_from_its_own_node_only() {
    let mut world = World::new();
    let mut from = |tailnet: Option<TailnetIdentity>| {
        let challenge = world.challenge(at(0));
        let signature = signed(3, challenge.as_str(), &own(), 3);
        let place = place(tailnet.as_ref());
        world
            .show(3, challenge.as_str(), &own(), &signature, &place, at(0))
            .map(|_| ())
    };
    assert_eq!(from(Some(node("n3"))), Ok(()));
    assert_eq!(
        from(Some(node("n4"))),
        Err(ProofError::Auth(AuthError::WrongNode))
    );
    assert_eq!(from(None), Err(ProofError::Auth(AuthError::NodeUnknown)));
}

#[test]
fn any_path_forgives_a_way_that_knows_no_nodes_and_never_another_node() {
    let mut world = World::new();
    world.devices.add(Device {
        tailnet: Some(node("n8")),
        any_path: true,
        ..device(8)
    });
    let mut from = |tailnet: Option<TailnetIdentity>| {
        let challenge = world.challenge(at(0));
        let signature = signed(8, challenge.as_str(), &own(), 8);
        let place = place(tailnet.as_ref());
        world
            .show(8, challenge.as_str(), &own(), &signature, &place, at(0))
            .map(|_| ())
    };
    assert_eq!(from(None), Ok(()));
    assert_eq!(
        from(Some(node("n3"))),
        Err(ProofError::Auth(AuthError::WrongNode))
    );
}

#[test]
fn a_bearer_that_is_bound_comes_from_its_own_node_only() {
    let mut world = World::new();
    world.devices.add(Device {
        public_key: None,
        tailnet: Some(node("n7")),
        ..device(7)
    });
    let from = |tailnet: Option<&TailnetIdentity>| {
        let holder = world.devices.authenticate(&token(7), &token_key(), at(0))?;
        holder.as_bearer(tailnet).map(|_| ())
    };
    assert_eq!(from(Some(&node("n7"))), Ok(()));
    assert_eq!(from(Some(&node("n3"))), Err(AuthError::WrongNode));
    assert_eq!(from(None), Err(AuthError::NodeUnknown));
    // With a key as well, whose token from elsewhere is first of all one from elsewhere.
    let from = |tailnet: Option<&TailnetIdentity>| {
        let holder = world.devices.authenticate(&token(3), &token_key(), at(0))?;
        holder.as_bearer(tailnet).map(|_| ())
    };
    assert_eq!(from(Some(&node("n7"))), Err(AuthError::WrongNode));
    assert_eq!(from(None), Err(AuthError::NodeUnknown));
    assert_eq!(from(Some(&node("n3"))), Err(AuthError::ProofRequired));
    assert_eq!(AuthError::WrongNode.fault(), Fault::Permission);
}

#[test]
fn each_refusal_has_its_own_name() {
    let errors = [
        ProofError::Challenge(ChallengeError::Foreign),
        ProofError::Challenge(ChallengeError::Expired),
        ProofError::Challenge(ChallengeError::Used),
        ProofError::Challenge(ChallengeError::TooMany {
            retry_after: Duration::ZERO,
        }),
        ProofError::Auth(AuthError::ProofRequired),
        ProofError::Auth(AuthError::AccessEnded),
        ProofError::Auth(AuthError::WrongNode),
        ProofError::Auth(AuthError::NodeUnknown),
        ProofError::NoKey,
        ProofError::WrongAudience,
        ProofError::BadSignature,
    ];
    let mut names: Vec<String> = errors.iter().map(|error| error.code().to_string()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), errors.len());
}
