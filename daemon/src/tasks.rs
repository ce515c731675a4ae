//! What goes on by itself, whoever waits for it.

use server::request;
use tokio::task::{JoinHandle, spawn_blocking};

/// Does something in a task of its own: a peer that hangs up leaves nothing half done.
pub(crate) async fn to_its_end<T: Send + 'static>(act: impl Future<Output = T> + Send + 'static) -> T {
    joined(request::spawn(act)).await
}

/// Does something that waits for the disk, on a thread that may.
pub(crate) async fn blocking<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    joined(spawn_blocking(act)).await
}

async fn joined<T>(task: JoinHandle<T>) -> T {
    match task.await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The runtime ends, and so does whoever waits.
        Err(Err(_)) => std::future::pending().await,
    }
}
