//! Sessions that come and go: counters, ends with a code, floods; stopped, deleted, restored, purged.

use std::sync::Arc;

use harness::Chance;
use protocol::{
    attach::{Mode, ServerMessage},
    sessions::{NewSession, Output, Session, SessionState, Stopped},
};
use serde_json::json;

use crate::{
    numbers,
    world::{Expected, Fault, Outcome, World, must, pause},
};

/// One step of the script.
#[derive(Debug)]
enum Act {
    Count,
    End {
        code: i32,
    },
    Flood {
        lines: u64,
        code: i32,
        stall: u64,
        leaves: bool,
    },
    Stop {
        which: u64,
    },
    Delete {
        which: u64,
        purges: bool,
    },
    Restore,
}

impl Act {
    fn draw(chance: &mut Chance) -> Self {
        let [kind, which, code, size, stall, coin] =
            [100, 1 << 20, 200, 4, 1_500, 2].map(|limit| chance.below(limit));
        let code = i32::try_from(code).expect("it is below 200") + 3;
        match kind {
            0..25 => Self::Count,
            25..45 => Self::End { code },
            45..58 => Self::Flood {
                lines: 50_000 << size,
                code,
                stall,
                leaves: coin == 0,
            },
            58..73 => Self::Stop { which },
            73..90 => Self::Delete {
                which,
                purges: coin == 0,
            },
            _ => Self::Restore,
        }
    }
}

/// What the lane has.
#[derive(Default)]
struct Own {
    counting: Vec<Session>,
    ended: Vec<Session>,
    deleted: Vec<Session>,
    made: usize,
}

/// Acts until the storm is over.
pub(crate) async fn run(world: Arc<World>, lane: usize, mut chance: Chance) -> Outcome<()> {
    let who = format!("sessions {lane}");
    let mut own = Own::default();
    while !world.is_over() {
        let (act, rest) = (Act::draw(&mut chance), chance.below(400));
        let turn = world.turns.read().await;
        world.tell(&who, format!("{act:?}"));
        own.act(&world, lane, act).await?;
        drop(turn);
        pause(rest).await;
    }
    Ok(())
}

impl Own {
    async fn act(&mut self, world: &World, lane: usize, act: Act) -> Outcome<()> {
        self.made += 1;
        let name = format!("soak-{lane}-{}", self.made);
        match act {
            Act::Count if self.counting.len() < COUNTING => {
                let session = start(world, &name, COUNTER, Expected::Running).await?;
                self.counting.extend(session);
            }
            Act::End { code } => {
                let script = format!("echo {name}; exit {code}");
                if let Some(session) = start(world, &name, &script, Expected::Kept).await? {
                    ends_with(world, &session, code).await?;
                    self.ended.push(session);
                }
            }
            Act::Flood {
                lines,
                code,
                stall,
                leaves,
            } => {
                let script = format!("seq -f %08.0f 0 {}; exit {code}", lines - 1);
                let before = world.kills();
                if let Some(session) = start(world, &name, &script, Expected::Kept).await? {
                    watch_flood(world, &session, stall, leaves, code).await?;
                    ends_with(world, &session, code).await?;
                    check_output(world, &session, before, Some(lines)).await?;
                    world.count("floods, each read whole");
                    remove(world, &session, true).await?;
                }
            }
            Act::Stop { which } => {
                if let Some(session) = take(&mut self.counting, which) {
                    stop(world, &session).await?;
                    check_output(world, &session, 0, None).await?;
                    self.ended.push(session);
                }
            }
            Act::Delete { which, purges } => {
                if let Some(session) = take(&mut self.ended, which) {
                    remove(world, &session, purges).await?;
                    self.deleted.extend(Some(session).filter(|_| !purges));
                }
            }
            Act::Restore => {
                if let Some(session) = self.deleted.pop() {
                    restore(world, &session).await?;
                    self.ended.push(session);
                }
            }
            Act::Count => {}
        }
        // The daemon keeps 64 sessions, ended ones included, for all lanes together.
        while self.ended.len() + self.deleted.len() > ENDED {
            let oldest = if self.deleted.is_empty() {
                &mut self.ended
            } else {
                &mut self.deleted
            };
            let oldest = oldest.remove(0);
            remove(world, &oldest, true).await?;
        }
        Ok(())
    }
}

fn take(from: &mut Vec<Session>, which: u64) -> Option<Session> {
    let count = u64::try_from(from.len()).ok().filter(|count| *count > 0)?;
    Some(from.swap_remove(usize::try_from(which % count).ok()?))
}

/// Starts a program; nothing where the daemon was disturbed before it did so.
pub(crate) async fn start(
    world: &World,
    name: &str,
    script: &str,
    expected: Expected,
) -> Outcome<Option<Session>> {
    let wish = NewSession {
        command: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        name: Some(name.to_owned()),
        ..NewSession::default()
    };
    let made = world
        .attempt(async { world.ask::<Session>("POST", "/v1/sessions", Some(&wish)).await })
        .await;
    let session = match made {
        Ok(session) => {
            world.row("session_created", &session.id);
            world.count("sessions started");
            Some(session)
        }
        Err(Fault::Disturbed) => {
            // Nobody was told whether it began: the list knows.
            let all: Vec<Session> = world.persist(|| world.get("/v1/sessions")).await?;
            all.into_iter().find(|session| session.name == name)
        }
        Err(fault) => return Err(fault),
    };
    if let Some(session) = &session {
        world.expect_session(&session.id, expected);
    }
    Ok(session)
}

/// Waits for the program's end, which must be with this code.
pub(crate) async fn ends_with(world: &World, session: &Session, code: i32) -> Outcome<()> {
    let ended = world
        .persist(|| async { Ok(world.owner.ended(&session.id).await) })
        .await?;
    world.count("exit codes");
    let exit = ended.exit.and_then(|exit| exit.code);
    must(exit == Some(code), || {
        format!(
            "{} ended with {exit:?}, and its program with {code}",
            session.name
        )
    })
}

/// A viewer of a flood that does not read, and then goes, or sees the end.
async fn watch_flood(world: &World, session: &Session, stall: u64, leaves: bool, code: i32) -> Outcome<()> {
    let watched = world
        .attempt(async {
            let mut viewer = world.owner.attach(&session.id, Mode::View, "0").await;
            pause(stall).await;
            if leaves {
                return Ok(());
            }
            loop {
                match viewer.next().await {
                    Ok(ServerMessage::Exit(exit)) => {
                        world.count("floods, seen to their end by one that stalled");
                        return must(exit.code == Some(code), || {
                            format!("a viewer of {} was told of {exit:?}, not of {code}", session.name)
                        });
                    }
                    Ok(_) => {}
                    Err(closed) => {
                        return Err(Fault::Unexpected(format!(
                            "a flood's viewer closed with {closed}"
                        )));
                    }
                }
            }
        })
        .await;
    match watched {
        Err(Fault::Disturbed) => Ok(()),
        done => done,
    }
}

/// Asserts that what is kept has nothing doubled or reordered, goes on to its end, where that is known, and lacks no more than
/// daemons that were killed since had just read.
pub(crate) async fn check_output(
    world: &World,
    session: &Session,
    kills_before: u64,
    end: Option<u64>,
) -> Outcome<()> {
    let (pieces, first) = kept(world, session).await?;
    let kills = world.kills() - kills_before;
    let (mut seams, mut missing) = (0, 0);
    let mut next = (first == 0).then_some(0);
    for (index, piece) in pieces.iter().enumerate() {
        // Where the daemon says that something is gone, half a line may be.
        let whole = match index {
            0 => 0,
            _ => piece
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(piece.len(), |end| end + 1),
        };
        let seen = numbers::read(&piece[whole..], next.filter(|_| index == 0))
            .map_err(|why| Fault::Broken(format!("{}: {why}", session.name)))?;
        must(seen.next >= next, || {
            format!("{}: numbers come again behind a gap", session.name)
        })?;
        next = seen.next.or(next);
        seams += seen.seams;
        missing += seen.missing;
        world.count_by("lines of programs, none doubled, none reordered", seen.lines);
    }
    missing += end.map_or(0, |end| end.saturating_sub(next.unwrap_or_default()));
    world.count_by("places where a kill took what it had just read", seams);
    world.count_by("lines that kills took", missing);
    must(seams <= 2 * kills && missing <= kills * ONE_READ, || {
        format!(
            "the output of {} lacks {missing} lines at {seams} places, and {kills} daemons were killed",
            session.name
        )
    })
}

/// What is kept of a session's output, in pieces where the daemon says that something is gone; and where the first begins.
pub(crate) async fn kept(world: &World, session: &Session) -> Outcome<(Vec<Vec<u8>>, u64)> {
    let (mut pieces, mut from, mut first) = (vec![Vec::new()], 0, None);
    loop {
        let path = format!("/v1/sessions/{}/output?from={from}", session.id);
        let output: Output = world.persist(|| world.get(&path)).await?;
        must(output.truncated == (output.offset > from), || {
            format!("{}: {from} was wanted, {} given", session.name, output.offset)
        })?;
        if output.truncated {
            pieces.push(Vec::new());
        }
        first.get_or_insert(output.offset);
        if let Some(piece) = pieces.last_mut() {
            piece.extend_from_slice(&output.data.0);
        }
        from = output.next_offset;
        if from >= output.end {
            return Ok((pieces, first.unwrap_or_default()));
        }
    }
}

/// Stops a program, however often it takes.
pub(crate) async fn stop(world: &World, session: &Session) -> Outcome<()> {
    world.expect_session(&session.id, Expected::Unsettled);
    let path = format!("/v1/sessions/{}/stop", session.id);
    let nothing = json!({});
    let stopped: Stopped = world.persist(|| world.ask("POST", &path, Some(&nothing))).await?;
    world.row("session_stopped", &session.id);
    world.count("sessions stopped");
    world.expect_session(&session.id, Expected::Kept);
    must(stopped.session.state == SessionState::Exited, || {
        format!(
            "{} is {:?} after it was stopped",
            session.name, stopped.session.state
        )
    })
}

/// Deletes a session, or has it gone at once.
pub(crate) async fn remove(world: &World, session: &Session, purges: bool) -> Outcome<()> {
    world.expect_session(&session.id, Expected::Unsettled);
    let path = format!(
        "/v1/sessions/{}{}",
        session.id,
        if purges { "?purge=true" } else { "" }
    );
    world
        .persist(|| async {
            let answer = world.owner.request("DELETE", &path, None::<&()>).await;
            // The daemon may have been killed between the act and its answer.
            if purges && answer.status == 404 {
                return Ok(());
            }
            crate::world::good(answer, &path).map(drop)
        })
        .await?;
    world.row(
        if purges {
            "session_purged"
        } else {
            "session_deleted"
        },
        &session.id,
    );
    world.count(if purges {
        "sessions purged"
    } else {
        "sessions deleted"
    });
    world.forget_session(&session.id);
    let all: Vec<Session> = world.persist(|| world.get("/v1/sessions")).await?;
    must(all.iter().all(|one| one.id != session.id), || {
        format!("{} is listed after it was removed", session.name)
    })
}

/// Brings a deleted session back.
async fn restore(world: &World, session: &Session) -> Outcome<()> {
    let path = format!("/v1/sessions/{}/restore", session.id);
    world
        .persist(|| async {
            let answer = world.owner.post(&path, &json!({})).await;
            // The daemon may have been killed between the act and its answer.
            if answer.status == 409 {
                return Ok(());
            }
            crate::world::good(answer, &path).map(drop)
        })
        .await?;
    world.row("session_restored", &session.id);
    world.count("sessions restored");
    world.expect_session(&session.id, Expected::Kept);
    Ok(())
}

/// Prints ten numbers five times a second.
pub(crate) const COUNTER: &str = "i=0; while :; do n=0; while [ $n -lt 10 ]; do printf '%08d\\n' $i; \
     i=$((i+1)); n=$((n+1)); done; sleep 0.2; done";
/// Lines in one read of a terminal (4 KiB), the torn ones at its ends included.
const ONE_READ: u64 = 4_096 / 10 + 2;
/// Counters of one lane at a time.
const COUNTING: usize = 4;
/// Sessions of one lane that are kept after their end.
const ENDED: usize = 10;
