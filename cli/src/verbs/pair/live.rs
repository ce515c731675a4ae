//! `transom pair` on a terminal.

use std::{
    io::{IsTerminal, stdin},
    time::Duration,
};

use jiff::Timestamp;
use pairing::RequestId;
use tokio::{sync::mpsc::Receiver, time::Instant};

use super::{
    counter::Counter,
    desk::Happened,
    news::{self, News},
    view::View,
    words,
};
use crate::{
    exit,
    failure::Failure,
    full_screen::{self, FullScreen, Turn},
    output,
};

/// Lets devices in until one is, or the person has enough.
pub(super) async fn show(mut counter: Counter, mut view: View) -> Result<u8, Failure> {
    // What keeps an offer from being made is said as of any other verb.
    counter.offer().await?;
    view.has_keys = stdin().is_terminal();
    view.has_colour = output::has_colour();
    let mut live = Live {
        news: news::of_offers(&counter.client, true),
        screen: FullScreen::enter(view.has_keys)?,
        counter,
        view,
    };
    let outcome = live.run().await;
    let Live {
        screen, mut counter, ..
    } = live;
    drop(screen);
    counter.close().await;
    for request in counter.desk.paired() {
        output::line(&words::paired(request))?;
    }
    match outcome? {
        Outcome::Done => Ok(exit::OK),
        Outcome::Left if counter.desk.finishing().is_none() && !counter.desk.paired().is_empty() => {
            Ok(exit::OK)
        }
        Outcome::Left => {
            // It is what was asked for: the code alone tells a script that nobody was let in.
            output::note(&words::broken_off(counter.desk.finishing()));
            Ok(exit::FAILED)
        }
    }
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Whoever came is in.
    Done,
    /// The person left.
    Left,
}

struct Live {
    news: Receiver<Result<News, Failure>>,
    screen: FullScreen,
    counter: Counter,
    view: View,
}

impl Live {
    async fn run(&mut self) -> Result<Outcome, Failure> {
        loop {
            // Before anything is drawn, so that there is no moment without a code.
            let happened = self.counter.desk.renew(Timestamp::now());
            self.note(happened.as_slice());
            if self.counter.keep_offering().await? {
                self.screen.draw_at(Instant::now());
            }
            if self.is_done() {
                return Ok(Outcome::Done);
            }
            tokio::select! {
                news = self.news.recv() => {
                    let Some(news) = news else { return Ok(Outcome::Left) };
                    let happened = self.counter.desk.take(news?, Timestamp::now());
                    self.take(happened).await?;
                    self.screen.changed();
                }
                turn = self.screen.turn(|typed| full_screen::keys(typed, &KEYS)) => match turn? {
                    Turn::Keys(keys) => {
                        self.view.has_keys = self.screen.has_keys();
                        for key in keys {
                            if self.press(key).await? {
                                return Ok(Outcome::Left);
                            }
                        }
                    }
                    Turn::Draw => self.draw()?,
                    Turn::End(_) => return Ok(Outcome::Left),
                },
            }
        }
    }

    /// Whether whoever came is in; of several the first one has been, where nobody is asked.
    fn is_done(&self) -> bool {
        let desk = &self.counter.desk;
        desk.is_done() || (self.view.is_yes && !desk.paired().is_empty())
    }

    /// Whether the person leaves by this key.
    async fn press(&mut self, key: Key) -> Result<bool, Failure> {
        let now = Timestamp::now();
        match key {
            Key::Quit => return Ok(true),
            Key::Suspend => self.screen.suspend()?,
            Key::Link => self.view.shows_link = !self.view.shows_link,
            Key::Turn => self.view.is_turned = !self.view.is_turned,
            Key::Yes | Key::No => {
                self.view.look(&self.counter.desk, now);
                if let Some(id) = self.view.answerable(now).filter(|_| !self.view.is_yes) {
                    self.decide(id, key == Key::Yes).await?;
                }
            }
        }
        Ok(false)
    }

    async fn decide(&mut self, id: RequestId, is_yes: bool) -> Result<(), Failure> {
        match self.counter.decide(id, is_yes).await {
            Ok(happened) => self.note(happened.as_slice()),
            // It may be over by now, which the next list says; everything else goes on.
            Err(Failure::Problem { problem, .. }) => self.view.note = Some(problem.detail),
            Err(failure) => return Err(failure),
        }
        self.view.look(&self.counter.desk, Timestamp::now());
        Ok(())
    }

    async fn take(&mut self, happened: Vec<Happened>) -> Result<(), Failure> {
        self.note(&happened);
        self.view.look(&self.counter.desk, Timestamp::now());
        let first = self.counter.desk.questions().next().map(|request| request.id);
        match first {
            Some(id) if self.view.is_yes && !self.is_done() => self.decide(id, true).await,
            _ => Ok(()),
        }
    }

    fn note(&mut self, happened: &[Happened]) {
        for happened in happened {
            self.view.note = match happened {
                Happened::Claimed(_) | Happened::Approved(_) => None,
                Happened::Paired(request) => Some(words::paired_in_a_note(request)),
                Happened::Ended(request, end) => Some(words::ended(request, *end)),
                Happened::OfferEnded(why) => match words::replaced(*why) {
                    Some(why) => Some(why.to_owned()),
                    None => continue,
                },
            };
        }
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let now = Timestamp::now();
        let size = self.screen.size();
        let frame = self.view.frame(&self.counter.desk, size, now);
        self.screen.draw(frame, self.view.has_colour)?;
        let settling = self.view.settles_at(now).map(|at| at.duration_since(now));
        if let Some(left) = settling.and_then(|left| Duration::try_from(left).ok()) {
            self.screen.draw_at(Instant::now() + left);
        }
        Ok(())
    }
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Yes,
    No,
    Quit,
    Suspend,
    Link,
    Turn,
}

const KEYS: [(&[u8], Key); 13] = [
    (b"y", Key::Yes),
    (b"Y", Key::Yes),
    (b"n", Key::No),
    (b"N", Key::No),
    (b"q", Key::Quit),
    (b"Q", Key::Quit),
    (b"\x03", Key::Quit),
    (b"\x04", Key::Quit),
    (b"\x1c", Key::Quit),
    (b"\x1a", Key::Suspend),
    (b"l", Key::Link),
    (b"L", Key::Link),
    (b"i", Key::Turn),
];
