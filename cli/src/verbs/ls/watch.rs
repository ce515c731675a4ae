//! `ls --watch` on a terminal.

use ::client::{
    Error, Patience,
    events::{self, Update},
};
use jiff::Timestamp;
use protocol::sessions::Session;
use tokio::sync::mpsc::Receiver;

use super::{
    keys::{Key, keys},
    view::View,
};
use crate::{
    client::Client,
    exit,
    failure::Failure,
    full_screen::{FullScreen, Turn},
    output,
};

/// Shows the sessions until told to stop.
pub(super) async fn show(client: Client) -> Result<u8, Failure> {
    // Where no daemon runs, that is said instead of waited out.
    client.get::<Vec<Session>>("/sessions").await?;
    let mut watch = Watch {
        updates: events::follow(client.inner().clone(), Patience::endless()),
        view: View::default(),
        screen: FullScreen::enter(true)?,
    };
    watch.run().await
}

struct Watch {
    updates: Receiver<Result<Update, Error>>,
    view: View,
    screen: FullScreen,
}

impl Watch {
    async fn run(&mut self) -> Result<u8, Failure> {
        loop {
            tokio::select! {
                update = self.updates.recv() => {
                    let Some(update) = update else { return Ok(exit::OK) };
                    self.view.take(update?, Timestamp::now());
                    self.screen.changed();
                }
                turn = self.screen.turn(keys) => match turn? {
                    Turn::Keys(keys) => for key in keys {
                        match key {
                            Key::Quit => return Ok(exit::OK),
                            Key::Suspend => self.screen.suspend()?,
                            other => self.view.scroll(other),
                        }
                    },
                    Turn::Draw => self.draw()?,
                    Turn::End(code) => return Ok(code),
                },
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
