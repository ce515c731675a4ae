//! The one task that writes to the PTY: answers, interrupts, then input in the order in which it was queued.

use super::{Arc, AsyncFd, Chunk, MAX_WRITE, OwnedFd, Place, RETRY, Shared, io, lock, mpsc};
use crate::pty;

/// Writes answers and input to the PTY until it is aborted.
pub(in crate::session) async fn write(
    shared: Arc<Shared>,
    master: Arc<AsyncFd<OwnedFd>>,
    mut queue: mpsc::Receiver<Chunk>,
) {
    // What is being written, last; below it what an interrupt overtook.
    let mut current: Vec<Chunk> = Vec::new();
    // Bytes that the terminal took since nothing was unread; not known at first.
    let mut typed = usize::MAX;
    loop {
        current.append(&mut lock(&shared.interrupts));
        current.retain(|chunk| !chunk.is_discarded());
        while current.len() > MAX_INTERRUPTS + 1 {
            current.remove(1);
        }
        if let Some(chunk) = current.last_mut() {
            if deliver(&shared, &master, chunk, &mut typed).await == Delivery::Done {
                current.pop();
            }
            continue;
        }
        let replies = std::mem::take(&mut *lock(&shared.replies));
        if !replies.is_empty() {
            let taken = answer(&shared, &master, &replies, &mut typed).await;
            lock(&shared.replies).splice(..0, replies[taken..].iter().copied());
            continue;
        }
        tokio::select! {
            biased;
            () = shared.replied.notified() => {}
            chunk = queue.recv() => {
                // The sender lives in `shared`.
                let Some(chunk) = chunk else { return };
                current.push(chunk);
            }
        }
    }
}

/// Has an interrupt written before all other input.
pub(super) fn interrupt(shared: &Shared, chunk: Chunk) {
    let mut waiting = lock(&shared.interrupts);
    waiting.retain(|chunk| !chunk.is_discarded());
    if waiting.len() == MAX_INTERRUPTS {
        waiting.remove(0);
    }
    waiting.push(chunk);
    drop(waiting);
    shared.replied.notify_one();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// Written, refused, or given up.
    Done,
    /// Something else may have to be done first.
    Woken,
}

/// Writes what is left of a chunk, each `write(2)` through its gate; gives up when that refuses or the terminal does.
async fn deliver(
    shared: &Shared,
    master: &AsyncFd<OwnedFd>,
    chunk: &mut Chunk,
    typed: &mut usize,
) -> Delivery {
    if chunk.is_interrupt && chunk.taken == 0 {
        // Without waiting until a full terminal takes something.
        let mut result = Ok(());
        let gate = Arc::clone(&chunk.writer.gate);
        let passed = gate.pass(&mut || result = write_once(shared, master.get_ref(), chunk, typed));
        if !passed || result.is_ok() && chunk.taken >= chunk.bytes.len() {
            return Delivery::Done;
        }
    }
    loop {
        let mut ready = tokio::select! {
            biased;
            () = shared.replied.notified() => return Delivery::Woken,
            ready = master.writable() => match ready {
                Ok(ready) => ready,
                Err(_) => return Delivery::Done,
            },
        };
        // Asked before the attempt, which clears it where nothing can be written.
        let is_closed = ready.ready().is_write_closed();
        let gate = Arc::clone(&chunk.writer.gate);
        let outcome = ready.try_io(|master| {
            let mut result = Ok(());
            let passed = gate.pass(&mut || result = write_once(shared, master.get_ref(), chunk, typed));
            result.map(|()| passed)
        });
        match outcome {
            Ok(Ok(true)) if chunk.taken < chunk.bytes.len() => {}
            Ok(Ok(_)) => return Delivery::Done,
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, "the terminal takes no input");
                return Delivery::Done;
            }
            // Full, and no process had it open at some time: readiness is said for ever, also while one has it open again.
            Err(_would_block) if is_closed => tokio::select! {
                () = shared.replied.notified() => return Delivery::Woken,
                () = tokio::time::sleep(RETRY) => {}
            },
            Err(_would_block) => {}
        }
    }
}

/// Writes once, and remembers what its client need not send again.
fn write_once(shared: &Shared, master: &OwnedFd, chunk: &mut Chunk, typed: &mut usize) -> io::Result<()> {
    let length = chunk.bytes.len();
    let known = chunk.place.zip(chunk.writer.client);
    let Some((place, client)) = known else {
        if chunk.taken < length {
            chunk.taken += type_into(master, chunk, typed)?;
        }
        applied(chunk);
        return Ok(());
    };
    let _typing = lock(&shared.typing);
    let before = shared.applied(client).unwrap_or_default();
    chunk.taken = chunk.taken.max(place.taken(length, before));
    if chunk.taken < length {
        shared.set_applying(client, place.after(length.min(chunk.taken + MAX_WRITE)));
        let written = type_into(master, chunk, typed);
        chunk.taken += *written.as_ref().unwrap_or(&0);
        shared.set_applied(client, place.after(chunk.taken).max(before));
        written?;
    } else {
        shared.set_applied(client, place.after(length).max(before));
    }
    applied(chunk);
    Ok(())
}

/// Writes what is left of a chunk once, as much as a terminal takes, or has the terminal do what an interrupt does there.
fn type_into(master: &OwnedFd, chunk: &Chunk, typed: &mut usize) -> io::Result<usize> {
    let rest = &chunk.bytes[chunk.taken..];
    let rest = &rest[..rest.len().min(MAX_WRITE)];
    if chunk.is_interrupt {
        match pty::interrupt(master, rest.len(), *typed >= pty::MAX_UNREAD) {
            Ok(true) => {
                *typed = 0;
                return Ok(rest.len());
            }
            Ok(false) => {}
            Err(error) => tracing::debug!(%error, "an interrupt is written like other input"),
        }
    }
    let written = rustix::io::write(master, rest)?;
    *typed = typed.saturating_add(written);
    Ok(written)
}

/// Tells the writer that a message is with the terminal.
fn applied(chunk: &Chunk) {
    let Some(Place {
        sequence,
        from,
        length,
        ..
    }) = chunk.place
    else {
        return;
    };
    if from + chunk.taken < length {
        return;
    }
    chunk.writer.applied.send_if_modified(|applied| {
        let grows = sequence > *applied;
        *applied = sequence.max(*applied);
        grows
    });
}

/// Writes the screen's answers to the program's queries; returns how many of the bytes are done with: all, unless
/// something else may have to be done first.
async fn answer(shared: &Shared, master: &AsyncFd<OwnedFd>, answers: &[u8], typed: &mut usize) -> usize {
    let mut taken = 0;
    while taken < answers.len() {
        let mut ready = tokio::select! {
            biased;
            () = shared.replied.notified() => return taken,
            ready = master.writable() => match ready {
                Ok(ready) => ready,
                Err(_) => return answers.len(),
            },
        };
        let is_closed = ready.ready().is_write_closed();
        let rest = &answers[taken..];
        let tried = ready.try_io(|master| rustix::io::write(master.get_ref(), rest).map_err(io::Error::from));
        match tried {
            Ok(Ok(written)) => {
                *typed = typed.saturating_add(written);
                taken += written;
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, "the terminal takes no answers");
                return answers.len();
            }
            Err(_would_block) if is_closed => tokio::select! {
                () = shared.replied.notified() => return taken,
                () = tokio::time::sleep(RETRY) => {}
            },
            Err(_would_block) => {}
        }
    }
    taken
}

/// Interrupts that wait at most: every writer has one.
const MAX_INTERRUPTS: usize = 64;
