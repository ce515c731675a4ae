//! The course of a session: its output is read, its input written, and its end published last.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, watch};

use super::{SessionState, Shared, lock, reader, writer};
use crate::descriptor;
use crate::keeper::Held;
use crate::process::Exit;

/// A terminal's master, waited for in both directions.
pub(super) struct Watched {
    pub(super) reader: AsyncFd<Arc<OwnedFd>>,
    pub(super) control: Arc<AsyncFd<OwnedFd>>,
}

impl Watched {
    pub(super) fn of(held: &Held) -> io::Result<Self> {
        let master = || held.master.try_clone();
        Ok(Self {
            reader: descriptor::watch_shared(Arc::new(master()?), Interest::READABLE)?,
            control: Arc::new(descriptor::watch(master()?, Interest::WRITABLE)?),
        })
    }
}

/// Runs a session until its program has ended and all its output is in the journal.
pub(super) async fn run(
    shared: Arc<Shared>,
    master: reader::Master,
    control: Arc<AsyncFd<OwnedFd>>,
    queue: mpsc::Receiver<writer::Chunk>,
    end: watch::Receiver<Option<Exit>>,
) {
    let writing = tokio::spawn(writer::write(Arc::clone(&shared), control, queue));
    let exit = reader::read(&shared, master, end).await;
    writing.abort();
    let _ = writing.await;
    lock(&shared.control).take();
    // Last: whoever sees the end finds every byte, no zombie and no descriptor.
    shared
        .state
        .send_replace(exit.map_or(SessionState::Lost, SessionState::Exited));
    shared.output.send_replace(());
    if let Some(tree) = &shared.tree {
        // What the program left behind may live on, and may still be ended by who stops the session.
        let tree = Arc::clone(tree);
        tokio::spawn(async move { tree.until_over().await });
    }
}
