//! What happens to the daemon: kills, restarts, reloads, steps of its clock, a full disk.

use std::{sync::Arc, time::Duration};

use harness::{Chance, DaemonOptions, Pairing, SmallDisk, TestDaemon, WallClock};
use protocol::{
    access::Status,
    attach::{CLOSE_NOT_PERMITTED, Mode, UNWRITTEN},
    condition::DegradedKind,
    pairing::OfferMade,
    sessions::Session,
};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::lanes::people::is_refused;
use crate::world::{Fault, Outcome, World, good, must, pause};

#[derive(Debug)]
enum Act {
    Kill,
    /// Killed, and the next one as well, so many milliseconds after it was started.
    KillTwice(u64),
    /// Ended by SIGTERM, and started again.
    End,
    Restart,
    Reload {
        seconds: u64,
    },
    BadFile {
        which: u64,
    },
    /// So many seconds ahead of the machine's clock from now on.
    Clock {
        ahead: u64,
    },
    FullDisk,
}

impl Act {
    fn draw(chance: &mut Chance) -> Self {
        let [kind, moment, seconds, which, ahead] =
            [100, 80, 600, 3, 2 * 3_600].map(|limit| chance.below(limit));
        match kind {
            0..28 => Self::Kill,
            28..36 => Self::KillTwice(moment),
            36..42 => Self::End,
            42..56 => Self::Restart,
            56..72 => Self::Reload {
                seconds: 60 + seconds,
            },
            72..84 => Self::BadFile { which },
            84..94 => Self::Clock { ahead },
            _ => Self::FullDisk,
        }
    }
}

/// The daemon, and what can be done to it.
pub(crate) struct Breaker {
    pub(crate) daemon: TestDaemon,
    pub(crate) options: DaemonOptions,
    pub(crate) clock: WallClock,
    pub(crate) disk: Option<Arc<SmallDisk>>,
    /// The configuration but for what reloads change.
    pub(crate) config: String,
    /// By how many seconds the daemon's wall clock is ahead of the machine's.
    pub(crate) ahead: u64,
    /// By how many it was at most since the daemon began: it goes by that.
    pub(crate) furthest: u64,
}

impl Breaker {
    /// Acts until the storm is over, and leaves the daemon running.
    pub(crate) async fn run(
        mut self,
        world: Arc<World>,
        counted: Vec<Session>,
        mut chance: Chance,
    ) -> Outcome<Self> {
        loop {
            let (rest, act) = (chance.below(5_000), Act::draw(&mut chance));
            pause(rest).await;
            if world.is_over() {
                return Ok(self);
            }
            world.tell("the daemon", format!("{act:?}"));
            self.act(&world, &counted, act).await?;
        }
    }

    async fn act(&mut self, world: &World, counted: &[Session], act: Act) -> Outcome<()> {
        match act {
            Act::Kill | Act::KillTwice(_) => {
                world.trouble(false);
                world.kill();
                self.daemon.kill().await;
                world.count("daemons killed");
                if let Act::KillTwice(moment) = act {
                    world.kill();
                    self.daemon.start_until(&self.options, pause(moment)).await;
                    world.count("daemons killed while they started");
                }
                self.start(world).await
            }
            Act::End => {
                world.trouble(false);
                self.daemon.signal(Signal::TERM);
                let ended = self.daemon.ended().await;
                must(ended.success(), || {
                    format!("SIGTERM ended the daemon with {ended}")
                })?;
                world.count("daemons ended by SIGTERM");
                self.start(world).await
            }
            Act::Restart => self.restart(world).await,
            Act::Reload { seconds } => {
                self.configure(&format!("{}[pairing]\noffer_ttl = \"{seconds}s\"\n", self.config))?;
                let _: Value = world.ask("POST", "/v1/reload", Some(&json!({}))).await?;
                world.count("reloads");
                offers_end_in(world, seconds).await
            }
            Act::BadFile { which } => self.bad_file(world, which).await,
            Act::Clock { ahead } => self.step_clock(world, ahead).await,
            Act::FullDisk => self.full_disk(world, counted).await,
        }
    }

    /// Steps the wall clock: forward it ends what ends by time, and back it lengthens nothing.
    async fn step_clock(&mut self, world: &World, ahead: u64) -> Outcome<()> {
        let made = world.owner.post("/v1/pairing/offers", &json!({})).await;
        world.trouble(false);
        self.clock.put_ahead(Duration::from_secs(ahead));
        world.trouble(true);
        world.count("steps of the daemon's clock");
        let is_over = ahead > self.furthest + LONGEST_OFFER;
        self.ahead = ahead;
        self.furthest = self.furthest.max(ahead);
        if made.status == 429 || !is_over {
            return Ok(());
        }
        let made: OfferMade = good(made, "an offer")?.ok();
        let fragment = made.url.expose().split_once('#');
        let (_, fragment) = fragment.ok_or_else(|| Fault::Broken("a link has no fragment".to_owned()))?;
        let mut pairing = Pairing::with_fragment_at(world.address, fragment);
        is_refused(world, &mut pairing).await
    }

    async fn start(&mut self, world: &World) -> Outcome<()> {
        self.daemon.start_again_with(&self.options).await;
        self.furthest = self.ahead;
        world.trouble(true);
        Ok(())
    }

    async fn restart(&mut self, world: &World) -> Outcome<()> {
        let before: Status = world.get("/v1/status").await?;
        world.trouble(false);
        good(world.owner.post("/v1/restart", &json!({})).await, "restart")?;
        let after = harness::until("the next life of the daemon", || async {
            let status: Status = world.owner.try_get("/v1/status").await?.ok();
            (status.life != before.life).then_some(status)
        })
        .await;
        world.trouble(true);
        world.row("restart", "daemon");
        world.count("graceful restarts");
        must(after.pid == before.pid, || {
            "a restart made another process".to_owned()
        })
    }

    /// A file that cannot be read as a configuration is refused, said, and changes nothing.
    async fn bad_file(&mut self, world: &World, which: u64) -> Outcome<()> {
        let bad = [
            "[listen\n",
            "[listen]\nport = 1\n",
            "[listen]\ntls = [\"nowhere\"]\n",
        ];
        let bad = bad[usize::try_from(which).unwrap_or_default() % bad.len()];
        self.configure(bad)?;
        let refused = world.owner.post("/v1/reload", &json!({})).await;
        must(matches!(refused.status, 400..500), || {
            format!("{bad:?} was answered {}", refused.status)
        })?;
        let status: Status = world.get("/v1/status").await?;
        must(
            status
                .degraded
                .iter()
                .any(|one| one.kind == DegradedKind::Refused),
            || format!("nothing says that {bad:?} was refused: {:?}", status.degraded),
        )?;
        self.configure(&self.config)?;
        let _: Value = world.ask("POST", "/v1/reload", Some(&json!({}))).await?;
        let status: Status = world.get("/v1/status").await?;
        world.count("bad configurations, each refused and mended");
        must(status.degraded.is_empty(), || {
            format!("after it was mended: {:?}", status.degraded)
        })
    }

    /// Puts the configuration in its place in one step, as editors do.
    fn configure(&self, config: &str) -> Outcome<()> {
        let partial = self.daemon.folder().join("config.new");
        let written = std::fs::write(&partial, config)
            .and_then(|()| std::fs::rename(partial, self.daemon.folder().join("config.toml")));
        written.map_err(|error| Fault::Broken(format!("the configuration could not be written: {error}")))
    }

    /// While it is full nobody is let in, nothing is started, and what runs goes on.
    async fn full_disk(&mut self, world: &World, counted: &[Session]) -> Outcome<()> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let _all_turns = world.turns.write().await;
        world.trouble(false);
        let before: Vec<Session> = world.get("/v1/sessions").await?;
        disk.fill();
        let refused = refused_for_the_disk(world, &counted[0]).await;
        let started = world
            .owner
            .post("/v1/sessions", &json!({ "command": "true" }))
            .await;
        for session in counted {
            let was = before.iter().find(|one| one.id == session.id).map(|one| one.end);
            harness::until("a session to go on while the disk is full", || async {
                (Some(world.owner.session(&session.id).await.end) > was).then_some(())
            })
            .await;
        }
        disk.make_room();
        harness::until("the audit trail to go on", || async {
            let mut attached = world.owner.attach(&counted[0].id, Mode::Write, "screen").await;
            attached.next().await.ok()
        })
        .await;
        world.trouble(true);
        world.count("full disks, which kept nobody's program from going on");
        let Some(refused) = refused else {
            world.count("full disks on which the store had room to go on");
            return Ok(());
        };
        must(refused == (CLOSE_NOT_PERMITTED, UNWRITTEN.to_owned()), || {
            format!("on a full disk an attachment closed with {refused:?}")
        })?;
        must(started.verdict() == "503 store_failed", || {
            format!("on a full disk a session was answered {}", started.verdict())
        })
    }
}

/// How somebody was refused for whom the trail has no room; nothing where it found some in its own files.
async fn refused_for_the_disk(world: &World, session: &Session) -> Option<(u16, String)> {
    for _ in 0..LET_IN {
        let mut attached = world.owner.attach(&session.id, Mode::View, "screen").await;
        // Hello comes first, if anything does.
        if let Err(code) = attached.next().await {
            return Some((code, attached.until_closed_for().await.1));
        }
    }
    None
}

/// Asserts that an offer made now ends in so many seconds, where one can be made.
async fn offers_end_in(world: &World, seconds: u64) -> Outcome<()> {
    let made = world.owner.post("/v1/pairing/offers", &json!({})).await;
    if made.status == 429 {
        return Ok(());
    }
    let made: OfferMade = good(made, "an offer")?.ok();
    must(made.expires_in == seconds, || {
        format!(
            "after a reload an offer ends in {} s, not {seconds}",
            made.expires_in
        )
    })?;
    let path = format!("/v1/pairing/offers/{}", made.id);
    good(world.owner.request("DELETE", &path, None::<&()>).await, &path).map(drop)
}

/// Seconds after which an offer has ended, whatever a reload said of it.
const LONGEST_OFFER: u64 = 700;
/// Attachments on a full disk: each is a row, and what the store freed earlier has room for some.
const LET_IN: usize = 500;
