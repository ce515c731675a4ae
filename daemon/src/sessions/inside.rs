//! Programs inside of sessions, as principals: each is its session, as long as that runs.

use std::sync::{Arc, Weak};

use pairing::{Authenticated, ResourceId, Standing};
use server::Access;

use super::{Sessions, record::Record};

/// As what a program inside of a session comes.
pub(crate) enum Inside {
    /// The owner made it so.
    Trusted,
    /// Its session, with what that may.
    Scoped(Authenticated),
    /// Nobody any more.
    Ended,
}

impl Sessions {
    /// As what a program inside of the session comes; `None` where there is no such session, or not yet.
    pub(crate) fn inside(&self, id: &str) -> Option<Inside> {
        let record = {
            let table = self.table();
            let found = table.records.iter().find(|record| record.resource.as_str() == id);
            found.cloned()?
        };
        if record.made.trusted {
            return Some(Inside::Trusted);
        }
        // Made before the look at whether it runs: the end of the session then finds it, however the two fall together.
        let who = Authenticated::inside(
            record.resource.clone(),
            record.standing.clone(),
            self.shared.lineage.clone(),
        );
        Some(match record.is_running() {
            true => Inside::Scoped(who),
            false => Inside::Ended,
        })
    }

    /// Says by what connections end with their sessions, and what counts the audit rows of each principal.
    pub(crate) fn serve(&self, access: &Arc<Access>) {
        self.shared.access.set(Arc::downgrade(access)).ok();
    }

    /// Ends what programs inside of the session have with the daemon, once the session ends.
    pub(super) fn end_inside_with(&self, record: &Arc<Record>) {
        let Some(mut state) = record.live().map(terminal::Session::state) else {
            return;
        };
        let sessions = self.clone();
        let (resource, standing) = (record.resource.clone(), record.standing.clone());
        tokio::spawn(async move {
            // Where the engine is dropped it has ended too.
            let _ = state.wait_for(|state| !state.is_running()).await;
            sessions.end_inside(resource, &standing).await;
        });
    }

    /// Ends it now.
    pub(super) async fn end_inside(&self, resource: ResourceId, standing: &Standing) {
        match self.shared.access.get().and_then(Weak::upgrade) {
            Some(access) => access.end_inside(resource, standing).await,
            None => standing.end(),
        }
    }
}
