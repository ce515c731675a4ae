//! An attachment that comes back by itself: the same terminal, its next byte, and every key once.

use std::time::Duration;

use protocol::attach::{ClientMessage, Hello, Mode, ServerMessage};
use tokio::{
    sync::mpsc::{self, Receiver, Sender, UnboundedReceiver, UnboundedSender, error::SendError},
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout},
};

use super::{Begin, Incoming, Outgoing, attach_as, unconfirmed::Unconfirmed};
use crate::{
    error::{Error, MayPass},
    patience::Backoff,
    random,
    requests::Client,
};

/// What comes over an attachment.
#[derive(Debug)]
pub enum Event {
    /// The session says something; output goes on where it stopped, or begins anew with a snapshot.
    Message(ServerMessage),
    /// The connection is lost, and is being made anew.
    Away,
    /// The connection is there again.
    Back(Box<Hello>),
    /// So many keys of which nobody knows whether the program got them; they are not sent again.
    Unconfirmed(usize),
    /// The end: it does not come back.
    Lost(Error),
}

/// A session that is followed, over as many connections as that takes: after a loss output goes on with its next byte, and what was
/// typed and is not known to be with the program is sent again, once.
#[derive(Debug)]
pub struct Attachment {
    /// What the session said of itself first.
    pub hello: Hello,
    /// What is said to the session: input whose sequences count from 1, and an acknowledgement of what was drawn, without which
    /// little more comes. Dropping it ends the attachment, behind whatever was said last.
    pub say: UnboundedSender<ClientMessage>,
    /// What the session says; the last is the program's exit, or why it is lost.
    pub events: Receiver<Event>,
    /// Its course; gives back how many keys were never confirmed, 0 where the program has ended.
    pub course: JoinHandle<usize>,
}

impl Attachment {
    /// Attaches to the session with this id. A lost connection is made anew for `patience`, or until the session is left.
    ///
    /// # Errors
    /// What kept the first connection from being made, or the daemon's refusal.
    pub async fn open(
        client: &Client,
        session: &str,
        mode: Mode,
        begin: Begin,
        patience: Option<Duration>,
    ) -> Result<Self, Error> {
        let wish = Wish {
            client: client.clone(),
            session: session.to_owned(),
            mode,
            id: random_id()?,
        };
        let (outgoing, incoming, hello) = connect(wish.clone(), begin).await?;
        let ((say, said), (events, received)) = (mpsc::unbounded_channel(), mpsc::channel(EVENTS));
        let course = Course {
            wish,
            begin,
            patience,
            instance: hello.instance.clone(),
            unconfirmed: Unconfirmed::default(),
            size: None,
            has_ended: false,
            was_rejected: false,
        };
        Ok(Self {
            hello,
            say,
            events: received,
            course: tokio::spawn(course.run((outgoing, incoming), said, events)),
        })
    }
}

/// What is attached to, and as whom.
#[derive(Clone, Debug)]
struct Wish {
    client: Client,
    session: String,
    mode: Mode,
    id: String,
}

struct Course {
    wish: Wish,
    /// Where the next connection begins.
    begin: Begin,
    patience: Option<Duration>,
    instance: String,
    unconfirmed: Unconfirmed,
    size: Option<ClientMessage>,
    /// Whether the program has ended: nothing more comes.
    has_ended: bool,
    /// Whether an attachment was rejected before, though the daemon knew who this is.
    was_rejected: bool,
}

/// How a connection ended.
enum Outcome {
    /// Nobody wants it any more.
    Left,
    /// It is gone.
    Ended(Error),
}

impl Course {
    async fn run(
        mut self,
        mut connection: (Outgoing, Incoming),
        mut said: UnboundedReceiver<ClientMessage>,
        events: Sender<Event>,
    ) -> usize {
        loop {
            let (outgoing, mut incoming) = connection;
            let (tell, to_daemon) = mpsc::unbounded_channel();
            let sending = tokio::spawn(send_all(outgoing, to_daemon));
            let again = self.size.iter().cloned().chain(self.unconfirmed.messages());
            again.for_each(|message| drop(tell.send(message)));
            let error = match self.follow(&mut incoming, &tell, &mut said, &events).await {
                Outcome::Left => {
                    let keys = self.last_words(&mut incoming, &tell, &mut said).await;
                    drop(tell);
                    let abort = sending.abort_handle();
                    if timeout(LAST_WORDS, sending).await.is_err() {
                        abort.abort();
                    }
                    return keys;
                }
                Outcome::Ended(error) => error,
            };
            sending.abort();
            if self.has_ended {
                return 0;
            }
            let error = match error.is_rejection() && !self.was_rejected {
                true => {
                    self.was_rejected = true;
                    self.wish.client.verdict(error).await
                }
                false => error,
            };
            let back = if error.is_about_the_link() {
                self.come_back(error, &mut said, &events).await
            } else {
                Err(Some(error))
            };
            connection = match back {
                Ok(connection) => connection,
                Err(error) => {
                    if let Some(error) = error {
                        events.send(Event::Lost(error)).await.ok();
                    }
                    let mut given_up = 0;
                    while let Ok(message) = said.try_recv() {
                        given_up += self.remember(&message);
                    }
                    return given_up + self.unconfirmed.keys();
                }
            };
        }
    }

    /// Passes everything on, both ways, while the connection is there.
    async fn follow(
        &mut self,
        incoming: &mut Incoming,
        tell: &UnboundedSender<ClientMessage>,
        said: &mut UnboundedReceiver<ClientMessage>,
        events: &Sender<Event>,
    ) -> Outcome {
        let mut pings = interval_at(Instant::now() + PING, PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut number, mut heard) = (0, Instant::now());
        loop {
            tokio::select! {
                message = incoming.next() => {
                    let message = match message {
                        Ok(message) => message,
                        Err(error) => return Outcome::Ended(error),
                    };
                    let given_up = self.note(&message);
                    match pass_on(message, events).await {
                        Ok(until) => heard = until,
                        Err(_) => return Outcome::Left,
                    }
                    if tell_given_up(given_up, events).await.is_err() {
                        return Outcome::Left;
                    }
                }
                message = said.recv() => {
                    let Some(message) = message else { return Outcome::Left };
                    if tell_given_up(self.remember(&message), events).await.is_err() {
                        return Outcome::Left;
                    }
                    // Where the sender has failed, the receiver does so as well.
                    tell.send(message).ok();
                }
                _ = pings.tick() => {
                    if heard.elapsed() > SILENCE {
                        return Outcome::Ended(Error::lost("the daemon does not answer any more"));
                    }
                    number += 1;
                    tell.send(ClientMessage::Ping { number }).ok();
                }
            }
        }
    }

    /// Passes on what was said before the session was left, and waits a moment until the program has what was typed; gives
    /// back how many keys it did not get meanwhile.
    async fn last_words(
        &mut self,
        incoming: &mut Incoming,
        tell: &UnboundedSender<ClientMessage>,
        said: &mut UnboundedReceiver<ClientMessage>,
    ) -> usize {
        let until = Instant::now() + LAST_WORDS;
        let (mut given_up, mut is_all) = (0, false);
        while !(self.has_ended || is_all && self.unconfirmed.is_empty()) {
            tokio::select! {
                biased;
                message = said.recv(), if !is_all => match message {
                    Some(message) => {
                        given_up += self.remember(&message);
                        tell.send(message).ok();
                    }
                    None => is_all = true,
                },
                message = incoming.next() => match message {
                    Ok(message) => given_up += self.note(&message),
                    Err(_) => break,
                },
                () = sleep_until(until) => break,
            }
        }
        if self.has_ended {
            0
        } else {
            given_up + self.unconfirmed.keys()
        }
    }

    /// Makes a connection again; what is said meanwhile is kept. `Err` without an error where nobody wants it any more.
    async fn come_back(
        &mut self,
        error: Error,
        said: &mut UnboundedReceiver<ClientMessage>,
        events: &Sender<Event>,
    ) -> Result<(Outgoing, Incoming), Option<Error>> {
        let began = Instant::now();
        let (mut backoff, mut is_told) = (Backoff::default(), false);
        loop {
            let (wish, begin, pause) = (self.wish.clone(), self.begin, backoff.next_delay());
            let attempt = async move {
                tokio::time::sleep(pause).await;
                connect(wish, begin).await
            };
            tokio::pin!(attempt);
            let outcome = loop {
                tokio::select! {
                    outcome = &mut attempt => break outcome,
                    message = said.recv() => match message {
                        Some(message) => tell_given_up(self.remember(&message), events).await.map_err(|_| None)?,
                        None => return Err(None),
                    },
                    () = sleep_until(began + UNNOTICED), if !is_told => {
                        is_told = true;
                        events.send(Event::Away).await.map_err(|_| None)?;
                    }
                }
            };
            match outcome {
                Ok((outgoing, incoming, hello)) => {
                    let given_up = self.greet(&hello)?;
                    let back = Event::Back(Box::new(hello));
                    events.send(back).await.map_err(|_| None)?;
                    tell_given_up(given_up, events).await.map_err(|_| None)?;
                    return Ok((outgoing, incoming));
                }
                Err(refusal) if !refusal.is_about_the_link() => return Err(Some(refusal)),
                Err(_) if self.patience.is_some_and(|patience| began.elapsed() >= patience) => {
                    return Err(Some(error));
                }
                Err(_) => {}
            }
        }
    }

    /// Takes what the daemon says when it is there again; gives back how many keys are given up.
    fn greet(&mut self, hello: &Hello) -> Result<usize, Error> {
        if hello.instance != self.instance {
            return Err(Error::lost("another daemon answers where this was attached"));
        }
        if let Some(applied) = hello.input_applied {
            self.unconfirmed.confirm(applied);
        }
        self.wish.mode = hello.mode;
        Ok(if hello.input_applied.is_none() || hello.mode != Mode::Write {
            self.unconfirmed.give_up()
        } else {
            0
        })
    }

    /// Gives back how many keys are given up: who may not type any more must not type them at the next connection.
    fn note(&mut self, message: &ServerMessage) -> usize {
        match message {
            ServerMessage::Hello(hello) if hello.mode != Mode::Write => {
                self.wish.mode = hello.mode;
                return self.unconfirmed.give_up();
            }
            ServerMessage::Output { offset, bytes } => {
                self.begin = Begin::Offset(offset + bytes.len() as u64);
            }
            ServerMessage::Snapshot { ground, .. } => self.begin = Begin::Offset(*ground),
            ServerMessage::InputApplied { sequence } => self.unconfirmed.confirm(*sequence),
            ServerMessage::Exit(_) => self.has_ended = true,
            _ => {}
        }
        0
    }

    /// Gives back how many keys go nowhere, as they were typed before it was known that this only views.
    fn remember(&mut self, message: &ClientMessage) -> usize {
        match message {
            ClientMessage::Input { sequence, bytes } => {
                self.unconfirmed.push(*sequence, bytes.clone());
                if self.wish.mode != Mode::Write {
                    return self.unconfirmed.give_up();
                }
            }
            ClientMessage::Size { .. } => self.size = Some(message.clone()),
            _ => {}
        }
        0
    }
}

/// Passes a message on. Gives the moment up to which the daemon was heard of: while nobody takes what it said, it is not
/// listened to, and its silence is no fault of its own.
///
/// # Errors
/// Nobody hears any more.
async fn pass_on(message: ServerMessage, events: &Sender<Event>) -> Result<Instant, SendError<Event>> {
    if !matches!(message, ServerMessage::Pong { .. }) {
        events.send(Event::Message(message)).await?;
    }
    Ok(Instant::now())
}

/// # Errors
/// Nobody hears any more.
async fn tell_given_up(keys: usize, events: &Sender<Event>) -> Result<(), SendError<Event>> {
    if keys == 0 {
        return Ok(());
    }
    events.send(Event::Unconfirmed(keys)).await
}

async fn connect(wish: Wish, begin: Begin) -> Result<(Outgoing, Incoming, Hello), Error> {
    let Wish {
        client,
        session,
        mode,
        id,
    } = &wish;
    let (outgoing, mut incoming) = attach_as(client, session, *mode, begin, Some(id)).await?;
    let hello = timeout(GREETING, incoming.next())
        .await
        .map_err(|_| Error::TimedOut(client.place().clone()))??;
    match hello {
        ServerMessage::Hello(hello) => Ok((outgoing, incoming, hello)),
        _ => Err(Error::lost("the daemon did not say what this is attached to")),
    }
}

/// Sends what is said until nobody says anything any more, then closes.
async fn send_all(mut outgoing: Outgoing, mut messages: UnboundedReceiver<ClientMessage>) {
    while let Some(message) = messages.recv().await {
        if outgoing.send(&message).await.is_err() {
            return;
        }
    }
    outgoing.close().await;
}

/// Which client this is, over all its connections.
fn random_id() -> Result<String, Error> {
    Ok(format!("{:032x}", u128::from_be_bytes(random::bytes()?)))
}

/// Events that wait to be taken.
const EVENTS: usize = 16;
/// Between two pings; a writer that is not heard of for 30 s holds no size.
const PING: Duration = Duration::from_secs(10);
/// A daemon that says nothing for so long, though it is pinged, is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// A loss that is over sooner is not worth a word.
const UNNOTICED: Duration = Duration::from_millis(300);
/// How long the daemon may take for its first message.
const GREETING: Duration = Duration::from_secs(5);
/// How long what was said last may take to be sent, and what was typed last to be with the program.
const LAST_WORDS: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
