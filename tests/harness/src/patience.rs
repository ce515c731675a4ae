//! Waiting for events, with a bound that only a fault reaches.

use std::{future::Future, time::Duration};

/// How long anything may take before the test fails: far above what a busy machine needs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The future's value.
///
/// # Panics
/// Where it takes longer than [`PATIENCE`]; the message names what was waited for.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited {PATIENCE:?} for {what}"),
    }
}

/// Asks until the answer is there. For states that nobody announces (the kernel's tables); everything else is awaited.
///
/// # Panics
/// Where it takes longer than [`PATIENCE`].
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    within(what, async {
        loop {
            if let Some(value) = ask().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

/// What a [`BadLink`](crate::BadLink) keeps a piece for: what is late there is what is under test, and nothing is waited for.
pub(crate) async fn pause(span: Duration) {
    tokio::time::sleep(span).await;
}

/// What a [`Pacer`](crate::Pacer) waits between two steps of programs, which go on by themselves elsewhere. Blocks.
pub(crate) fn tick() {
    std::thread::sleep(Duration::from_millis(2));
}
