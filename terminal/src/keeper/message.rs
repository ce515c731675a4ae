//! What daemon and keeper say to each other.
//!
//! A packet is one message: a byte that says which, then its fields, integers little-endian, nothing behind them. A session is
//! named by its eight bytes. Whoever connects says hello first, with the versions it speaks; the keeper answers with the highest
//! that both do, and everything after is of that version.
//!
//! Version 2: the welcome says of which build the keeper is.

use std::fmt::{self, Write as _};

use crate::id::SessionId;
use crate::process::{Exit, Member};
use crate::size::Size;

/// The versions that somebody speaks, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Versions {
    pub(super) min: u16,
    pub(super) max: u16,
}

impl Versions {
    /// Those of this build.
    pub(super) const OURS: Self = Self { min: 1, max: 2 };

    /// The highest version that both speak.
    pub(super) fn common(self, other: Self) -> Option<u16> {
        let highest = self.max.min(other.max);
        (highest >= self.min.max(other.min)).then_some(highest)
    }
}

/// Of which build a keeper is: the version of its package, cut to sixteen bytes, NULs behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Build(pub(super) [u8; 16]);

impl Build {
    /// This one.
    pub(super) fn ours() -> Self {
        let mut bytes = [0; 16];
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        let length = version.len().min(bytes.len());
        bytes[..length].copy_from_slice(&version[..length]);
        Self(bytes)
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().take_while(|byte| **byte != 0);
        shown
            .map(|byte| char::from(*byte))
            .filter(char::is_ascii_graphic)
            .try_for_each(|letter| f.write_char(letter))
    }
}

/// What the daemon asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    Hello(Versions),
    /// Start a program; the [plan](super::plan) comes as descriptor. Answered by [`Reply::Reaper`] at once, and by what
    /// [`Request::Adopt`] is answered with, or [`Reply::NotStarted`], once that is known.
    Spawn {
        id: SessionId,
        /// Bytes of the journal's ring.
        capacity: u64,
        size: Size,
    },
    /// Answered by a [`Reply::Listed`] for each session, then [`Reply::ListEnd`].
    List,
    /// Answered by [`Reply::Reaper`], [`Reply::Cgroup`] if there is one, [`Reply::Journal`] and [`Reply::Held`], or by
    /// [`Reply::Unknown`].
    Adopt(SessionId),
    /// Signal the program's process group, if the program was not waited for. Not answered.
    Signal(SessionId, u8),
    /// Drop the master and the journal. Answered by [`Reply::Forgotten`], or by [`Reply::Unknown`].
    Forget(SessionId),
}

/// What the keeper answers and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    Welcome {
        version: u16,
        keeper: Member,
        /// From version 2 on.
        build: Option<Build>,
    },
    /// The last word before it hangs up.
    Refused(Refusal),
    /// Who is the session's reaper.
    Reaper {
        id: SessionId,
        reaper: Member,
    },
    /// With the directory of the session's cgroup.
    Cgroup(SessionId),
    /// With the journal.
    Journal(SessionId),
    /// With the terminal's master.
    Held {
        id: SessionId,
        leader: u32,
        end: End,
    },
    NotStarted {
        id: SessionId,
        step: Step,
        errno: i32,
    },
    Listed {
        id: SessionId,
        reaper: Member,
        leader: u32,
        /// Its master and journal are gone, but processes of it live.
        forgotten: bool,
        end: End,
    },
    ListEnd,
    /// A program ended; said once, when it did.
    Ended {
        id: SessionId,
        end: End,
    },
    Forgotten(SessionId),
    /// Nothing of that id can be adopted or forgotten.
    Unknown(SessionId),
}

/// How a program stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Running,
    Exited(Exit),
    /// Its reaper was killed, so nobody knows how it ended.
    Unknown,
}

/// Why the keeper serves somebody not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Refusal {
    Version = 1,
    OtherUser = 2,
    /// A program of a session, or somebody who cannot be told from one.
    Inside = 3,
    Malformed = 4,
}

/// What failed when a program was to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    Terminal = 1,
    Journal = 2,
    Process = 3,
    Directory = 4,
    Program = 5,
    Duplicate = 6,
}

/// Not a message, or one of another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

impl Request {
    pub(super) fn encode(&self) -> Packet {
        let mut packet = Packet::default();
        match *self {
            Self::Hello(Versions { min, max }) => packet.u8(HELLO).u16(min).u16(max),
            Self::Spawn { id, capacity, size } => packet
                .u8(SPAWN)
                .id(id)
                .u64(capacity)
                .u16(size.columns())
                .u16(size.rows()),
            Self::List => packet.u8(LIST),
            Self::Adopt(id) => packet.u8(ADOPT).id(id),
            Self::Signal(id, signal) => packet.u8(SIGNAL).id(id).u8(signal),
            Self::Forget(id) => packet.u8(FORGET).id(id),
        };
        packet
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(bytes);
        let request = match fields.u8()? {
            HELLO => Self::Hello(Versions {
                min: fields.u16()?,
                max: fields.u16()?,
            }),
            SPAWN => Self::Spawn {
                id: fields.id()?,
                capacity: fields.u64()?,
                size: Size::new(fields.u16()?, fields.u16()?),
            },
            LIST => Self::List,
            ADOPT => Self::Adopt(fields.id()?),
            SIGNAL => Self::Signal(fields.id()?, fields.u8()?),
            FORGET => Self::Forget(fields.id()?),
            _ => return Err(Malformed),
        };
        fields.end(request)
    }
}

impl Reply {
    pub(super) fn encode(&self) -> Packet {
        let mut packet = Packet::default();
        match *self {
            Self::Welcome {
                version,
                keeper,
                build,
            } => {
                let packet = packet.u8(WELCOME).u16(version).member(keeper);
                match build.filter(|_| version >= WITH_BUILD) {
                    Some(build) => packet.put(&build.0),
                    None => packet,
                }
            }
            Self::Refused(why) => packet.u8(REFUSED).u8(why as u8),
            Self::Reaper { id, reaper } => packet.u8(REAPER).id(id).member(reaper),
            Self::Cgroup(id) => packet.u8(CGROUP).id(id),
            Self::Journal(id) => packet.u8(JOURNAL).id(id),
            Self::Held { id, leader, end } => packet.u8(HELD).id(id).u32(leader).end(end),
            Self::NotStarted { id, step, errno } => packet.u8(NOT_STARTED).id(id).u8(step as u8).i32(errno),
            Self::Listed {
                id,
                reaper,
                leader,
                forgotten,
                end,
            } => packet
                .u8(LISTED)
                .id(id)
                .member(reaper)
                .u32(leader)
                .u8(forgotten.into())
                .end(end),
            Self::ListEnd => packet.u8(LIST_END),
            Self::Ended { id, end } => packet.u8(ENDED).id(id).end(end),
            Self::Forgotten(id) => packet.u8(FORGOTTEN).id(id),
            Self::Unknown(id) => packet.u8(UNKNOWN).id(id),
        };
        packet
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(bytes);
        let reply = match fields.u8()? {
            WELCOME => {
                let version = fields.u16()?;
                Self::Welcome {
                    version,
                    keeper: fields.member()?,
                    build: match version >= WITH_BUILD {
                        true => Some(Build(fields.take()?)),
                        false => None,
                    },
                }
            }
            REFUSED => Self::Refused(fields.refusal()?),
            REAPER => Self::Reaper {
                id: fields.id()?,
                reaper: fields.member()?,
            },
            CGROUP => Self::Cgroup(fields.id()?),
            JOURNAL => Self::Journal(fields.id()?),
            HELD => Self::Held {
                id: fields.id()?,
                leader: fields.u32()?,
                end: fields.program_end()?,
            },
            NOT_STARTED => Self::NotStarted {
                id: fields.id()?,
                step: fields.step()?,
                errno: fields.i32()?,
            },
            LISTED => Self::Listed {
                id: fields.id()?,
                reaper: fields.member()?,
                leader: fields.u32()?,
                forgotten: fields.bool()?,
                end: fields.program_end()?,
            },
            LIST_END => Self::ListEnd,
            ENDED => Self::Ended {
                id: fields.id()?,
                end: fields.program_end()?,
            },
            FORGOTTEN => Self::Forgotten(fields.id()?),
            UNKNOWN => Self::Unknown(fields.id()?),
            _ => return Err(Malformed),
        };
        fields.end(reply)
    }
}

mod fields;
pub(super) use fields::{Fields, Packet};

/// The version from which on the welcome says the keeper's build.
const WITH_BUILD: u16 = 2;

const HELLO: u8 = 0x01;
const SPAWN: u8 = 0x02;
const LIST: u8 = 0x03;
const ADOPT: u8 = 0x04;
const SIGNAL: u8 = 0x05;
const FORGET: u8 = 0x06;

const WELCOME: u8 = 0x81;
const REFUSED: u8 = 0x82;
const REAPER: u8 = 0x83;
const CGROUP: u8 = 0x84;
const JOURNAL: u8 = 0x85;
const HELD: u8 = 0x86;
const NOT_STARTED: u8 = 0x87;
const LISTED: u8 = 0x88;
const LIST_END: u8 = 0x89;
const ENDED: u8 = 0x8a;
const FORGOTTEN: u8 = 0x8b;
const UNKNOWN: u8 = 0x8c;

#[cfg(test)]
mod tests;
