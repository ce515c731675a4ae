//! `/v1/sessions` and below.

mod change;
mod create;
mod input;
mod keys;
mod list;
mod note;
mod output;
mod recording;
mod remove;
mod restore;
mod screen;
mod show;
mod size;
mod stop;
mod wait;

use server::request;

use crate::sessions::SessionError;

pub(super) use change::{CHANGE, change};
pub(super) use create::{CREATE, create};
pub(super) use input::{INPUT, input};
pub(super) use keys::{KEYS, keys};
pub(super) use list::{LIST, list};
pub(super) use note::{NOTE, note};
pub(super) use output::{OUTPUT, output};
pub(super) use recording::{RECORDING, recording};
pub(super) use remove::{REMOVE, remove};
pub(super) use restore::{RESTORE, restore};
pub(super) use screen::{SCREEN, screen};
pub(super) use show::{SHOW, show};
pub(super) use size::{SIZE, size};
pub(super) use stop::{STOP, stop};
pub(super) use wait::{WAIT, wait};

/// Does the whole of something, also where the client goes meanwhile: its handler is dropped then, wherever it waits, and must
/// not leave a program that is in no list, or a file that is half of one state.
async fn whole<T: Send + 'static>(
    work: impl Future<Output = Result<T, SessionError>> + Send + 'static,
) -> Result<T, SessionError> {
    match request::spawn(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only the end of the runtime takes the task away.
            Err(_) => Err(SessionError::Ending),
        },
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::whole;

    #[tokio::test]
    async fn what_was_begun_is_done_also_when_nobody_waits_for_it_any_more() {
        let (go, gone) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let mut work = Box::pin(whole(async move {
            gone.await.ok();
            done.send(()).ok();
            Ok(())
        }));
        let polled = futures_util::poll!(&mut work);
        assert!(polled.is_pending());
        drop(work);
        go.send(()).unwrap();
        is_done.await.unwrap();
    }
}
