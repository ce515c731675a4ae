//! The daemon as a service of systemd, or of whoever speaks as it does: sockets that it is started with (sd_listen_fds(3)), and
//! what it tells (sd_notify(3)).

mod notify;
mod passed;
mod watchdog;

use std::ffi::OsStr;

use server::Shutdown;

pub(crate) use self::passed::Passed;
pub use self::passed::PassedError;
use self::{
    notify::Notifier,
    watchdog::{interval, watch},
};
use crate::app::App;

/// Tells the service manager, where there is one, how the daemon stands, until the soft stop.
pub(crate) async fn tell(app: &App) {
    let notifier = Notifier::of_environment();
    serves(app, &notifier);
    let signs = async {
        match interval() {
            Some(every) => watch(notifier.clone(), app.run.paths.socket(), every).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = app.stop.requested(Shutdown::Soft) => {}
        () = signs => {}
    }
    match app.run.restart.is_wanted() {
        true => notifier.restarting(),
        false => notifier.stopping(),
    }
}

/// Tells it that the daemon reloads, and when that is done.
pub(crate) async fn telling_of_reload<T>(app: &App, reload: impl Future<Output = T>) -> T {
    let notifier = Notifier::of_environment();
    notifier.reloading();
    let done = reload.await;
    // Who ends, or starts again, has said so, and is not ready.
    if !app.stop.is_requested(Shutdown::Soft) {
        serves(app, &notifier);
    }
    done
}

fn serves(app: &App, notifier: &Notifier) {
    let (running, sessions) = app.sessions.count();
    notifier.ready(&format!("serving; {running} of {sessions} sessions run"));
}

/// Whether a variable is meant for this process alone: nothing that it starts gets it.
#[must_use]
pub fn is_private(name: &OsStr) -> bool {
    PRIVATE.iter().any(|private| name == *private)
}

/// What a service manager tells the process that it starts (systemd.exec(5), "Environment Variables Set or Propagated").
pub const PRIVATE: [&str; 11] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "SYSTEMD_EXEC_PID",
    "MEMORY_PRESSURE_WATCH",
    "MEMORY_PRESSURE_WRITE",
];
