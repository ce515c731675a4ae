//! The end of guests: dead in memory, then at once and side by side in the store and on the wire.

use std::{convert::Infallible, sync::Arc, time::Instant};

use pairing::{EndedGuest, GuestId, Principal, TailnetIdentity};
use protocol::guests::GuestEnded;

use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    connections::{Connection, Ended, Stay},
    error::Failure,
    peer::{Peer, RemotePeer, WhoIsAnswer},
    request,
    revocation::{Revoker, cut_after_answer, until_quiet},
};

/// What an end came to.
pub(crate) struct Outcome {
    pub(crate) answer: Result<GuestEnded, Failure>,
    /// Whether the principal ended itself: its connection is cut shortly after the answer.
    pub(crate) was_own: bool,
}

/// Ends a guest or an invitation, and returns when nothing of it can leave any more. It goes on to its end even if the
/// principal does not wait. Who asks for the end of one who is ending already waits for that.
///
/// # Errors
/// When there is no such guest or the principal may not end it; then nothing was done.
pub(crate) async fn end(access: &Arc<Access>, by: Revoker, guest: GuestId) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let row = by.row(guest);
    let dead = {
        // What a device may do changes under the lock of the devices.
        let (_devices, mut guests) = (access.devices(), access.guests());
        let end = || {
            // Themselves they may end whatever became of them.
            if *by.principal() != Principal::Guest(guest) {
                by.check()?;
            }
            let dead = guests.end(by.principal(), guest, clock::latest())?;
            Ok::<_, Failure>((dead, access.guest_ends.begin(guest, false)))
        };
        access.connections().end_guest(guest, end)
    };
    let ((dead, ending), mut ended) = match dead {
        Ok(dead) => dead,
        Err(refused) => {
            let under_way = access.guest_ends.outcome(guest, by.principal(), &refused);
            return match under_way.await {
                Some(answer) => Ok(Outcome {
                    answer,
                    was_own: false,
                }),
                None => Err(by.refused(access, row, refused).await),
            };
        }
    };
    let closed = ended.count() as u64;
    let own = ended.take(by.connection.id());
    let was_own = own.is_some();
    let access = Arc::clone(access);
    let closing = request::spawn(async move {
        let stored = finish(&access, dead, &ended, row).await;
        own.into_iter().for_each(cut_after_answer);
        let elapsed = started.elapsed();
        access.counts.revocations.observe(elapsed);
        tracing::info!(%guest, closed, "ended a guest and closed its connections");
        let outcome = stored.map(|()| GuestEnded {
            guest_id: guest,
            closed,
            elapsed_us: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        });
        ending.tell(&outcome);
        outcome
    });
    let answer = closing
        .await
        .unwrap_or_else(|crash| Err(Failure::internal(&crash)));
    Ok(Outcome { answer, was_own })
}

/// Ends those whose time is over. It returns before their ends are stored: whoever is next does not wait for a slow disk.
pub(crate) fn expire(access: &Arc<Access>) {
    let over = access.guests().expire(clock::latest());
    for dead in over {
        let guest = dead.record.id;
        // It was dead before this lock is taken, so a connection that is being bound is refused or found here.
        let end = || Ok::<_, Infallible>(());
        let Ok(((), ended)) = access.connections().end_guest(guest, end);
        let row = AuditRow::new(clock::now(), "daemon", "", action::GUEST_EXPIRED, guest);
        let access = Arc::clone(access);
        tokio::spawn(async move {
            let closed = ended.count();
            // What failed is in the log; the next life of the daemon sees as well that the time is over.
            let _ = finish(&access, dead, &ended, row).await;
            tracing::info!(%guest, closed, "a guest's time is over, closed its connections");
        });
    }
}

/// Stores that an invitation was guessed at, and ended by that. Nobody is a guest by it, so there is nothing to close.
pub(crate) async fn burn(access: &Access, burned: EndedGuest, peer: &RemotePeer) {
    let guest = burned.record.id;
    let nobody = name_of(&Principal::Nobody);
    let row = AuditRow::new(clock::now(), nobody, peer.address, action::GUEST_BURNED, guest);
    tracing::warn!(%guest, from = %peer.address, "wrong secrets were shown for an invitation, which was ended");
    close_lane(access);
    // One that fails is tried again.
    access.store_guest_end(burned, row).await;
}

impl Access {
    /// Whether a remote peer is heard at all, by what the tailnet says of it, which is noted.
    pub(crate) fn lets_in(&self, connection: &Connection, answer: WhoIsAnswer) -> bool {
        let who = match answer {
            WhoIsAnswer::NotATailnet => return true,
            WhoIsAnswer::Refused => return false,
            WhoIsAnswer::Unlisted(who) => return self.takes_as_guest(connection, &who),
            WhoIsAnswer::Known(who) => who,
        };
        // Noted before it is judged again: whoever changes who may come finds it noted, or is found here.
        connection.set_tailnet(who.clone());
        match self.who_is.judge(who) {
            WhoIsAnswer::Known(_) => true,
            WhoIsAnswer::Unlisted(who) => self.takes_as_guest(connection, &who),
            WhoIsAnswer::NotATailnet | WhoIsAnswer::Refused => false,
        }
    }

    /// Closes exactly those connections of a tailnet whose peers may not come any more, and says how many there were. To be
    /// called after each change of who may.
    pub fn close_unlisted(&self) -> usize {
        let (guests, now) = (self.guests(), clock::latest());
        let closed = self
            .connections()
            .judge(|who| match self.who_is.judge(who.clone()) {
                WhoIsAnswer::Known(_) => Stay::Fully,
                WhoIsAnswer::Unlisted(who) if guests.has_lane(&who, now) => Stay::AsGuest,
                WhoIsAnswer::Unlisted(_) | WhoIsAnswer::NotATailnet | WhoIsAnswer::Refused => Stay::Not,
            });
        if closed > 0 {
            tracing::info!(closed, "closed what may not come over the tailnet any more");
        }
        closed
    }

    /// Whether a peer that may come no further is let in to be a guest; if so, that is noted.
    fn takes_as_guest(&self, connection: &Connection, who: &TailnetIdentity) -> bool {
        // Held until it is noted, so that whoever ends the invitation finds the connection, or is found here.
        let guests = self.guests();
        let is_invited = guests.has_lane(who, clock::latest());
        if is_invited {
            connection.set_guest_lane();
            connection.set_tailnet(who.clone());
        }
        is_invited
    }
}

/// Closes the tailnet's gate behind those who are invited no more, whoever they have become.
fn close_lane(access: &Access) {
    let (guests, now) = (access.guests(), clock::latest());
    access.connections().close_guest_lane(|peer| match peer {
        Peer::Remote(RemotePeer {
            tailnet: Some(who), ..
        }) => guests.has_lane(who, now),
        Peer::Remote(_) | Peer::Local(_) => false,
    });
}

/// Stores an end and cuts the guest's connections, side by side; returns when both are done and nothing of it is under way.
async fn finish(access: &Access, dead: EndedGuest, ended: &Ended, row: AuditRow) -> Result<(), Failure> {
    let standing = Arc::clone(&dead.standing);
    let closing = async {
        access.connections.cut(ended).await;
        close_lane(access);
    };
    let (is_stored, (), ()) =
        tokio::join!(access.store_guest_end(dead, row), closing, until_quiet(&standing),);
    match is_stored {
        true => Ok(()),
        false => Err(Failure::RevokedInMemoryOnly),
    }
}
