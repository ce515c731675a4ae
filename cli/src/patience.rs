//! What a person is told of while something takes long.

use std::{pin::pin, time::Duration};

use ::client::Patience;
use tokio::time::timeout;

use crate::output;

/// Patience with a daemon that is away, for a minute; says so on standard error where that takes long.
pub(crate) fn bounded() -> Patience {
    Patience::bounded().telling(|| output::note("the daemon is away; this goes on once it is back"))
}

/// Waits for what may take long, and says on standard error what that is, once it does.
pub(crate) async fn told<T>(words: impl FnOnce() -> String, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    if let Ok(done) = timeout(LONG, &mut work).await {
        return done;
    }
    output::note(&words());
    work.await
}

/// How long anything may take before a person wonders.
const LONG: Duration = Duration::from_secs(1);
