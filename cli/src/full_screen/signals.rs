//! The signals that concern who holds a terminal.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{exit, failure::Failure};

/// The signals, from when this was made on.
pub(crate) struct Signals {
    resize: Signal,
    suspend: Signal,
    ends: [(Signal, u8); 4],
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// To draw, as the size may be another.
    Draw,
    /// To give the terminal back for a while.
    Suspend,
    /// To end, with this exit code where nothing else is to be said.
    End(u8),
}

impl Signals {
    /// Begins to listen for them.
    ///
    /// # Errors
    /// The system does not let us.
    pub(crate) fn new() -> Result<Self, Failure> {
        let end = |kind: SignalKind, code| signal(kind).map(|signal| (signal, code));
        Ok(Self {
            resize: signal(SignalKind::window_change())?,
            suspend: signal(SignalKind::from_raw(SIGTSTP))?,
            ends: [
                end(SignalKind::interrupt(), exit::OK)?,
                end(SignalKind::quit(), exit::OK)?,
                end(SignalKind::terminate(), TERMINATED)?,
                end(SignalKind::hangup(), HUNG_UP)?,
            ],
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Told {
        let [interrupt, quit, terminate, hang_up] = &mut self.ends;
        tokio::select! {
            _ = self.resize.recv() => Told::Draw,
            _ = self.suspend.recv() => Told::Suspend,
            _ = interrupt.0.recv() => Told::End(interrupt.1),
            _ = quit.0.recv() => Told::End(quit.1),
            _ = terminate.0.recv() => Told::End(terminate.1),
            _ = hang_up.0.recv() => Told::End(hang_up.1),
        }
    }
}

/// SIGTSTP on every architecture that we run on (signal(7)).
const SIGTSTP: i32 = 20;
/// 128 and the signal, as shells tell it.
const TERMINATED: u8 = 128 + 15;
const HUNG_UP: u8 = 128 + 1;
