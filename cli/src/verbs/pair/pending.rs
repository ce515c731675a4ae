//! `transom pair --pending`: the devices that ask, with an offer or without.

mod list;

use std::io::{IsTerminal, stdin, stdout};

use jiff::Timestamp;
use pairing::RequestId;
use protocol::pairing::{Approve, RequestView};
use serde_json::json;
use tokio::sync::mpsc::Receiver;

use self::list::{Key, List, keys};
use super::{
    news::{self, News},
    words,
};
use crate::{
    client::Client,
    exit,
    failure::Failure,
    full_screen::{FullScreen, Turn},
    output,
    verbs::approve::Terms,
};

/// Shows who asks: on a terminal until told to stop, with a yes or no for each; else once.
pub(super) async fn run(client: Client, terms: Terms, json: bool) -> Result<u8, Failure> {
    let mut requests: Vec<RequestView> = client.get("/pairing/requests").await?;
    requests.retain(list::is_open);
    if json {
        output::json(&requests)?;
    } else if stdout().is_terminal() && super::can_draw() {
        return show(client, terms).await;
    } else if requests.is_empty() {
        output::note("nobody asks to be paired");
    } else {
        let table = list::table(&requests, Timestamp::now());
        output::line(&table.render(output::width()))?;
    }
    Ok(exit::OK)
}

async fn show(client: Client, terms: Terms) -> Result<u8, Failure> {
    let has_keys = stdin().is_terminal();
    let mut pending = Pending {
        news: news::of_requests(&client),
        screen: FullScreen::enter(has_keys)?,
        list: List::new(has_keys, terms.role),
        client,
        terms,
    };
    let outcome = pending.run().await;
    let Pending { screen, list, .. } = pending;
    drop(screen);
    for request in list.paired() {
        output::line(&words::paired(request))?;
    }
    outcome
}

struct Pending {
    client: Client,
    terms: Terms,
    news: Receiver<Result<News, Failure>>,
    screen: FullScreen,
    list: List,
}

impl Pending {
    async fn run(&mut self) -> Result<u8, Failure> {
        loop {
            tokio::select! {
                news = self.news.recv() => {
                    let Some(news) = news else { return Ok(exit::OK) };
                    self.list.take(news?, Timestamp::now());
                    self.screen.changed();
                }
                turn = self.screen.turn(keys) => match turn? {
                    Turn::Keys(keys) => {
                        self.list.has_keys = self.screen.has_keys();
                        for key in keys {
                            match key {
                                Key::Quit => return Ok(exit::OK),
                                Key::Suspend => self.screen.suspend()?,
                                Key::Yes | Key::No => match self.list.asked() {
                                    Some(id) => self.decide(id, key == Key::Yes).await?,
                                    None => self.list.press(key),
                                },
                                other => self.list.press(other),
                            }
                        }
                    }
                    Turn::Draw => self.draw()?,
                    Turn::End(code) => return Ok(code),
                },
            }
        }
    }

    async fn decide(&mut self, id: RequestId, is_yes: bool) -> Result<(), Failure> {
        let decided = if is_yes {
            let path = format!("/pairing/requests/{id}/approve");
            let approved = self.client.post(&path, &Approve::from(&self.terms)).await;
            approved.map(|request: RequestView| self.list.approved(request))
        } else {
            let path = format!("/pairing/requests/{id}/reject");
            let rejected = self.client.send(&path, &json!({})).await;
            rejected.map(|()| self.list.rejected(id))
        };
        match decided {
            Ok(()) => Ok(()),
            // It may be over by now, which the next list says; everything else goes on.
            Err(Failure::Problem { problem, .. }) => {
                self.list.refused(problem.detail);
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let size = self.screen.size();
        let frame = self.list.frame(size, Timestamp::now());
        self.screen.draw(frame, output::has_colour())?;
        Ok(())
    }
}
