//! A session that ended, served from the disk.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::rebuild::Rebuild;
use super::store::Store;
use super::{Parts, Session, SessionState, Shared, draw, lock};
use crate::journal::{Journal, UnixMs};
use crate::offset::Offset;
use crate::process::Exit;
use crate::size::Size;

/// What is remembered of a session that ended, beside what its directory holds.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// How its program ended.
    pub exit: Exit,
    /// The offset behind its output.
    pub end: Offset,
    /// Its terminal's last size.
    pub size: Size,
    /// When it began.
    pub began: UnixMs,
}

impl Session {
    /// A session whose program ended while an earlier process had it: its output by offset, its records and its screen
    /// are read from its directory when somebody asks for them, and the directory is not written to. Must be called on
    /// a tokio runtime.
    ///
    /// # Errors
    /// When this process may not map any more memory.
    pub fn stored(directory: PathBuf, ended: Ended) -> io::Result<Self> {
        let Ended {
            exit,
            end,
            size,
            began,
        } = ended;
        let journal = Journal::ended(end, size, began, None)?;
        let rebuild = Rebuild::of(&journal, true);
        let (input, _closed) = mpsc::channel(1);
        let shared = Arc::new(Shared::new(Parts {
            journal,
            control: None,
            input,
            tree: None,
            store: Some(Store::new(directory, u64::MAX)),
            rebuild,
        }));
        shared.state.send_replace(SessionState::Exited(exit));
        shared.settled.send_replace(true);
        tokio::spawn(draw::draw(Arc::clone(&shared)));
        Ok(Self { shared })
    }
}

/// Gives the memory of an ended session's records back, which are all on disk.
pub(super) fn release(journal: &Mutex<Journal>) {
    let mut journal = lock(journal);
    let ended = Journal::ended(
        journal.end(),
        journal.size(),
        journal.began(),
        journal.last_output_ms(),
    );
    if let Ok(ended) = ended {
        *journal = ended;
    }
}
