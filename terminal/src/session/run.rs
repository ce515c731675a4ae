//! The course of a session: its output is read, its input written, and its end published last.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use super::{SessionState, Shared, lock, reader, writer};
use crate::process::{Child, Ended, Exit};

/// Runs a session until its program has ended and all its output is in the journal.
pub(super) async fn run(
    shared: Arc<Shared>,
    master: AsyncFd<OwnedFd>,
    control: Arc<AsyncFd<OwnedFd>>,
    queue: mpsc::Receiver<writer::Chunk>,
    child: Child,
) {
    let writing = tokio::spawn(writer::write(Arc::clone(&shared), control, queue));
    let ended = reader::read(&shared, master, child).await;
    let exit = match reap(&shared, ended).await {
        Ok(exit) => exit,
        Err(error) => {
            tracing::error!(%error, "the end of a program could not be read");
            Exit {
                code: None,
                signal: None,
                duration_ms: shared.time_ms(),
                peak_memory_bytes: 0,
            }
        }
    };
    writing.abort();
    let _ = writing.await;
    lock(&shared.control).take();
    // Last: whoever sees the end finds every byte, no zombie and no descriptor.
    shared.state.send_replace(SessionState::Exited(exit));
    shared.output.send_replace(());
}

/// Takes the program's end. What it leaves behind is looked for before, while its id is its own.
async fn reap(shared: &Arc<Shared>, ended: io::Result<Ended>) -> io::Result<Exit> {
    let ended = ended?;
    let shared = Arc::clone(shared);
    let reaping = move || {
        if let Some(tree) = &shared.tree {
            tree.leader_ended();
        }
        ended.reap()
    };
    tokio::task::spawn_blocking(reaping).await?
}
