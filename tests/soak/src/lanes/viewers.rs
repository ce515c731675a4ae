//! Devices that follow a counting session by its offsets: they read, stall, vanish and come again.

use std::sync::Arc;

use harness::{Attached, Chance, Device, Unattached};
use protocol::{
    attach::{Mode, ServerMessage},
    sessions::Session,
};
use tokio::time::{Duration, Instant};

use crate::world::{Fault, Outcome, World, must, pause};

#[derive(Debug)]
struct Act {
    is_page: bool,
    reads: u64,
    then: Then,
}

#[derive(Debug)]
enum Then {
    /// It reads on in its next act.
    Stay,
    /// Its connection stays, and nobody reads it for so many milliseconds.
    Stall(u64),
    /// Its connection is dropped without a word: a reset, where anything was on its way.
    Vanish,
}

impl Act {
    fn draw(chance: &mut Chance) -> Self {
        let [page, reads, then, stall] = [2, 3_000, 3, 4_000].map(|limit| chance.below(limit));
        let then = match then {
            0 => Then::Stay,
            1 => Then::Stall(stall),
            _ => Then::Vanish,
        };
        Self {
            is_page: page == 0,
            reads,
            then,
        }
    }
}

/// A device, what it follows, and all that it saw of it.
pub(crate) struct Viewer {
    device: Device,
    pub(crate) session: Session,
    pub(crate) seen: Vec<u8>,
    /// With the number of the daemon's troubles when it began.
    attached: Option<(u64, Attached)>,
    exit: Option<Option<i32>>,
}

impl Viewer {
    pub(crate) fn new(device: Device, session: Session) -> Self {
        Self {
            device,
            session,
            seen: Vec::new(),
            attached: None,
            exit: None,
        }
    }

    /// Acts until the storm is over.
    pub(crate) async fn run(mut self, world: Arc<World>, lane: usize, mut chance: Chance) -> Outcome<Self> {
        let who = format!("viewer {lane}");
        while !world.is_over() {
            let (act, rest) = (Act::draw(&mut chance), chance.below(500));
            let turn = world.turns.read().await;
            world.tell(&who, format!("{act:?} from {}", self.seen.len()));
            self.follow(&world, act.is_page, Some(act.reads)).await?;
            match act.then {
                Then::Stay => {}
                Then::Stall(milliseconds) => pause(milliseconds).await,
                Then::Vanish => self.attached = None,
            }
            drop(turn);
            pause(rest).await;
        }
        Ok(self)
    }

    /// Reads up to the program's end, which must be with this code.
    pub(crate) async fn finish(mut self, world: &World, code: i32) -> Outcome<Self> {
        while self.exit.is_none() {
            self.follow(world, false, None).await?;
        }
        must(self.exit == Some(Some(code)), || {
            format!(
                "a viewer of {} was told of the end {:?}, not {code}",
                self.session.name, self.exit
            )
        })?;
        self.attached = None;
        Ok(self)
    }

    /// Reads for so long, or up to the end of program or connection.
    async fn follow(&mut self, world: &World, is_page: bool, milliseconds: Option<u64>) -> Outcome<()> {
        let until = milliseconds.map(|span| Instant::now() + Duration::from_millis(span));
        let since = match &self.attached {
            Some((since, _)) => *since,
            None => world.calm().await,
        };
        let attached = self.attached.take().map(|(_, attached)| attached);
        let read = world
            .attempt_since(since, self.read(world, attached, is_page, until))
            .await;
        match read {
            Ok(attached) => self.attached = attached.map(|attached| (since, attached)),
            Err(Fault::Disturbed) => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    async fn read(
        &mut self,
        world: &World,
        attached: Option<Attached>,
        is_page: bool,
        until: Option<Instant>,
    ) -> Outcome<Option<Attached>> {
        let mut attached = match attached {
            Some(attached) => attached,
            None => self.reach(world, is_page).await?,
        };
        while until.is_none_or(|until| Instant::now() < until) {
            match attached.next().await {
                Ok(ServerMessage::Output { offset, bytes }) => {
                    let at = self.seen.len() as u64;
                    must(offset == at, || {
                        format!(
                            "a lossless viewer of {} was at {at}, and got {offset}",
                            self.session.name
                        )
                    })?;
                    self.seen.extend_from_slice(&bytes);
                    world.count_by("bytes that viewers saw, each at its offset", bytes.len() as u64);
                }
                Ok(ServerMessage::Exit(exit)) => {
                    self.exit = Some(exit.code);
                    return Ok(None);
                }
                Ok(_) => {}
                Err(code) => {
                    return Err(Fault::Unexpected(format!(
                        "a viewer's connection closed with {code}"
                    )));
                }
            }
        }
        Ok(Some(attached))
    }

    async fn reach(&mut self, world: &World, is_page: bool) -> Outcome<Attached> {
        let (id, from) = (&self.session.id, self.seen.len().to_string());
        let reached = match is_page {
            true => self.device.reach_like_a_browser(id, Mode::Lossless, &from).await,
            false => self.device.reach(id, Mode::Lossless, &from).await,
        };
        world.count("attachments of viewers");
        reached.map_err(|why| match why {
            Unattached::Refused(answer) => {
                Fault::Unexpected(format!("a viewer was refused: {} {}", answer.status, answer.body))
            }
            Unattached::Broken(why) => Fault::Unexpected(format!("a viewer: {why}")),
        })
    }
}
