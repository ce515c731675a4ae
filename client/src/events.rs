//! The daemon's event stream, followed over its restarts.

use std::time::Duration;

use protocol::{
    events::{Event, EventsQuery},
    sessions::Session,
};
use tokio::{
    sync::mpsc::{self, Receiver, Sender},
    time::timeout,
};

use crate::{
    error::{Error, MayPass, Unknown},
    patience::Patience,
    requests::{Client, with_query},
};

/// What becomes known.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every update is the large one")]
pub enum Update {
    /// The daemon is there: what was known is current again, or is told next.
    Connected,
    /// All sessions there are.
    State(Vec<Session>),
    /// What changed; never a gap, which becomes a state.
    Event(Event),
    /// The daemon is away: what is known may not be so any more.
    Away,
}

/// Follows the events until the receiver is dropped; an error ends it, and so does a daemon that is away for longer than
/// the patience.
pub fn follow(client: Client, patience: Patience) -> Receiver<Result<Update, Error>> {
    let (updates, received) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let mut follower = Follower {
            client,
            updates,
            patience,
            after: None,
        };
        while let Err(Some(error)) = follower.connect().await {
            if error.is_about_the_link() && follower.tell(Ok(Update::Away)).await.is_err() {
                return;
            }
            if let Err(error) = follower.patience.bear(error).await {
                follower.tell(Err(error)).await.ok();
                return;
            }
        }
    });
    received
}

struct Follower {
    client: Client,
    updates: Sender<Result<Update, Error>>,
    patience: Patience,
    /// The number of the last event seen.
    after: Option<u64>,
}

impl Follower {
    /// Follows one connection to its end; without an error, nobody wants to know any more.
    async fn connect(&mut self) -> Result<(), Option<Error>> {
        let query = EventsQuery { after: self.after };
        let mut stream = self.client.open(&with_query("/events", &query)).await?;
        self.patience.worked();
        self.tell(Ok(Update::Connected)).await?;
        let mut blocks = Blocks::default();
        loop {
            let chunk = timeout(SILENCE, stream.chunk())
                .await
                .map_err(|_| Error::lost("the daemon has said nothing for too long"))??
                .ok_or_else(|| Error::lost("the daemon ended the event stream"))?;
            blocks.0.extend_from_slice(chunk.as_ref());
            while let Some(block) = blocks.next() {
                if let Some((number, event)) = parse(&block)? {
                    let update = match event {
                        Event::Gap => Update::State(self.client.get("/sessions").await?),
                        other => Update::Event(other),
                    };
                    self.tell(Ok(update)).await?;
                    self.after = Some(number);
                }
            }
        }
    }

    async fn tell(&self, update: Result<Update, Error>) -> Result<(), Option<Error>> {
        self.updates.send(update).await.map_err(|_| None)
    }
}

/// Blocks of a stream of server-sent events (WHATWG HTML, section 9.2.5), as our daemon writes them: lines end in LF.
#[derive(Default)]
struct Blocks(Vec<u8>);

impl Blocks {
    fn next(&mut self) -> Option<Vec<u8>> {
        let end = self.0.windows(2).position(|pair| pair == b"\n\n")?;
        Some(self.0.drain(..end + 2).collect())
    }
}

/// The event of a block; a comment has none.
fn parse(block: &[u8]) -> Result<Option<(u64, Event)>, Error> {
    let text = String::from_utf8_lossy(block);
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    let Some(data) = field("data:") else {
        return Ok(None);
    };
    let number = field("id:").and_then(|id| id.parse().ok());
    match (number, serde_json::from_str(data)) {
        (Some(number), Ok(event)) => Ok(Some((number, event))),
        _ => Err(Error::NotUnderstood(Unknown::Event, data.to_owned())),
    }
}

/// Updates that wait to be taken.
const QUEUE: usize = 64;
/// The daemon says a comment every 25 s.
const SILENCE: Duration = Duration::from_secs(80);

#[cfg(test)]
mod tests {
    use protocol::events::Event;

    use super::{Blocks, parse};

    #[test]
    fn events_are_found_wherever_the_stream_was_cut() {
        let stream = b":\n\nid: 7\nevent: gap\ndata: {\"kind\":\"gap\"}\n\nid: 8\nevent: session_removed\n\
            data: {\"kind\":\"session_removed\",\"id\":\"ses_1\"}\n\n";
        let mut blocks = Blocks::default();
        let mut events = Vec::new();
        for byte in stream {
            blocks.0.push(*byte);
            while let Some(block) = blocks.next() {
                events.extend(parse(&block).unwrap());
            }
        }
        let removed = Event::SessionRemoved {
            id: "ses_1".to_owned(),
        };
        assert_eq!(events, [(7, Event::Gap), (8, removed)]);
    }

    #[test]
    fn an_event_that_is_not_understood_is_no_silence() {
        assert!(parse(b"id: 1\ndata: {\"kind\":\"other\"}\n\n").is_err());
        assert!(parse(b"data: {\"kind\":\"gap\"}\n\n").is_err());
        assert!(parse(b": comment\n\n").unwrap().is_none());
    }
}
