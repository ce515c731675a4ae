//! `ls --watch` on a terminal.

use std::time::Duration;

use jiff::Timestamp;
use protocol::sessions::Session;
use tokio::{
    io::{AsyncReadExt, stdin},
    sync::mpsc::Receiver,
    time::{Instant, sleep_until},
};

use super::{
    keys::{Key, keys},
    view::View,
};
use crate::{
    client::Client,
    events::{self, Update},
    exit,
    failure::Failure,
    full_screen::{FullScreen, Signals, Told},
    output,
    patience::Patience,
};

/// Shows the sessions until told to stop.
pub(super) async fn show(client: Client) -> Result<u8, Failure> {
    // Where no daemon runs, that is said instead of waited out.
    client.get::<Vec<Session>>("/sessions").await?;
    let mut watch = Watch {
        updates: events::follow(client, Patience::endless()),
        signals: Signals::new()?,
        has_keys: true,
        view: View::default(),
        screen: FullScreen::enter()?,
    };
    watch.run().await
}

struct Watch {
    updates: Receiver<Result<Update, Failure>>,
    signals: Signals,
    /// Whether standard input may still say something.
    has_keys: bool,
    view: View,
    screen: FullScreen,
}

impl Watch {
    async fn run(&mut self) -> Result<u8, Failure> {
        let mut input = [0; 256];
        let mut stdin = stdin();
        let mut next_draw = Instant::now();
        loop {
            tokio::select! {
                update = self.updates.recv() => {
                    let Some(update) = update else { return Ok(exit::OK) };
                    self.view.take(update?, Timestamp::now());
                    next_draw = next_draw.min(Instant::now() + SHORTEST);
                }
                read = stdin.read(&mut input), if self.has_keys => {
                    let length = read.unwrap_or_default();
                    self.has_keys = length > 0;
                    for key in keys(&input[..length]) {
                        match key {
                            Key::Quit => return Ok(exit::OK),
                            Key::Suspend => self.screen.suspend()?,
                            other => self.view.scroll(other),
                        }
                    }
                    next_draw = Instant::now();
                }
                signal = self.signals.next() => match signal {
                    Told::Draw => next_draw = Instant::now(),
                    Told::Suspend => {
                        self.screen.suspend()?;
                        next_draw = Instant::now();
                    }
                    Told::End(code) => return Ok(code),
                },
                () = sleep_until(next_draw) => {
                    self.draw()?;
                    next_draw = Instant::now() + LONGEST;
                }
            }
        }
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let size = self.screen.size();
        let frame = self.view.frame(size, Timestamp::now());
        self.screen.draw(frame, output::has_colour())?;
        Ok(())
    }
}

/// Changes in so short a time are drawn together: faster is not seen.
const SHORTEST: Duration = Duration::from_millis(30);
/// Times on the screen are in seconds.
const LONGEST: Duration = Duration::from_secs(1);
