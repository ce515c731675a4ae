//! Telling everybody who follows the events that a session changed.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use protocol::events::Event;
use tokio::{sync::watch, time::sleep};

use super::{
    Sessions,
    presence::{self, People},
    record::Record,
};
use crate::events::Events;

/// Publishes the session now, and again whenever it changes, until its record is gone. While nobody follows the events
/// nothing is drawn up; the first who comes gets what changed meanwhile. Those who are attached are told of each other too.
pub(super) fn spawn(sessions: Sessions, record: &Arc<Record>) {
    presence::pace(record);
    let follower = Follower {
        events: sessions.shared.events.clone(),
        presence: record.presence.subscribe(),
        revised: record.revised.subscribe(),
        record: Arc::downgrade(record),
    };
    // Watched from before the first event on, so that nothing is missed between.
    let watched = Watched::of(record);
    follower.publish();
    if watched.is_some() {
        sessions.end_inside_with(record);
    }
    tokio::spawn(async move {
        let mut follower = follower;
        let watched = match watched {
            Some(watched) => Some(watched),
            None => follower.until_reached(&sessions).await,
        };
        if let Some(watched) = watched {
            follower.until_exit(watched).await;
            if let Some(record) = follower.record.upgrade() {
                // A full disk may keep that waiting, and nobody else.
                tokio::spawn(async move { sessions.ended(&record).await });
            }
        }
        follower.after_exit().await;
    });
}

/// What a program that runs is watched by.
struct Watched {
    changes: terminal::Changes,
    state: watch::Receiver<terminal::SessionState>,
}

impl Watched {
    /// None of one that has ended, or that is out of reach.
    fn of(record: &Record) -> Option<Self> {
        let is_over = record.kept().ended.is_some();
        let engine = record.live().filter(|_| !is_over)?;
        Some(Self {
            changes: engine.changes(),
            state: engine.state(),
        })
    }
}

struct Follower {
    events: Events,
    presence: watch::Receiver<People>,
    revised: watch::Receiver<()>,
    record: Weak<Record>,
}

impl Follower {
    /// Follows a session that is out of reach until it is taken over, or lost.
    async fn until_reached(&mut self, sessions: &Sessions) -> Option<Watched> {
        loop {
            {
                let record = self.record.upgrade()?;
                if !record.is_out_of_reach() {
                    let watched = Watched::of(&record);
                    if watched.is_some() {
                        sessions.end_inside_with(&record);
                    } else {
                        let resource = record.resource.clone();
                        sessions.end_inside(resource, &record.standing).await;
                    }
                    self.publish();
                    return watched;
                }
            }
            let due = self.due();
            tokio::select! {
                changed = self.presence.changed() => changed.ok()?,
                changed = self.revised.changed() => changed.ok()?,
                () = passed(due) => {}
            }
            self.publish();
        }
    }

    async fn until_exit(&mut self, watched: Watched) {
        let Watched {
            mut changes,
            mut state,
        } = watched;
        while state.borrow_and_update().is_running() {
            let due = self.due();
            tokio::select! {
                () = changes.changed() => {}
                _ = self.presence.changed() => {}
                _ = self.revised.changed() => {}
                changed = state.changed() => if changed.is_err() { return },
                () = passed(due) => {}
            }
            if state.borrow().is_running() {
                tokio::select! {
                    () = self.events.has_reader() => {}
                    _ = state.changed() => {}
                }
            }
            self.publish();
            sleep(PAUSE).await;
        }
        self.publish();
    }

    /// Ends when the record is gone, and its senders with it.
    async fn after_exit(&mut self) {
        loop {
            let due = self.due();
            let changed = tokio::select! {
                changed = self.presence.changed() => changed,
                changed = self.revised.changed() => changed,
                () = passed(due) => Ok(()),
            };
            if changed.is_err() {
                return;
            }
            self.publish();
        }
    }

    /// When the session will look different although nothing happens to it.
    fn due(&self) -> Option<Duration> {
        self.record.upgrade()?.due()
    }

    fn publish(&self) {
        let Some(record) = self.record.upgrade() else {
            return;
        };
        // Who deleted it tells everybody so under the same lock.
        let gone = record.gone();
        if !*gone && !record.is_deleted() {
            let session = record.show();
            self.events.publish(Event::Session { session });
        }
    }
}

async fn passed(due: Option<Duration>) {
    match due {
        // Shortly after, so that the wall clock says so too.
        Some(due) => sleep(due + Duration::from_millis(1)).await,
        None => std::future::pending().await,
    }
}

/// Between two events of one session: what a person can follow in a list.
const PAUSE: Duration = Duration::from_millis(200);
