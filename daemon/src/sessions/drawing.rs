//! Screens that are drawn for guests: from their invitation on, each time anew.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use pairing::GuestId;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::SessionError;

/// Who has one drawn. Each takes as long as all the output since then: a guest has one at a time, and all of them together do.
#[derive(Debug)]
pub(super) struct Drawings {
    guests: Mutex<HashSet<GuestId>>,
    turn: Semaphore,
}

impl Default for Drawings {
    fn default() -> Self {
        Self {
            guests: Mutex::default(),
            turn: Semaphore::new(1),
        }
    }
}

/// A guest's turn, until it is dropped.
#[derive(Debug)]
pub(super) struct Drawing<'a> {
    _turn: SemaphorePermit<'a>,
    _place: Place<'a>,
}

#[derive(Debug)]
struct Place<'a> {
    drawings: &'a Drawings,
    guest: GuestId,
}

impl Drawings {
    /// Waits for the turn of a guest.
    ///
    /// # Errors
    /// [`SessionError::DrawsAlready`] where it waits or draws already.
    pub(super) async fn begin(&self, guest: GuestId) -> Result<Drawing<'_>, SessionError> {
        if !self.guests().insert(guest) {
            return Err(SessionError::DrawsAlready);
        }
        let place = Place {
            drawings: self,
            guest,
        };
        let turn = self.turn.acquire().await;
        Ok(Drawing {
            _turn: turn.expect("it is never closed"),
            _place: place,
        })
    }

    fn guests(&self) -> MutexGuard<'_, HashSet<GuestId>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.drawings.guests().remove(&self.guest);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;
    use pairing::GuestId;

    use super::{Drawings, SessionError};

    #[tokio::test]
    async fn a_guest_has_one_screen_drawn_at_a_time_and_another_waits_for_its_turn() {
        let drawings = Drawings::default();
        let [one, other] = [1, 2].map(|n| GuestId::from_bytes([n; 8]));
        let first = drawings.begin(one).await.unwrap();
        let again = drawings.begin(one).await.unwrap_err();
        assert!(matches!(again, SessionError::DrawsAlready));
        {
            let mut second = pin!(drawings.begin(other));
            assert!(second.as_mut().now_or_never().is_none());
            let waits = drawings.begin(other).await.unwrap_err();
            assert!(matches!(waits, SessionError::DrawsAlready), "waiting counts too");
            drop(first);
            assert!(second.now_or_never().is_some());
        }
        assert!(
            drawings.begin(other).await.is_ok(),
            "who gives up frees its place"
        );
        assert!(drawings.begin(one).await.is_ok());
    }
}
