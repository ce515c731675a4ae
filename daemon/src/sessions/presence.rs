//! Who is there: derived from guards, so that nobody stays who has gone.

use std::sync::Arc;

use super::record::Record;

/// Attachments of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Those that look.
    pub viewers: u32,
    /// Those that may type.
    pub writers: u32,
}

/// One attachment that is there; dropping it says that it is gone.
pub(crate) struct Presence {
    record: Arc<Record>,
    writes: bool,
}

impl Presence {
    pub(super) fn enter(record: Arc<Record>, writes: bool) -> Self {
        record.presence.send_modify(|counts| *counts.of(writes) += 1);
        Self { record, writes }
    }

    /// Who is there, this one included.
    pub(crate) fn counts(&self) -> Counts {
        *self.record.presence.borrow()
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.record
            .presence
            .send_modify(|counts| *counts.of(self.writes) -= 1);
    }
}

impl Counts {
    fn of(&mut self, writes: bool) -> &mut u32 {
        if writes {
            &mut self.writers
        } else {
            &mut self.viewers
        }
    }
}
