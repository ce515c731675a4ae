//! From an access token to a permit, beside one HMAC and one look into a map.

use std::{
    collections::BTreeMap,
    hint::black_box,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use pairing::{
    AccessToken, Audience, Device, DeviceId, DeviceToken, Devices, Generation, Place, ProofCheck, Proofs,
    PublicKey, Role, ShownProof, TokenKey, UnixMillis, VerifySignature, View,
};
use rand::{rand_core::UnwrapErr, rngs::SysRng};

use crate::{
    figures::Findings,
    kernel,
    report::Figure,
    sampling::{ROUNDS, median},
};

pub(in crate::figures) fn run(findings: &mut Findings) -> Result<()> {
    let (devices, proofs, tokens) = paired()?;
    let (devices, proofs) = (Mutex::new(devices), Mutex::new(proofs));
    let key = TokenKey::generate(&mut rng());
    let parsed: Vec<AccessToken> = tokens
        .iter()
        .map(|token| AccessToken::parse(token))
        .collect::<Result<_, _>>()?;
    let map: BTreeMap<_, _> = parsed.iter().map(|token| (token.id(), ())).collect();
    let (mut permits, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        permits.push(each(|number| {
            permit(&tokens[number % DEVICES], &devices, &proofs)
        })?);
        floors.push(each(|number| {
            let token = &parsed[number % DEVICES];
            black_box((token.hash(&key), map.get(&token.id())));
            Ok(())
        })?);
    }
    let (permit, floor) = (median(&permits), median(&floors));
    let holds = permit <= 2.0;
    let figure = Figure::beside("permit", (permit, "µs CPU"), floor, "≤ 2 µs of CPU", |_| {
        holds
    });
    findings.add(figure.required());
    Ok(())
}

/// What the server does with the text of a token, by the same locks, up to the permit of a route about a resource.
fn permit(token: &str, devices: &Mutex<Devices>, proofs: &Mutex<Proofs>) -> Result<()> {
    let token = AccessToken::parse(token)?;
    let devices = lock(devices);
    let (_, found) = lock(proofs).authenticate(&token, &*devices, &PLACE, NOW)?;
    drop(devices);
    let resource = "ses_0123456789abcdef".parse()?;
    black_box(found?.permit::<View>(Some(resource))?);
    Ok(())
}

/// Microseconds of this thread for each.
fn each(act: impl Fn(usize) -> Result<()>) -> Result<f64> {
    let before = kernel::thread_seconds()?;
    (0..TIMES).try_for_each(act)?;
    Ok((kernel::thread_seconds()? - before) * 1e6 / TIMES as f64)
}

/// As many devices as a household has many times over, each with an access token.
fn paired() -> Result<(Devices, Proofs, Vec<String>)> {
    let key = TokenKey::generate(&mut rng());
    let mut devices = Devices::new(Duration::from_secs(90 * 24 * 3600));
    let mut proofs = Proofs::new(&mut rng());
    let mut tokens = Vec::new();
    for _ in 0..DEVICES {
        let token = DeviceToken::generate(DeviceId::generate(&mut rng()), &mut rng());
        devices.add(record(&token, &key)?);
        let challenge = proofs.challenge(PLACE.generation, NOW, &mut rng());
        let challenge = proofs.open(challenge.as_str(), PLACE.generation, NOW)?;
        let audience: Audience = "origin:https://localhost:7443".parse()?;
        let shown = ShownProof {
            audience: &audience,
            signature: &[],
        };
        let check = ProofCheck {
            verifier: &Unmeasured,
            accepts: &|_| true,
        };
        let holder = devices.authenticate(&token, &key, NOW)?;
        let proof = holder.prove(challenge, shown, check, &PLACE)?;
        tokens.push(
            proofs
                .claim(proof, NOW)?
                .grant(&mut rng())
                .token
                .reveal()
                .to_string(),
        );
    }
    Ok((devices, proofs, tokens))
}

fn record(token: &DeviceToken, key: &TokenKey) -> Result<Device> {
    let mut point = [9; 65];
    point[0] = 4;
    Ok(Device {
        id: token.id(),
        label: "phone".parse()?,
        public_key: Some(
            PublicKey::from_slice(&point)
                .ok()
                .context("it looks like a point")?,
        ),
        role: Role::Viewer,
        can_revoke: false,
        any_path: false,
        token_hash: token.hash(key),
        created: NOW,
        approved_from: "127.0.0.1".to_owned(),
        tailnet: None,
        expires_at: None,
        last_seen: None,
        last_address: None,
    })
}

/// Signatures are no part of the figure: they are checked once in 15 minutes.
struct Unmeasured;

impl VerifySignature for Unmeasured {
    fn verify(&self, _: &[u8; 65], _: &[u8], _: &[u8]) -> bool {
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn rng() -> UnwrapErr<SysRng> {
    UnwrapErr(SysRng)
}

const PLACE: Place<'static> = Place {
    generation: Generation(1),
    tailnet: None,
};
const NOW: UnixMillis = UnixMillis(1_790_000_000_000);
const DEVICES: usize = 100;
const TIMES: usize = 100_000;
