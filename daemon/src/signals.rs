//! SIGTERM and SIGINT: the first drains, the second cuts. SIGHUP reloads, unless the terminal is gone that a daemon in the
//! foreground had.

use std::{
    io::{self, IsTerminal},
    sync::Arc,
};

use server::{Shutdown, Stop};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::Run;

/// The signals, caught from now on.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    /// Whether a terminal was there to lose.
    had_terminal: bool,
}

impl Signals {
    /// Catches the signals.
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            had_terminal: has_terminal(),
        })
    }

    /// Requests a stop at each signal: the first soft, every later one hard. A SIGHUP that somebody sent reloads instead.
    pub(crate) async fn forward(mut self, stop: Stop, run: Arc<Run>) {
        loop {
            if !self.next().await {
                run.reloads.want();
                continue;
            }
            run.restart.forgo();
            let step = if stop.is_requested(Shutdown::Soft) {
                Shutdown::Hard
            } else {
                Shutdown::Soft
            };
            tracing::info!(?step, "shutting down: a signal came");
            stop.request(step);
        }
    }

    /// Waits for one; whether it is one that ends the daemon.
    async fn next(&mut self) -> bool {
        tokio::select! {
            _ = self.terminate.recv() => true,
            _ = self.interrupt.recv() => true,
            // One that is gone is no terminal any more, to whoever has it open still.
            _ = self.hangup.recv() => self.had_terminal && !has_terminal(),
        }
    }
}

fn has_terminal() -> bool {
    io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()
}
