//! SIGTERM and SIGINT: the first drains, the second cuts.

use std::io;

use server::{Shutdown, Stop};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals, caught from now on.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// The terminal of a daemon in the foreground is gone.
    hangup: Signal,
}

impl Signals {
    /// Catches the signals.
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Requests a stop at each signal: the first soft, every later one hard. `heard` is called at each, before.
    pub(crate) async fn forward(mut self, stop: Stop, heard: impl Fn()) {
        loop {
            self.next().await;
            heard();
            let step = if stop.is_requested(Shutdown::Soft) {
                Shutdown::Hard
            } else {
                Shutdown::Soft
            };
            tracing::info!(?step, "shutting down: a signal came");
            stop.request(step);
        }
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
