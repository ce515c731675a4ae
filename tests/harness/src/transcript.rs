//! All that daemons send to a test, for tests about what they must not send.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use crate::Answer;

/// What was received while a future ran: answers with their headers, events, and what attachments were sent.
#[derive(Clone, Debug, Default)]
pub struct Transcript(Arc<Mutex<Vec<Vec<u8>>>>);

impl Transcript {
    /// Runs the future and notes all that its own task receives.
    pub async fn during<T>(&self, future: impl Future<Output = T>) -> T {
        CURRENT.scope(self.clone(), future).await
    }

    /// The pieces so far.
    pub fn pieces(&self) -> Vec<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

tokio::task_local! {
    static CURRENT: Transcript;
}

/// Notes an answer.
pub(crate) fn answer(answer: &Answer) {
    bytes(format!("{} {:?}\n{}", answer.status, answer.headers, answer.body).as_bytes());
}

/// Notes bytes that were received.
pub(crate) fn bytes(bytes: &[u8]) {
    // Only a test about secrets listens.
    let _ = CURRENT.try_with(|transcript| {
        transcript
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(bytes.to_vec());
    });
}
