//! Changing what the daemon remembers of a session: its name, its labels, its note.

use jiff::SignedDuration;
use pairing::{Manage, Permit, is_invisible, marker};
use protocol::sessions::{NewNote, Note, Session, SessionChanges};
use server::peer::Peer;

use super::{Handle, SessionError, bounds, name};
use crate::actor;

impl Handle {
    /// Gives the session another name or other labels.
    ///
    /// # Errors
    /// [`SessionError`], with nothing changed.
    pub(crate) async fn change(
        &self,
        permit: &Permit<Manage>,
        peer: &Peer,
        changes: SessionChanges,
    ) -> Result<Session, SessionError> {
        self.at_hand(permit)?;
        if let Some(name) = &changes.name {
            name::check(name)?;
        }
        if let Some(labels) = &changes.labels {
            bounds::labels(labels)?;
        }
        let mut row = actor::row(permit.principal(), peer, "session_changed", self.id());
        if let Some(name) = &changes.name {
            row = row.detail(format!("{} is now called {name}", self.record.name()));
        }
        self.audit(permit.principal(), peer, row).await?;
        {
            // A revocation waits for the change, and not for the disk.
            let _hold = permit.hold().ok_or(SessionError::Ended)?;
            self.apply(changes)?;
        }
        self.sessions.save(&self.record).await?;
        Ok(self.record.show())
    }

    fn apply(&self, changes: SessionChanges) -> Result<(), SessionError> {
        // Names are given under the table's lock, so that two who want the same at once do not both get it.
        let table = self.sessions.table();
        if let Some(name) = &changes.name
            && *name != self.record.name()
            && table.is_taken(name)
        {
            return Err(SessionError::NameTaken(name.clone()));
        }
        self.record.revise(|kept| {
            kept.name = changes.name.unwrap_or_else(|| std::mem::take(&mut kept.name));
            if let Some(labels) = changes.labels {
                kept.labels = labels;
            }
        });
        drop(table);
        Ok(())
    }

    /// Leaves a line on the session, or takes it away.
    ///
    /// # Errors
    /// [`SessionError`], with the former line still there.
    pub(crate) async fn note(
        &self,
        permit: &Permit<marker::Note>,
        new: NewNote,
    ) -> Result<Session, SessionError> {
        self.at_hand(permit)?;
        if new.text.len() > MAX_NOTE || new.text.chars().any(is_invisible) {
            return Err(SessionError::MalformedNote(new.text.len()));
        }
        let expires_at = new.ttl.map(expiry);
        let note = Note {
            text: new.text,
            expires_at,
        };
        {
            let _hold = permit.hold().ok_or(SessionError::Ended)?;
            self.record
                .revise(|kept| kept.note = Some(note).filter(|note| !note.text.is_empty()));
        }
        self.sessions.save(&self.record).await?;
        Ok(self.record.show())
    }
}

/// The moment so many seconds from now, or the calendar's last.
fn expiry(seconds: u64) -> jiff::Timestamp {
    let now = server::clock::timestamp(server::clock::now());
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    now.checked_add(SignedDuration::from_secs(seconds))
        .unwrap_or(jiff::Timestamp::MAX)
}

/// Bytes: what fits a row of a list.
const MAX_NOTE: usize = 100;
