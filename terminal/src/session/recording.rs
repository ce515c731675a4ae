//! A session's records with their times, to be played again.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use super::{Session, Shared};
use crate::journal::record::{Header, Kind, Records, SizeContent};
use crate::offset::Offset;
use crate::size::Size;
use crate::tail::Place;

impl Session {
    /// All records that there are, from the oldest on; what is written while they are read belongs to them.
    #[must_use]
    pub fn recording(&self) -> Recording {
        Recording {
            shared: Arc::clone(&self.shared),
            place: Place {
                offset: Offset::START,
                next_size: 0,
            },
            read: VecDeque::new(),
        }
    }

    /// The size that the terminal began with.
    pub async fn first_size(&self) -> Size {
        if let Some(size) = self.shared.journal().first_size() {
            return size;
        }
        let shared = Arc::clone(&self.shared);
        let reading = tokio::task::spawn_blocking(move || shared.checkpoint());
        let read = reading.await.map_err(io::Error::from).flatten();
        let checkpoint = read.unwrap_or_else(|error| {
            tracing::warn!(%error, "a screen could not be read from the disk");
            None
        });
        checkpoint.map_or(self.size(), |checkpoint| checkpoint.first_size)
    }
}

/// Goes through a session's records.
#[derive(Debug)]
pub struct Recording {
    shared: Arc<Shared>,
    /// Behind what was read.
    place: Place,
    /// What was read and not given yet.
    read: VecDeque<Recorded>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Milliseconds since the session began.
    pub time_ms: u64,
    /// Where it stands.
    pub offset: Offset,
    /// What happened.
    pub event: Event,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The program wrote this.
    Output(Vec<u8>),
    /// The terminal had this size from then on.
    Size(Size),
}

impl Recording {
    /// The next record; none where there is none yet. Records that are gone are left out: the next one's offset
    /// tells. Cancel safe.
    ///
    /// # Errors
    /// When the disk has records and does not give them.
    pub async fn next(&mut self) -> io::Result<Option<Recorded>> {
        while self.read.is_empty() {
            let place = self.place;
            let shared = Arc::clone(&self.shared);
            let reading = tokio::task::spawn_blocking(move || shared.copy(place));
            match reading.await.map_err(io::Error::from).flatten()? {
                Copied::Records(raw) => {
                    Records(&raw).for_each(|(head, content)| self.take(head, content));
                }
                Copied::Gone { to } => self.place.offset = to,
                Copied::Nothing => return Ok(None),
            }
        }
        Ok(self.read.pop_front())
    }

    fn take(&mut self, head: Header, content: &[u8]) {
        let event = match (head.kind, content.first_chunk()) {
            (Kind::Size, Some(change)) => {
                let change = SizeContent::decode(*change);
                self.place.next_size = change.number.saturating_add(1);
                Event::Size(change.size)
            }
            _ => Event::Output(content.to_vec()),
        };
        self.place.offset = head.end();
        self.read.push_back(Recorded {
            time_ms: head.time_ms,
            offset: head.offset,
            event,
        });
    }
}

enum Copied {
    /// As they are written.
    Records(Vec<u8>),
    Gone {
        to: Offset,
    },
    Nothing,
}

impl Shared {
    /// The next records at a place. Blocks.
    fn copy(&self, place: Place) -> io::Result<Copied> {
        let mut raw = Vec::new();
        let start = {
            let journal = self.journal();
            if place.offset >= journal.start() {
                journal.copy_records(
                    journal.position_of(place.offset, place.next_size),
                    CHUNK,
                    &mut raw,
                );
                return Ok(if raw.is_empty() {
                    Copied::Nothing
                } else {
                    Copied::Records(raw)
                });
            }
            journal.start()
        };
        let gap = match &self.store {
            Some(store) => store.tail.copy(place, CHUNK, &mut raw)?,
            None => None,
        };
        if !raw.is_empty() {
            return Ok(Copied::Records(raw));
        }
        Ok(Copied::Gone {
            to: gap.map_or(start, |to| to.min(start)),
        })
    }
}

/// Bytes of records read at once.
const CHUNK: usize = 64 * 1024;
