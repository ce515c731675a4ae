//! Whoever looks, all the time, whether the daemon says what the model says.

use std::{
    collections::BTreeMap,
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use pairing::DeviceId;
use protocol::{
    access::{DeviceRecord, Status},
    audit::AuditVerdict,
    sessions::{Session, SessionState},
};

use crate::world::{Expected, Fault, Outcome, Paired, World, held, must, pause};

/// Looks until the storm is over.
pub(crate) async fn run(world: Arc<World>, counted: Vec<Session>) -> Outcome<()> {
    let mut growth = Growth::new(&counted);
    let mut looks = 0_u64;
    while !world.is_over() {
        let turn = world.turns.read().await;
        let looked = world
            .attempt(async {
                sessions(&world, &mut growth).await?;
                devices(&world).await?;
                memory(&world).await?;
                if looks.is_multiple_of(TRAIL) {
                    trail(&world).await?;
                }
                Ok(())
            })
            .await;
        match looked {
            Ok(()) => {}
            Err(Fault::Disturbed) => growth.begin_anew(),
            Err(fault) => return Err(fault),
        }
        looks += 1;
        drop(turn);
        pause(300).await;
    }
    Ok(())
}

/// How far the counting sessions were, and when they were last seen to have gone on.
struct Growth(BTreeMap<String, (u64, Instant)>);

impl Growth {
    fn new(counted: &[Session]) -> Self {
        let now = Instant::now();
        Self(counted.iter().map(|one| (one.id.clone(), (0, now))).collect())
    }

    fn begin_anew(&mut self) {
        for (_, since) in self.0.values_mut() {
            *since = Instant::now();
        }
    }

    fn check(&mut self, session: &Session) -> Outcome<()> {
        let Some((end, since)) = self.0.get_mut(&session.id) else {
            return Ok(());
        };
        must(session.end >= *end, || {
            format!("{} was at {end}, and is at {}", session.name, session.end)
        })?;
        if session.end > *end {
            (*end, *since) = (session.end, Instant::now());
        }
        must(since.elapsed() < STANDSTILL, || {
            format!("{} printed nothing for {:?}", session.name, since.elapsed())
        })
    }
}

/// Each session of the model is listed, and is as it must be.
async fn sessions(world: &World, growth: &mut Growth) -> Outcome<()> {
    let before = held(&world.sessions).clone();
    let listed: Vec<Session> = world.get("/v1/sessions").await?;
    let after = held(&world.sessions).clone();
    let listed: BTreeMap<&str, &Session> = listed.iter().map(|one| (one.id.as_str(), one)).collect();
    for (id, expected) in &before {
        if after.get(id) != Some(expected) || *expected == Expected::Unsettled {
            continue;
        }
        let Some(session) = listed.get(id.as_str()) else {
            return Err(Fault::Broken(format!("the session {id} is not listed")));
        };
        let is_so = match expected {
            Expected::Running => session.state == SessionState::Running,
            _ => session.state != SessionState::Lost,
        };
        must(is_so, || {
            format!(
                "{} is {:?}, and must be {expected:?}",
                session.name, session.state
            )
        })?;
        growth.check(session)?;
    }
    world.count_by("states of sessions in lists", before.len() as u64);
    Ok(())
}

/// Each device of the model is listed as it must be, and no other.
pub(crate) async fn devices(world: &World) -> Outcome<()> {
    let before = held(&world.devices).clone();
    let listed: Vec<DeviceRecord> = world.get("/v1/devices").await?;
    let after = held(&world.devices).clone();
    for (id, paired) in &before {
        let (Some(paired), true) = (paired, after.get(id) == Some(paired)) else {
            continue;
        };
        let seen: Option<Paired> = listed
            .iter()
            .find(|one| one.id == *id)
            .map(|one| Some((one.label.clone(), one.role)));
        must(seen.as_ref() == Some(&Some(paired.clone())), || {
            format!("{id} is listed as {seen:?}, and must be {paired:?}")
        })?;
    }
    let is_known = |id: &DeviceId| before.contains_key(id) || after.contains_key(id);
    let stranger = listed.iter().find(|one| !is_known(&one.id));
    must(stranger.is_none(), || {
        format!("nobody paired {stranger:?}, or it was revoked")
    })?;
    world.count_by("devices in lists", before.len() as u64);
    Ok(())
}

/// The daemon's own memory is bounded.
async fn memory(world: &World) -> Outcome<()> {
    let status: Status = world.get("/v1/status").await?;
    let kib = anonymous_kib(status.pid);
    world.peak("MiB of the daemon's own memory at most", kib / 1024);
    must(kib < MEMORY, || {
        format!("the daemon has {} MiB of its own", kib / 1024)
    })
}

/// The audit trail is whole.
pub(crate) async fn trail(world: &World) -> Outcome<()> {
    let verdict: AuditVerdict = world.get("/v1/audit/verify").await?;
    world.count("verifications of the whole audit trail");
    must(verdict.whole, || {
        format!("the audit trail is not whole: {verdict:?}")
    })
}

/// The memory that is a process's alone; nothing of one that is gone.
fn anonymous_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

/// A counter prints five times a second; a busy machine may keep it from that for a while.
const STANDSTILL: Duration = Duration::from_secs(30);
/// KiB of the daemon's own memory: some sixty screens, and the buffers of what is attached.
const MEMORY: u64 = 256 * 1024;
/// Looks for each verification of the trail.
const TRAIL: u64 = 20;
