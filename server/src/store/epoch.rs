//! `epoch` in the directory of keys: how far the audit trail had come, so that a trail that was cut off and a store of before
//! are noticed.

use std::{
    io,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use certs::{files, hex};
use rusqlite::Transaction;
use tokio::{sync::watch, time::timeout};

use super::{
    StoreError, audit,
    chain::{AuditKey, Link},
    meta, schema,
};

/// How far a store has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch {
    /// The last row of the audit trail.
    pub(super) last: Link,
    /// How many devices and guests were ever ended.
    pub(super) revocations: u64,
}

impl Epoch {
    /// How far the store is.
    pub(super) fn of(transaction: &Transaction<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            last: audit::last(transaction)?,
            revocations: meta::revocations(transaction)?,
        })
    }

    /// Reads the file; `None` where there is none.
    pub(super) fn read(keys: &Path) -> Result<Option<Self>, StoreError> {
        let path = keys.join(FILE);
        let Some(bytes) = files::read(&path)? else {
            return Ok(None);
        };
        let text = std::str::from_utf8(&bytes).ok().and_then(Self::parse);
        text.map(Some)
            .ok_or_else(|| StoreError::corrupt(&path, "it does not say how far the audit trail had come"))
    }

    /// Writes the file, synced.
    pub(super) fn write_in(&self, keys: &Path) -> Result<(), StoreError> {
        self.write(&keys.join(FILE))
    }

    fn write(&self, path: &Path) -> Result<(), StoreError> {
        Ok(files::overwrite(path, self.text().as_bytes())?)
    }

    /// What the file says.
    pub(super) fn text(&self) -> String {
        let Self { last, revocations } = self;
        format!("{VERSION} {} {} {revocations}\n", last.sequence, hex(&last.hmac))
    }

    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.strip_suffix('\n')?.split(' ').collect();
        let [VERSION, sequence, digits, revocations] = words[..] else {
            return None;
        };
        let mut hmac = [0; 32];
        if digits.len() != 2 * hmac.len() || !digits.is_ascii() {
            return None;
        }
        for (index, byte) in hmac.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).ok()?;
        }
        let sequence = sequence.parse().ok()?;
        Some(Self {
            last: Link { sequence, hmac },
            revocations: revocations.parse().ok()?,
        })
    }
}

/// Refuses a store that is gone; where there never was one, it may begin.
///
/// # Errors
/// [`StoreError::Missing`].
pub(super) fn miss(path: &Path, keys: &Path) -> Result<(), StoreError> {
    // A journal alone is told as what it is.
    if files::check(path)? || files::check(&schema::suffixed(path, "-wal"))? {
        return Ok(());
    }
    match Epoch::read(keys) {
        Ok(None) => Ok(()),
        Ok(Some(_)) | Err(StoreError::Corrupt { .. }) => Err(StoreError::Missing {
            path: path.to_owned(),
        }),
        Err(other) => Err(other),
    }
}

/// Compares a store with the file, and says in which way it is older; `begins` where the trail is chained for the first time.
pub(super) fn behind(
    transaction: &Transaction<'_>,
    key: &AuditKey,
    file: Result<Option<Epoch>, StoreError>,
    begins: bool,
) -> Result<Option<String>, StoreError> {
    let store = Epoch::of(transaction)?;
    let file = match file {
        Ok(Some(file)) => file,
        Ok(None) => {
            let missing = "keys/epoch, which says how far it had come, is missing";
            return Ok((!begins).then(|| missing.to_owned()));
        }
        Err(StoreError::Corrupt { .. }) => {
            return Ok(Some(
                "keys/epoch, which says how far it had come, is damaged".to_owned(),
            ));
        }
        Err(other) => return Err(other),
    };
    if store.last.sequence < file.last.sequence {
        return Ok(Some(format!(
            "its audit trail ends at row {} and had come to row {}",
            store.last.sequence, file.last.sequence
        )));
    }
    if store.revocations < file.revocations {
        return Ok(Some(format!(
            "it knows of {} ended devices and guests, and {} had ended",
            store.revocations, file.revocations
        )));
    }
    // Rows are pruned sooner than the file says so: a crash may come in between. That it was this daemon shows the seal.
    let (pruned, seal) = audit::pruned(transaction)?;
    if file.last.sequence < pruned.sequence && seal == key.seal(&pruned) {
        return Ok(None);
    }
    let same = audit::hmac_at(transaction, file.last.sequence)? == Some(file.last.hmac);
    Ok((!same).then(|| format!("row {} of its audit trail is another", file.last.sequence)))
}

/// The thread that keeps the file. Dropping it writes what is not written yet.
///
/// Who approves a device or changes what it may do waits for it, within bounds. Who revokes, ends a guest or locks down does not:
/// nothing that takes something away waits for a second file, so a machine that loses power within a moment of such an answer may
/// come back with a file that does not name the row.
pub(super) struct EpochKeeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// The row that the file names.
    written: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// What is not in the file yet, and since when.
    pending: Option<(Epoch, Instant)>,
    is_urgent: bool,
    /// After a failure, when it is to be tried again.
    not_before: Option<Instant>,
    is_closed: bool,
}

impl EpochKeeper {
    pub(super) fn start(keys: &Path) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (state, path) = (Arc::clone(&shared), keys.join(FILE));
        let thread = std::thread::Builder::new()
            .name("epoch".to_owned())
            .spawn(move || state.keep(&path))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Notes how far the store has come: written at once if it is urgent, else within a minute.
    pub(super) fn note(&self, epoch: Epoch, is_urgent: bool) {
        let mut state = self.shared.lock();
        let since = state.pending.map_or_else(Instant::now, |(_, since)| since);
        state.pending = Some((epoch, since));
        state.is_urgent |= is_urgent;
        if is_urgent {
            self.shared.changed.notify_one();
        }
    }

    /// Returns when the file names an urgent row, or a later one. A disk that does not take it is waited for no longer than
    /// [`MOST_WAIT`]: the row itself is stored.
    pub(super) async fn until_written(&self, sequence: u64) {
        let mut written = self.shared.written.subscribe();
        let naming = written.wait_for(|written| *written >= sequence);
        if timeout(MOST_WAIT, naming).await.is_err() {
            tracing::warn!(
                sequence,
                "the audit trail has come further than keys/epoch says: if it were cut off now, nobody would notice"
            );
        }
    }
}

impl Drop for EpochKeeper {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by the panic hook.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, path: &Path) {
        let mut has_failed = false;
        while let Some(next) = self.next() {
            match next.epoch.write(path) {
                Ok(()) => {
                    has_failed = false;
                    self.written.send_replace(next.epoch.last.sequence);
                }
                Err(error) => {
                    // Said once, however often it is tried.
                    if !has_failed {
                        tracing::error!(%error, "how far the audit trail has come could not be written down");
                    }
                    has_failed = true;
                    self.give_back(&next);
                }
            }
            if next.is_last {
                return;
            }
        }
    }

    /// The next to be written, once it is due; `None` at the end.
    fn next(&self) -> Option<Next> {
        let mut state = self.lock();
        loop {
            let age = state.pending.map(|(_, since)| since.elapsed());
            let is_wanted = age.is_some_and(|age| state.is_urgent || age >= EVERY);
            let pause = state
                .not_before
                .map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
            if state.is_closed || (is_wanted && pause.is_zero()) {
                let was_urgent = std::mem::take(&mut state.is_urgent);
                let is_last = state.is_closed;
                return state.pending.take().map(|(epoch, _)| Next {
                    epoch,
                    was_urgent,
                    is_last,
                });
            }
            // An addition that is not urgent wakes nobody, so the clock is looked at each minute.
            let wait = match is_wanted {
                true => pause,
                false => EVERY.saturating_sub(age.unwrap_or_default()),
            };
            state = self
                .changed
                .wait_timeout(state, wait)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// What could not be written is tried again, soon if it is urgent, or what is newer instead of it.
    fn give_back(&self, failed: &Next) {
        let mut state = self.lock();
        let now = Instant::now();
        state.pending.get_or_insert((failed.epoch, now));
        state.is_urgent |= failed.was_urgent;
        state.not_before = Some(now + PAUSE);
    }
}

/// What is to be written.
struct Next {
    epoch: Epoch,
    was_urgent: bool,
    /// Nothing comes behind it.
    is_last: bool,
}

/// A row that is not urgent may be cut off unnoticed for so long, if the machine loses power.
const EVERY: Duration = Duration::from_secs(60);
/// Between two tries at what is urgent.
const PAUSE: Duration = Duration::from_secs(1);
/// How long somebody's answer waits for the file.
const MOST_WAIT: Duration = Duration::from_secs(2);
const FILE: &str = "epoch";
const VERSION: &str = "1";

#[cfg(test)]
mod tests {
    use std::{fs, time::Instant};

    use super::{EVERY, Epoch, EpochKeeper, Link, MOST_WAIT};

    fn epoch(sequence: u64) -> Epoch {
        Epoch {
            last: Link {
                sequence,
                hmac: [0xa5; 32],
            },
            revocations: 3,
        }
    }

    #[test]
    fn an_epoch_is_read_as_it_was_written_and_nothing_else_is_one() {
        let text = epoch(7).text();
        assert_eq!(Epoch::parse(&text), Some(epoch(7)));
        for wrong in [
            "",
            "\n",
            text.trim(),
            &text.replacen('1', "2", 1),
            &text.replace("a5", "g5"),
            &text.replace("a5", "a"),
            &text.replace(" 7 ", " -7 "),
            &format!("{text}{text}"),
        ] {
            assert_eq!(Epoch::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_not_urgent_is_written_at_the_end() {
        let home = tempfile::tempdir().unwrap();
        let keeper = EpochKeeper::start(home.path()).unwrap();
        keeper.note(epoch(1), false);
        keeper.note(epoch(2), false);
        assert!(Epoch::read(home.path()).unwrap().is_none());
        drop(keeper);
        assert_eq!(Epoch::read(home.path()).unwrap(), Some(epoch(2)));
    }

    #[test]
    fn what_is_urgent_is_written_at_once() {
        let home = tempfile::tempdir().unwrap();
        let keeper = EpochKeeper::start(home.path()).unwrap();
        keeper.note(epoch(1), false);
        keeper.note(epoch(2), true);
        while Epoch::read(home.path()).unwrap() != Some(epoch(2)) {
            std::thread::yield_now();
        }
        drop(keeper);
    }

    #[test]
    fn what_is_urgent_and_failed_is_tried_again_soon() {
        let home = tempfile::tempdir().unwrap();
        let keys = home.path().join("keys");
        let (began, keeper) = (Instant::now(), EpochKeeper::start(&keys).unwrap());
        keeper.note(epoch(1), true);
        // Until it has been tried.
        while keeper.shared.lock().not_before.is_none() {
            std::thread::yield_now();
        }
        fs::create_dir(&keys).unwrap();
        while Epoch::read(&keys).unwrap().is_none() {
            assert!(
                began.elapsed() < EVERY / 2,
                "not only when it would be written anyway"
            );
            std::thread::yield_now();
        }
        drop(keeper);
    }

    #[tokio::test]
    async fn who_waits_for_a_row_goes_on_when_it_is_named_or_the_disk_does_not_take_it() {
        let home = tempfile::tempdir().unwrap();
        let keys = home.path().join("keys");
        let keeper = EpochKeeper::start(&keys).unwrap();
        keeper.note(epoch(1), true);
        let began = Instant::now();
        keeper.until_written(1).await;
        assert!(began.elapsed() >= MOST_WAIT, "it is not there");
        fs::create_dir(&keys).unwrap();
        // The first may be written in between: it is tried again.
        keeper.note(epoch(2), true);
        keeper.until_written(2).await;
        assert_eq!(Epoch::read(&keys).unwrap(), Some(epoch(2)));
    }
}
