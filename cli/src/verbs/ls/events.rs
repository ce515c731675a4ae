//! The changes of sessions as lines of JSON.

use std::{collections::BTreeMap, pin::pin};

use ::client::events::{self, Update};
use protocol::{events::Event, sessions::Session};

use crate::{client::Client, exit, failure::Failure, output, patience};

/// Prints each session, and then each change, until nobody reads any more.
pub(super) async fn print(client: Client) -> Result<u8, Failure> {
    // Where no daemon runs, that is said instead of waited out.
    client.get::<Vec<Session>>("/sessions").await?;
    let mut updates = events::follow(client.inner().clone(), patience::bounded());
    let mut known = Known::default();
    let mut gone = pin!(output::reader_gone());
    loop {
        let update = tokio::select! {
            update = updates.recv() => update,
            () = &mut gone => return Err(Failure::ClosedPipe),
        };
        let Some(update) = update else {
            return Ok(exit::OK);
        };
        for event in known.take(update?) {
            output::json(&event)?;
        }
    }
}

/// The sessions as they were told.
#[derive(Default)]
struct Known(BTreeMap<String, Session>);

impl Known {
    /// What is to be told of the update: of a whole state, what is different in it.
    fn take(&mut self, update: Update) -> Vec<Event> {
        match update {
            Update::Connected | Update::Away => Vec::new(),
            Update::Event(event) => self.note(event).into_iter().collect(),
            Update::State(sessions) => {
                let gone = self
                    .0
                    .keys()
                    .filter(|id| sessions.iter().all(|session| session.id != **id));
                let gone: Vec<Event> = gone.map(|id| Event::SessionRemoved { id: id.clone() }).collect();
                let there = sessions.into_iter().map(|session| Event::Session { session });
                gone.into_iter()
                    .chain(there)
                    .filter_map(|event| self.note(event))
                    .collect()
            }
        }
    }

    /// The event, unless it says what was told already.
    fn note(&mut self, event: Event) -> Option<Event> {
        let is_new = match &event {
            Event::Gap | Event::DevicePaired { .. } => false,
            Event::SessionRemoved { id } => self.0.remove(id).is_some(),
            Event::Session { session } => {
                self.0.insert(session.id.clone(), session.clone()).as_ref() != Some(session)
            }
        };
        is_new.then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use protocol::events::Event;

    use super::{super::rows::tests::session, Known};
    use ::client::events::Update;

    fn told(known: &mut Known, update: Update) -> Vec<String> {
        let events = known.take(update).into_iter();
        let name = |event| match event {
            Event::Session { session } => format!("+{}", session.name),
            Event::SessionRemoved { id } => format!("-{id}"),
            Event::Gap | Event::DevicePaired { .. } => "gap".to_owned(),
        };
        events.map(name).collect()
    }

    #[test]
    fn a_state_after_a_gap_tells_only_what_is_different() {
        let mut known = Known::default();
        let (a, b, mut c) = (
            session("a", "idle", 1),
            session("b", "idle", 1),
            session("c", "idle", 1),
        );
        assert_eq!(
            told(&mut known, Update::State(vec![a.clone(), b, c.clone()])),
            ["+a", "+b", "+c"]
        );
        assert_eq!(told(&mut known, Update::Away), [""; 0]);
        c.viewers += 1;
        assert_eq!(
            told(&mut known, Update::State(vec![a.clone(), c])),
            ["-ses_b", "+c"]
        );
        assert_eq!(
            told(&mut known, Update::Event(Event::Session { session: a })),
            [""; 0]
        );
    }
}
