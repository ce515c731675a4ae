//! A session that ended, served from the disk.

use std::io;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::rebuild::Rebuild;
use super::store::Store;
use super::{Parts, Session, SessionState, Shared, draw, lock, look};
use crate::checkpoint::Checkpoint;
use crate::journal::{Journal, UnixMs};
use crate::offset::Offset;
use crate::process::Exit;
use crate::screen::{Emulator, Screen};
use crate::size::Size;
use crate::tail::{Place, Stored, Tail};

/// What is remembered of a session that ended, beside what its directory holds.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// How its program ended; none where nobody knows, and the session is lost.
    pub exit: Option<Exit>,
    /// The offset behind its output.
    pub end: Offset,
    /// Its terminal's last size.
    pub size: Size,
    /// When it began.
    pub began: UnixMs,
}

impl Session {
    /// A session whose program ended while an earlier process had it: its output by offset, its records and its screen
    /// are read from its directory when somebody asks for them, and the directory is not written to. Holds nothing once the last
    /// handle is dropped.
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
        let journal = Journal::ended(end, size, began)?;
        let rebuild = Rebuild::of(&journal, true);
        let capacity = journal.capacity();
        let (input, _closed) = mpsc::channel(1);
        let shared = Arc::new(Shared::new(Parts {
            journal,
            control: None,
            input,
            tree: None,
            store: Some(Store::new(directory, u64::MAX, capacity)),
            rebuild,
        }));
        shared
            .state
            .send_replace(exit.map_or(SessionState::Lost, SessionState::Exited));
        shared.settled.send_replace(true);
        Ok(Self { shared })
    }
}

/// The last that a directory shows of a session that nobody saw end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Last {
    /// The offset behind its output.
    pub end: Offset,
    /// Its terminal's size.
    pub size: Size,
    /// The title that the program gave its terminal; empty if none.
    pub title: String,
    /// The lowest line of its screen that is not blank.
    pub last_line: String,
}

/// What a directory shows of a session that began at a size: its last checkpoint, with the records behind it. Blocks.
///
/// # Errors
/// When the directory cannot be read.
pub fn stored_last(directory: &Path, first_size: Size) -> io::Result<Last> {
    let tail = Tail::new(directory.to_owned(), u64::MAX);
    let written = tail.bounds()?.map_or(Offset::START, |(_, end)| end);
    let drawn = catch_unwind(|| drawn_again(directory, &tail, first_size)).unwrap_or_else(|_| {
        tracing::error!(directory = %directory.display(), "the screen failed on a lost session's output");
        Ok((Emulator::new(first_size), written))
    });
    let (screen, drawn) = drawn?;
    Ok(Last {
        end: written.max(drawn),
        size: screen.size(),
        title: screen.title().to_owned(),
        last_line: look::last_line(&screen),
    })
}

/// The screen, and the offset up to which it is drawn.
fn drawn_again(directory: &Path, tail: &Tail, first_size: Size) -> io::Result<(Emulator, Offset)> {
    let mut screen = Emulator::new(first_size);
    let (mut offset, mut next_size) = (Offset::START, 0);
    let end = tail.bounds()?.map_or(Offset::START, |(_, end)| end);
    let last = Checkpoint::last(directory, Offset(u64::MAX), |from| tail.holds(from, end))?;
    if let Some(checkpoint) = last {
        screen = checkpoint.draw();
        (offset, next_size) = (checkpoint.ground, checkpoint.sizes);
    }
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match tail.read(Place { offset, next_size }, AT_ONCE, &mut bytes)? {
            Stored::Output => {
                screen.feed(&bytes);
                offset = offset.plus(bytes.len());
            }
            Stored::Size { number, size, .. } => {
                screen.resize(size);
                next_size = number + 1;
            }
            Stored::Gap { to } if to > offset => {
                screen.feed(draw::CANCEL);
                offset = to;
            }
            Stored::Gap { .. } | Stored::End => break,
        }
        // Nobody is there to be told.
        screen.take_replies();
        screen.take_signals();
    }
    screen.release();
    Ok((screen, offset))
}

/// Gives the memory of an ended session's records back, which are all on disk.
pub(super) fn release(journal: &Mutex<Journal>) {
    let mut journal = lock(journal);
    if let Ok(emptied) = journal.without_records() {
        *journal = emptied;
    }
}

/// Bytes of output that are drawn between two looks at the disk.
const AT_ONCE: usize = 64 * 1024;
