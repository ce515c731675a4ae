//! What an attachment may do while it lasts: a change of role acts on it at once.

use pairing::{View, Write};
use tokio::sync::watch;

use super::{CHANGED, End, MAY_NOT_LOOK, Typist, Wish};
use crate::sessions::Presence;

/// Follows what the principal may. A writer that may only look from now on becomes a viewer, and is told; who may type is to
/// attach anew, since what it typed by the former rights is gone.
pub(super) async fn watch(
    wish: &Wish<'_>,
    typist: Option<&Typist>,
    presence: &Presence,
    may_type: &watch::Sender<bool>,
) -> End {
    let mut now = wish.permit.authenticated().clone();
    let resource = wish.permit.resource();
    loop {
        wish.connection.until_changed(|| now.is_current()).await;
        // Of one that has ended nothing remains to be done here: its connection is being cut.
        let Some(present) = wish.app.access.present(&now) else {
            return std::future::pending().await;
        };
        now = present;
        if now.permit::<View>(resource.cloned()).is_err() {
            return MAY_NOT_LOOK;
        }
        if now.permit::<Write>(resource.cloned()).is_ok() {
            return CHANGED;
        }
        make_viewer(typist, presence, may_type);
    }
}

/// From now on it only looks. What the terminal did not take yet is dropped.
pub(super) fn make_viewer(typist: Option<&Typist>, presence: &Presence, may_type: &watch::Sender<bool>) {
    if let Some(typist) = typist {
        may_type.send_replace(false);
        typist.writer.discard();
        typist.claimant.retire();
    }
    presence.only_looks();
}
