//! Devices that type numbered lines, which their programs keep in a file.

use std::{path::PathBuf, sync::Arc};

use harness::{Attached, Chance, Device, Unattached};
use protocol::{
    attach::{ClientMessage, Mode, ServerMessage},
    sessions::Session,
};

use crate::world::{Fault, Outcome, World, must, pause};

/// A device that types, and what it knows of it.
pub(crate) struct Typist {
    device: Device,
    session: Session,
    client: String,
    file: PathBuf,
    /// The last line that it sent.
    sent: u64,
    /// The last that its program is known to have got.
    applied: u64,
    /// Lines of which nobody knows: none of them is sent again.
    doubted: u64,
}

impl Typist {
    pub(crate) fn new(device: Device, session: Session, file: PathBuf, lane: usize) -> Self {
        Self {
            device,
            session,
            client: format!("{lane:032x}"),
            file,
            sent: 0,
            applied: 0,
            doubted: 0,
        }
    }

    /// What keeps each line that is typed in a file.
    pub(crate) fn script(file: &std::path::Path) -> String {
        format!(
            "stty -echo; while read line; do echo \"$line\" >>{}; done",
            file.display()
        )
    }

    /// Types until the storm is over, and then until all of it was got.
    pub(crate) async fn run(mut self, world: Arc<World>, lane: usize, mut chance: Chance) -> Outcome<Self> {
        let who = format!("typist {lane}");
        while !world.is_over() {
            let (lines, rest) = (1 + chance.below(12), chance.below(700));
            let turn = world.turns.read().await;
            world.tell(&who, format!("types {lines} lines behind {}", self.sent));
            self.types(&world, self.sent + lines).await?;
            drop(turn);
            pause(rest).await;
        }
        while self.applied < self.sent {
            self.types(&world, self.sent).await?;
        }
        Ok(self)
    }

    /// Types up to a line, on one connection.
    async fn types(&mut self, world: &World, last: u64) -> Outcome<()> {
        match world.attempt(self.types_on_one(world, last)).await {
            Err(Fault::Disturbed) => Ok(()),
            done => done,
        }
    }

    async fn types_on_one(&mut self, world: &World, last: u64) -> Outcome<()> {
        let from = format!("screen&client={}", self.client);
        let reached = self.device.reach(&self.session.id, Mode::Write, &from).await;
        let mut attached = reached.map_err(|why| match why {
            Unattached::Refused(answer) => {
                Fault::Unexpected(format!("a typist was refused: {} {}", answer.status, answer.body))
            }
            Unattached::Broken(why) => Fault::Unexpected(format!("a typist: {why}")),
        })?;
        let mut next = None;
        loop {
            match attached.next().await {
                Ok(ServerMessage::Hello(hello)) => {
                    if hello.input_applied.is_none() && self.sent > self.applied {
                        self.doubted += self.sent - self.applied;
                        world.count("times that a typist was told of lines in doubt");
                    }
                    let applied = hello.input_applied.unwrap_or(self.sent);
                    must((self.applied..=self.sent).contains(&applied), || {
                        format!(
                            "{applied} lines were got, of {} sent, {} known",
                            self.sent, self.applied
                        )
                    })?;
                    self.applied = applied;
                    next = Some(applied);
                }
                Ok(ServerMessage::InputApplied { sequence }) => self.applied = sequence,
                Ok(_) => {}
                Err(code) => {
                    return Err(Fault::Unexpected(format!(
                        "a typist's connection closed with {code}"
                    )));
                }
            }
            let Some(next) = next.as_mut() else { continue };
            while *next < last {
                *next += 1;
                self.sent = self.sent.max(*next);
                line(&mut attached, *next).await;
                world.count("lines typed");
            }
            if self.applied >= last {
                return Ok(());
            }
        }
    }

    /// Asserts that the program got each line once and in order, but for those in doubt.
    pub(crate) fn check(&self, world: &World) -> Outcome<()> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let heard: Vec<u64> = text.lines().filter_map(|line| line.parse().ok()).collect();
        must(heard.is_sorted_by(|one, next| one < next), || {
            format!(
                "a typist's program got something twice or out of order: {}",
                self.file.display()
            )
        })?;
        let missing = self.sent - heard.len() as u64;
        world.count_by("lines typed that did not arrive, all of them in doubt", missing);
        must(missing <= self.doubted, || {
            format!(
                "{missing} of {} lines are missing where {} were in doubt",
                self.sent, self.doubted
            )
        })
    }
}

async fn line(attached: &mut Attached, sequence: u64) {
    let bytes = format!("{sequence:08}\r").into_bytes();
    attached.send(&ClientMessage::Input { sequence, bytes }).await;
}
