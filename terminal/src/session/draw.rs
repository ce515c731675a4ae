//! Drawing: from the journal onto the screen, off the path of reading.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::{SessionState, Shared, lock, look};
use crate::attachment::Drawn;
use crate::journal::Read;
use crate::offset::Offset;
use crate::screen::{AlacrittyScreen, Screen};

/// Draws a session's records until its program has ended and all of them are drawn.
pub(super) async fn draw(shared: Arc<Shared>) {
    let mut output = shared.output.subscribe();
    let mut state = shared.state.subscribe();
    // Where a held synchronized update began, and when it is drawn although it has not ended.
    let mut held: Option<(Offset, Instant)> = None;
    loop {
        output.borrow_and_update();
        let has_ended = state.borrow_and_update().exit().is_some();
        let has_drawn = draw_some(&shared);
        if has_drawn {
            let ground = shared.drawn.borrow().ground;
            let is_held = shared.screen().is_held();
            let same = held.filter(|(begin, _)| *begin == ground);
            held = is_held.then(|| same.unwrap_or_else(|| (ground, Instant::now() + MAX_HELD)));
            tokio::task::yield_now().await;
        } else if has_ended {
            release(&shared);
            return;
        }
        match held {
            Some((_, until)) if until <= Instant::now() => {
                release(&shared);
                held = None;
            }
            _ if has_drawn => {}
            Some((_, until)) => {
                let _ = timeout_at(until, changed(&mut output, &mut state)).await;
            }
            None => changed(&mut output, &mut state).await,
        }
    }
}

async fn changed(output: &mut watch::Receiver<()>, state: &mut watch::Receiver<SessionState>) {
    tokio::select! {
        _ = output.changed() => {}
        _ = state.changed() => {}
    }
}

/// Draws the next record; returns whether there was one.
fn draw_some(shared: &Shared) -> bool {
    let Drawn { seen, sizes, .. } = *shared.drawn.borrow();
    let mut bytes = Vec::new();
    let read = shared.journal().read(seen, sizes, MAX_TURN, &mut bytes);
    match read {
        Read::Output => {
            record(
                shared,
                |screen| screen.feed(&bytes),
                |drawn| drawn.seen = seen.plus(bytes.len()),
            );
        }
        Read::Size { number, size, .. } => {
            record(
                shared,
                |screen| screen.resize(size),
                |drawn| drawn.sizes = number + 1,
            );
        }
        Read::Nothing => return false,
        // The journal keeps what the screen has not drawn.
        Read::Trimmed { start } => record(shared, |_| {}, |drawn| drawn.seen = start),
    }
    true
}

fn release(shared: &Shared) {
    record(shared, |screen| screen.release(), |_| {});
}

/// Changes the screen and publishes how far it is, as one.
fn record(shared: &Shared, change: impl FnOnce(&mut dyn Screen), advance: impl FnOnce(&mut Drawn)) {
    let mut screen = shared.screen();
    let size = screen.size();
    if catch_unwind(AssertUnwindSafe(|| change(screen.as_mut()))).is_err() {
        tracing::error!("the screen failed on a session's output and was begun anew");
        *screen = Box::new(AlacrittyScreen::new(size));
    }
    let replies = screen.take_replies();
    let pending = screen.pending();
    look::keep(shared, screen.take_signals());
    shared.drawn.send_modify(|drawn| {
        advance(drawn);
        drawn.ground = drawn.seen.minus(pending);
    });
    drop(screen);
    if !replies.is_empty() {
        let mut waiting = lock(&shared.replies);
        // A program that asks and never reads is not answered without end.
        if waiting.len() + replies.len() <= MAX_REPLIES {
            waiting.extend_from_slice(&replies);
        }
        drop(waiting);
        shared.replied.notify_one();
    }
}

/// Bytes drawn before others get their turn.
const MAX_TURN: usize = 16 * 1024;
/// How long a synchronized update may keep the screen as it was.
const MAX_HELD: Duration = Duration::from_millis(150);
/// Bytes of answers that wait for the terminal.
const MAX_REPLIES: usize = 64 * 1024;
