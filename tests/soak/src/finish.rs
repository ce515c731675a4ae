//! What must be true when the storm is over.

use std::{collections::BTreeSet, fs, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use harness::{open_files, until};
use protocol::{access::DeviceRecord, audit::AuditRecord, sessions::Session};

use crate::{
    lanes::{sessions, viewers::Viewer, watcher},
    storm::{self, Left},
    world::{Expected, Fault, Outcome, World, good, held, must, words},
};

/// Ends everything, and compares it with the model.
pub(crate) async fn check(world: &Arc<World>, left: Left) -> Outcome<()> {
    let Left {
        breaker,
        viewers,
        typists,
        counted,
        descriptors,
    } = left;
    counters(world, &counted, viewers).await?;
    for typist in &typists {
        typist.check(world)?;
    }
    drop(typists);
    watcher::devices(world).await?;
    end_all(world).await?;
    let verified = breaker.daemon.cli(&["audit", "--verify"]).await;
    must(verified.code == 0, || {
        format!("`transom audit --verify`: {verified:?}")
    })?;
    rows(world).await?;
    must(breaker.daemon.programs().is_empty(), || {
        "programs outlive their sessions".to_owned()
    })?;
    at_rest(world, breaker.daemon.pid(), descriptors).await?;
    // The daemon's end is checked by the harness: no process of it is left.
    let ended = AssertUnwindSafe(async { drop(breaker) }).catch_unwind().await;
    ended.map_err(|panic| Fault::Broken(words(panic.as_ref())))
}

/// The counting sessions lived through all of it, and viewers saw what is kept of them, byte for byte.
async fn counters(world: &World, counted: &[Session], viewers: Vec<Viewer>) -> Outcome<()> {
    for session in counted {
        world.expect_session(&session.id, Expected::Kept);
    }
    fs::write(storm::stop(world), "").map_err(|error| Fault::Broken(error.to_string()))?;
    for (index, session) in counted.iter().enumerate() {
        sessions::ends_with(world, session, storm::code(index)).await?;
        sessions::check_output(world, session, 0, None).await?;
        world.count("sessions that counted through the whole storm");
    }
    for viewer in viewers {
        let index = counted.iter().position(|one| one.id == viewer.session.id);
        let viewer = viewer
            .finish(world, storm::code(index.unwrap_or_default()))
            .await?;
        let (pieces, first) = sessions::kept(world, &viewer.session).await?;
        let kept = pieces.concat();
        let seen = viewer.seen.get(usize::try_from(first).unwrap_or(usize::MAX)..);
        must(pieces.len() == 1 && seen == Some(&kept[..]), || {
            format!(
                "a viewer of {} saw something else than what is kept",
                viewer.session.name
            )
        })?;
        world.count("viewers, each of whom saw every byte that is kept once");
    }
    Ok(())
}

/// Purges every session and revokes every device.
async fn end_all(world: &World) -> Outcome<()> {
    let all: Vec<Session> = world.get("/v1/sessions").await?;
    let deleted: Vec<Session> = world.get("/v1/sessions?deleted=true").await?;
    for session in all.iter().chain(&deleted) {
        sessions::remove(world, session, true).await?;
    }
    let devices: Vec<DeviceRecord> = world.get("/v1/devices").await?;
    for device in &devices {
        let path = format!("/v1/devices/{}", device.id);
        good(world.owner.request("DELETE", &path, None::<&()>).await, &path)?;
        world.row("device_revoked", device.id);
        world.forget_device(device.id);
    }
    watcher::devices(world).await?;
    let listed: Vec<Session> = world.get("/v1/sessions").await?;
    must(listed.is_empty(), || {
        format!("{} sessions are listed after all were purged", listed.len())
    })
}

/// The trail has a row of everything that was done.
async fn rows(world: &World) -> Outcome<()> {
    let (mut seen, mut after, mut all) = (BTreeSet::new(), 0, 0);
    loop {
        let path = format!("/v1/audit?after={after}&limit=1000");
        let rows: Vec<AuditRecord> = world.get(&path).await?;
        let Some(last) = rows.last() else { break };
        after = last.sequence;
        all += rows.len() as u64;
        seen.extend(
            rows.into_iter()
                .filter(|row| row.outcome == "ok")
                .map(|row| (row.action, row.target)),
        );
    }
    let wanted = held(&world.rows).clone();
    for (action, target) in &wanted {
        must(seen.contains(&((*action).to_owned(), target.clone())), || {
            format!("the audit trail has no row of {action} {target}")
        })?;
    }
    world.count_by("rows of the audit trail", all);
    world.count_by("acts, each with its row", wanted.len() as u64);
    Ok(())
}

/// Descriptors are as many as they were before the storm.
async fn at_rest(world: &World, pid: u32, before: usize) -> Outcome<()> {
    // They may never be as few: then it is the bound that counts.
    let few = until("descriptors to be closed", || async {
        (open_files(pid).len() <= before).then_some(())
    });
    drop(AssertUnwindSafe(few).catch_unwind().await);
    let now = open_files(pid);
    world.peak("open descriptors at the end", now.len() as u64);
    world.peak("open descriptors before", before as u64);
    must(now.len() <= before + KEPT_ALIVE, || {
        format!("{before} descriptors were open before, and now {now:?}")
    })
}

/// Idle connections of the model's own clients.
const KEPT_ALIVE: usize = 3;
