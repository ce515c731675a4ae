//! The fields of a message, one after the other.

use rustix::process::Pid;

use super::{End, Malformed, Refusal, Step};
use crate::id::SessionId;
use crate::process::{Exit, Member};

/// A message as it is sent; it allocates nothing.
#[derive(Debug, Clone, Copy)]
pub(in crate::keeper) struct Packet {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Default for Packet {
    fn default() -> Self {
        Self {
            bytes: [0; LONGEST],
            length: 0,
        }
    }
}

impl Packet {
    pub(in crate::keeper) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(in crate::keeper) fn u8(&mut self, value: u8) -> &mut Self {
        self.put(&[value])
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub(in crate::keeper) fn u32(&mut self, value: u32) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub(in crate::keeper) fn i32(&mut self, value: i32) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn id(&mut self, id: SessionId) -> &mut Self {
        self.put(id.as_bytes())
    }

    pub(super) fn member(&mut self, member: Member) -> &mut Self {
        self.i32(member.id.as_raw_pid()).u64(member.started)
    }

    pub(in crate::keeper) fn end(&mut self, end: End) -> &mut Self {
        let (kind, how, exit) = match end {
            End::Running => (0, 0, None),
            End::Unknown => (1, 0, None),
            End::Exited(exit) => match (exit.code, exit.signal) {
                (Some(code), _) => (2, code, Some(exit)),
                (None, signal) => (3, signal.unwrap_or(0), Some(exit)),
            },
        };
        self.u8(kind)
            .i32(how)
            .u64(exit.map_or(0, |exit| exit.duration_ms))
            .u64(exit.map_or(0, |exit| exit.peak_memory_bytes))
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> &mut Self {
        let to = self.length + bytes.len();
        self.bytes[self.length..to].copy_from_slice(bytes);
        self.length = to;
        self
    }
}

/// What is left of a message that is read.
pub(in crate::keeper) struct Fields<'a>(pub(in crate::keeper) &'a [u8]);

impl Fields<'_> {
    pub(in crate::keeper) fn u8(&mut self) -> Result<u8, Malformed> {
        self.take().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        self.take().map(u16::from_le_bytes)
    }

    pub(in crate::keeper) fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_le_bytes)
    }

    pub(in crate::keeper) fn i32(&mut self) -> Result<i32, Malformed> {
        self.take().map(i32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_le_bytes)
    }

    pub(super) fn bool(&mut self) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    pub(super) fn id(&mut self) -> Result<SessionId, Malformed> {
        self.take().map(SessionId::from_bytes)
    }

    pub(super) fn member(&mut self) -> Result<Member, Malformed> {
        let id = self.i32()?;
        let id = (id > 0).then(|| Pid::from_raw(id)).flatten().ok_or(Malformed)?;
        Ok(Member {
            id,
            started: self.u64()?,
        })
    }

    pub(in crate::keeper) fn program_end(&mut self) -> Result<End, Malformed> {
        let (kind, how) = (self.u8()?, self.i32()?);
        let (duration_ms, peak_memory_bytes) = (self.u64()?, self.u64()?);
        let exit = |code, signal| {
            End::Exited(Exit {
                code,
                signal,
                duration_ms,
                peak_memory_bytes,
            })
        };
        match (kind, how) {
            (0, 0) if (duration_ms, peak_memory_bytes) == (0, 0) => Ok(End::Running),
            (1, 0) if (duration_ms, peak_memory_bytes) == (0, 0) => Ok(End::Unknown),
            (2, code) => Ok(exit(Some(code), None)),
            (3, signal) if signal > 0 => Ok(exit(None, Some(signal))),
            _ => Err(Malformed),
        }
    }

    pub(super) fn refusal(&mut self) -> Result<Refusal, Malformed> {
        let said = self.u8()?;
        let known = [
            Refusal::Version,
            Refusal::OtherUser,
            Refusal::Inside,
            Refusal::Malformed,
        ];
        known
            .into_iter()
            .find(|known| *known as u8 == said)
            .ok_or(Malformed)
    }

    pub(in crate::keeper) fn step(&mut self) -> Result<Step, Malformed> {
        let said = self.u8()?;
        let known = [
            Step::Terminal,
            Step::Journal,
            Step::Process,
            Step::Directory,
            Step::Program,
            Step::Duplicate,
        ];
        known
            .into_iter()
            .find(|known| *known as u8 == said)
            .ok_or(Malformed)
    }

    /// The message, if nothing stands behind it.
    pub(in crate::keeper) fn end<T>(self, message: T) -> Result<T, Malformed> {
        if self.0.is_empty() {
            Ok(message)
        } else {
            Err(Malformed)
        }
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (field, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*field)
    }
}

/// Bytes of the longest message, [`Listed`](super::Reply::Listed).
const LONGEST: usize = 1 + 8 + 12 + 4 + 1 + 21;
