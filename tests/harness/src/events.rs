//! A reader of server-sent events.

use protocol::events::Event;
use reqwest::Response;

use crate::{transcript, within};

/// An open event stream.
pub struct EventReader {
    response: Response,
    text: String,
}

impl EventReader {
    /// Reads from a response.
    ///
    /// # Panics
    /// Where it is no event stream.
    pub fn new(response: Response) -> Self {
        assert_eq!(response.status().as_u16(), 200);
        Self {
            response,
            text: String::new(),
        }
    }

    /// The next event with its number; `None` once the stream has ended.
    pub async fn next(&mut self) -> Option<(u64, Event)> {
        // Over all pieces together: comments that keep the stream alive are no events.
        within("an event", self.read_next()).await
    }

    async fn read_next(&mut self) -> Option<(u64, Event)> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                if let Some(event) = parse(&block) {
                    return Some(event);
                }
                continue;
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => {
                    transcript::bytes(&chunk);
                    self.text.push_str(&String::from_utf8_lossy(&chunk));
                }
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

fn parse(block: &str) -> Option<(u64, Event)> {
    let field = |name: &str| {
        block
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    let data = field("data:")?;
    let number = field("id:")
        .and_then(|id| id.parse().ok())
        .expect("every event has a number");
    Some((
        number,
        serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}")),
    ))
}
