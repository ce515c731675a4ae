//! What a full screen waits for besides its own news: keys, signals, and the time to draw.

use std::time::Duration;

use tokio::{
    io::AsyncReadExt,
    time::{Instant, sleep_until},
};

use super::{FullScreen, signals::Told};
use crate::failure::Failure;

/// What comes next.
#[derive(Debug)]
pub(crate) enum Turn<K> {
    /// Something was typed; none where nothing more will be.
    Keys(Vec<K>),
    /// It is time to draw.
    Draw,
    /// A signal ends it, with this exit code where nothing else is to be said.
    End(u8),
}

impl FullScreen {
    /// What comes next; keys are told apart by `keys`. A signal that suspends is heeded here. Cancel safe.
    ///
    /// # Errors
    /// The terminal cannot be set up again.
    pub(crate) async fn turn<K>(&mut self, keys: impl Fn(&[u8]) -> Vec<K>) -> Result<Turn<K>, Failure> {
        let mut input = [0; 256];
        loop {
            tokio::select! {
                read = self.input.read(&mut input), if self.has_keys => {
                    let length = read.unwrap_or_default();
                    self.has_keys = length > 0;
                    self.draw_at(Instant::now());
                    return Ok(Turn::Keys(keys(&input[..length])));
                }
                signal = self.signals.next() => match signal {
                    Told::Draw => self.draw_at(Instant::now()),
                    Told::Suspend => {
                        self.suspend()?;
                        self.draw_at(Instant::now());
                    }
                    Told::End(code) => return Ok(Turn::End(code)),
                },
                () = sleep_until(self.due) => {
                    self.due = Instant::now() + LONGEST;
                    return Ok(Turn::Draw);
                }
            }
        }
    }

    /// Has what changed drawn soon.
    pub(crate) fn changed(&mut self) {
        self.draw_at(Instant::now() + SHORTEST);
    }

    /// Has it drawn at that time, or before.
    pub(crate) fn draw_at(&mut self, due: Instant) {
        self.due = self.due.min(due);
    }

    /// Whether standard input may still say something.
    pub(crate) fn has_keys(&self) -> bool {
        self.has_keys
    }
}

/// Changes in so short a time are drawn together: faster is not seen.
const SHORTEST: Duration = Duration::from_millis(30);
/// Times on the screen are in seconds.
const LONGEST: Duration = Duration::from_secs(1);
