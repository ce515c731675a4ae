//! The id of a request: in each line of the log that is written while it is answered, and in each problem that it is answered
//! with. It is the daemon's own: a client has no say in it.

use std::{
    fmt,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use rand::Rng;
use tokio::task::JoinHandle;

use crate::random;

/// Tells a request from all others, those of former runs of the daemon included; written as 16 hex digits. No secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(u64);

impl RequestId {
    /// Another one than any before.
    pub(crate) fn next() -> Self {
        Self(NEXT.fetch_add(STEP, Ordering::Relaxed))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

/// The request that the calling task answers now; none where it answers none.
pub fn current() -> Option<RequestId> {
    CURRENT.try_with(|id| *id).ok()
}

/// What is done for a request, under its id.
pub(crate) async fn scope<T>(id: RequestId, answering: impl Future<Output = T>) -> T {
    CURRENT.scope(id, answering).await
}

/// Spawns what is done for the request that the calling task answers, whether anybody waits for it or not.
pub fn spawn<T: Send + 'static>(doing: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    match current() {
        Some(id) => tokio::spawn(scope(id, doing)),
        None => tokio::spawn(doing),
    }
}

tokio::task_local! {
    static CURRENT: RequestId;
}

/// Begins anywhere, so that no two runs of a daemon give the same ids.
static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(random::rng().next_u64()));
/// 2^64 divided by the golden ratio: it is odd, so all ids come before one comes again, and such that follow each other do not
/// look alike (Knuth, The Art of Computer Programming 3, section 6.4).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::{RequestId, current, scope, spawn};

    #[tokio::test]
    async fn what_is_done_for_a_request_knows_its_id_and_nothing_else_does() {
        let (one, other) = (RequestId::next(), RequestId::next());
        assert_ne!(one, other);
        assert_eq!(one.to_string().len(), 16);
        let asks = async {
            tokio::task::yield_now().await;
            current()
        };
        let goes_on = async { spawn(async { current() }).await.unwrap() };
        let elsewhere = async { tokio::spawn(async { current() }).await.unwrap() };
        assert_eq!(scope(one, asks).await, Some(one));
        assert_eq!(scope(one, goes_on).await, Some(one));
        assert_eq!(scope(one, elsewhere).await, None);
        assert_eq!(current(), None);
    }
}
