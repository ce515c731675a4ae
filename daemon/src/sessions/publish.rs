//! Telling everybody who follows the events that a session changed.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use protocol::events::Event;
use tokio::sync::watch;

use super::{Sessions, presence::Counts, record::Record};
use crate::events::Events;

/// Publishes the session now, and again whenever it changes, until its record is gone. While nobody follows the events
/// nothing is drawn up; the first who comes gets what changed meanwhile.
pub(super) fn spawn(sessions: Sessions, record: &Arc<Record>) {
    let follower = Follower {
        events: sessions.shared.events.clone(),
        changes: record.engine.changes(),
        state: record.engine.state(),
        presence: record.presence.subscribe(),
        record: Arc::downgrade(record),
    };
    follower.publish();
    tokio::spawn(async move {
        let mut follower = follower;
        follower.until_exit().await;
        sessions.trim();
        follower.after_exit().await;
    });
}

struct Follower {
    events: Events,
    changes: terminal::Changes,
    state: watch::Receiver<terminal::SessionState>,
    presence: watch::Receiver<Counts>,
    record: Weak<Record>,
}

impl Follower {
    async fn until_exit(&mut self) {
        while self.state.borrow_and_update().exit().is_none() {
            tokio::select! {
                () = self.changes.changed() => {}
                _ = self.presence.changed() => {}
                changed = self.state.changed() => if changed.is_err() { return },
            }
            if self.state.borrow().exit().is_none() {
                tokio::select! {
                    () = self.events.has_reader() => {}
                    _ = self.state.changed() => {}
                }
            }
            self.publish();
            tokio::time::sleep(PAUSE).await;
        }
        self.publish();
    }

    /// Ends when the record is gone, and its sender of counts with it.
    async fn after_exit(&mut self) {
        while self.presence.changed().await.is_ok() {
            self.publish();
        }
    }

    fn publish(&self) {
        if let Some(record) = self.record.upgrade() {
            self.events.publish(Event::Session {
                session: record.show(),
            });
        }
    }
}

/// Between two events of one session: what a person can follow in a list.
const PAUSE: Duration = Duration::from_millis(200);
