//! Ordered facts about sessions, kept for a while so that a cut stream can resume.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use protocol::events::Event;
use server::Newcomer;
use tokio::sync::{
    broadcast::{self, error::RecvError},
    watch,
};

use crate::crowd::Crowd;

/// The events of this run of the daemon.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    kept: Arc<Mutex<Kept>>,
    newest: watch::Sender<u64>,
    streams: Arc<Crowd<u64>>,
    readers: watch::Sender<usize>,
}

#[derive(Debug)]
struct Kept {
    newest: u64,
    /// The newest of those that nobody can get any more without having had a later one about the same.
    lost: u64,
    /// In the order of their numbers. Of each session only the newest event is kept: it holds the whole state.
    events: VecDeque<(u64, Arc<Event>)>,
}

impl Events {
    /// Begins with a number that no earlier run reached: `started_ms` is the wall clock at the start. Within a runtime.
    pub(crate) fn new(started_ms: i64) -> Self {
        let base = started_ms.max(0).cast_unsigned() * NUMBERS_PER_MS;
        let kept = Kept {
            newest: base,
            lost: base,
            events: VecDeque::with_capacity(KEPT),
        };
        let (newest, streams) = (watch::Sender::new(base), Arc::new(Crowd::new(base)));
        tokio::spawn(relay(newest.subscribe(), Arc::clone(&streams)));
        Self {
            kept: Arc::new(Mutex::new(kept)),
            newest,
            streams,
            readers: watch::Sender::new(0),
        }
    }

    /// Appends an event and wakes every stream.
    pub(crate) fn publish(&self, event: Event) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = session_of(&event) {
            kept.events
                .retain(|(_, former)| session_of(former) != Some(session));
        }
        if kept.events.len() == KEPT
            && let Some((number, _)) = kept.events.pop_front()
        {
            kept.lost = number;
        }
        kept.newest += 1;
        let number = kept.newest;
        kept.events.push_back((number, Arc::new(event)));
        // Sent under the lock, so that no stream sees an older number after a newer one.
        self.newest.send_replace(number);
    }

    /// A stream that goes on after the number; without one, or with one that is not known here, it begins with a gap.
    pub(crate) fn after(&self, after: Option<u64>) -> EventStream {
        self.readers.send_modify(|readers| *readers += 1);
        EventStream {
            position: after.unwrap_or(UNKNOWN),
            newest: self.streams.subscribe(),
            events: self.clone(),
        }
    }

    /// Waits until somebody follows.
    pub(crate) async fn has_reader(&self) {
        // The sender lives in `self`.
        let _ = self.readers.subscribe().wait_for(|readers| *readers > 0).await;
    }

    fn next_after(&self, position: u64) -> Option<(u64, Arc<Event>)> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if position == kept.newest {
            return None;
        }
        if position > kept.newest || position < kept.lost {
            return Some((kept.newest, Arc::new(Event::Gap)));
        }
        let next = kept.events.partition_point(|(number, _)| *number <= position);
        kept.events.get(next).cloned()
    }
}

/// Tells every stream the newest number, until the events are gone.
async fn relay(mut newest: watch::Receiver<u64>, streams: Arc<Crowd<u64>>) {
    while newest.changed().await.is_ok() {
        let number = *newest.borrow_and_update();
        streams.tell(number).await;
    }
}

/// Tells of each device that is paired, until the daemon ends.
pub(crate) async fn tell_of_newcomers(mut newcomers: broadcast::Receiver<Newcomer>, events: Events) {
    loop {
        match newcomers.recv().await {
            Ok(Newcomer { id, label, role }) => events.publish(Event::DevicePaired {
                device_id: id,
                label,
                role,
            }),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// The session whose whole state the event tells.
fn session_of(event: &Event) -> Option<&str> {
    match event {
        Event::Gap | Event::DevicePaired { .. } => None,
        Event::Session { session } => Some(&session.id),
        Event::SessionRemoved { id } => Some(id),
    }
}

/// A cursor into the events: a slow reader costs nothing but its own gap.
#[derive(Debug)]
pub(crate) struct EventStream {
    position: u64,
    newest: watch::Receiver<u64>,
    events: Events,
}

impl EventStream {
    /// The next event with its number; waits until there is one. `None` once the daemon ends.
    pub(crate) async fn next(&mut self) -> Option<(u64, Arc<Event>)> {
        loop {
            self.newest.borrow_and_update();
            if let Some((number, event)) = self.events.next_after(self.position) {
                self.position = number;
                return Some((number, event));
            }
            self.newest.changed().await.ok()?;
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.events.readers.send_modify(|readers| *readers -= 1);
    }
}

/// No number reaches it, so it is always answered with a gap.
const UNKNOWN: u64 = u64::MAX;

/// Events that a cut stream may have missed and still get; beyond it, it reads the state again.
const KEPT: usize = 1024;

/// A run would have to publish a thousand events a millisecond to reach the numbers of the next one; the numbers stay
/// below 2⁵³ until the year 2255.
const NUMBERS_PER_MS: u64 = 1000;

#[cfg(test)]
mod tests {
    use protocol::events::Event;

    use super::{Events, KEPT};

    fn removed(id: &str) -> Event {
        Event::SessionRemoved { id: id.to_owned() }
    }

    #[tokio::test]
    async fn a_new_stream_begins_with_a_gap_and_goes_on_live() {
        let events = Events::new(1);
        events.publish(removed("before"));
        let mut stream = events.after(None);
        assert_eq!(*stream.next().await.unwrap().1, Event::Gap);
        events.publish(removed("after"));
        assert_eq!(*stream.next().await.unwrap().1, removed("after"));
    }

    #[tokio::test]
    async fn a_cut_stream_resumes_without_a_hole() {
        let events = Events::new(1);
        let mut stream = events.after(None);
        let (seen, _) = stream.next().await.unwrap();
        drop(stream);
        for id in ["a", "b", "c"] {
            events.publish(removed(id));
        }
        let mut stream = events.after(Some(seen));
        for id in ["a", "b", "c"] {
            assert_eq!(*stream.next().await.unwrap().1, removed(id));
        }
    }

    #[tokio::test]
    async fn a_stream_that_missed_too_much_is_told_so() {
        let events = Events::new(1);
        let seen = events.after(None).next().await.unwrap().0;
        for number in 0..=KEPT {
            events.publish(removed(&number.to_string()));
        }
        let (number, event) = events.after(Some(seen)).next().await.unwrap();
        assert_eq!(*event, Event::Gap);
        assert_eq!(number, seen + KEPT as u64 + 1);
    }

    #[tokio::test]
    async fn of_one_session_a_resumed_stream_gets_the_newest_state_alone() {
        let events = Events::new(1);
        let seen = events.after(None).next().await.unwrap().0;
        for _ in 0..2 * KEPT {
            events.publish(removed("x"));
        }
        events.publish(removed("y"));
        let mut stream = events.after(Some(seen));
        assert_eq!(
            stream.next().await.unwrap(),
            (seen + 2 * KEPT as u64, removed("x").into())
        );
        assert_eq!(*stream.next().await.unwrap().1, removed("y"));
    }

    #[tokio::test]
    async fn numbers_of_another_run_are_answered_with_a_gap() {
        let earlier = Events::new(1_000).after(None).next().await.unwrap().0;
        assert_eq!(
            *Events::new(2_000).after(Some(earlier)).next().await.unwrap().1,
            Event::Gap
        );
        let later = Events::new(3_000).after(None).next().await.unwrap().0;
        assert_eq!(
            *Events::new(2_000).after(Some(later)).next().await.unwrap().1,
            Event::Gap
        );
    }
}
