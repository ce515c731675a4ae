//! What a guest sees of a session: output from its invitation on, and of the record what it takes to follow that.

use std::io;

use pairing::{Permit, Principal, View};
use protocol::sessions::Session;
use terminal::{Offset, Screen};

use super::Handle;

/// The session as it is shown to who holds the permit.
pub(crate) fn shown_to(permit: &Permit<View>, session: Session) -> Session {
    if !matches!(permit.principal(), Principal::Guest(_)) {
        return session;
    }
    let resource = session.id.parse().ok();
    let sees_all = resource.is_some_and(|resource| permit.since(&resource).is_none());
    Session {
        args: Vec::new(),
        cwd: String::new(),
        labels: Default::default(),
        note: None,
        parent: None,
        attention: protocol::sessions::Attention {
            message: None,
            ..session.attention
        },
        title: session.title.filter(|_| sees_all),
        last_line: if sees_all {
            session.last_line
        } else {
            String::new()
        },
        ..session
    }
}

impl Handle {
    /// Where the output begins that may be seen; none where all of it may.
    pub(crate) fn since(&self, permit: &Permit<View>) -> Option<Offset> {
        permit.since(&self.record.resource).map(Offset)
    }
}

/// What the output from one offset to another draws into a blank terminal, as far as it is kept.
///
/// # Errors
/// When the disk may have some of it and does not give it now.
pub(super) async fn screen_of(
    engine: &terminal::Session,
    since: Offset,
    until: Offset,
) -> io::Result<Box<dyn Screen>> {
    let mut screen = terminal::screen(engine.size());
    let mut from = since;
    while from < until {
        let rest = usize::try_from(until.since(from)).unwrap_or(PIECE);
        let output = engine.output(from, rest.min(PIECE)).await?;
        // What it gives may begin behind a gap, and behind the end.
        let rest = usize::try_from(until.since(output.offset)).unwrap_or(usize::MAX);
        screen.feed(&output.bytes[..output.bytes.len().min(rest)]);
        // Nobody answers what a program asked of somebody else's terminal.
        screen.take_replies();
        if output.bytes.is_empty() {
            break;
        }
        from = output.next_offset;
        tokio::task::yield_now().await;
    }
    screen.release();
    Ok(screen)
}

/// Bytes that are drawn at a time: others of the daemon have their turn in between.
const PIECE: usize = 64 * 1024;
