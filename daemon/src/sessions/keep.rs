//! Sessions outlive the daemon: their records are written, read at the start, and forgotten in time.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use pairing::ResourceId;
use terminal::{Offset, Options, SessionId};
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};

use super::{
    LAST_WRITE, SessionError, Sessions, Shared, disk, publish,
    record::{Kept, Made, Record},
    saved::{self, Ended, Saved, Unreadable, VERSION},
};

impl Sessions {
    /// Takes in what earlier daemons left: the records on disk. What ran and is not `held`, by its id, is lost. Blocks; called
    /// once, at the start.
    pub(super) fn load(&self, held: &HashSet<String>) {
        let (saved, unreadable) = saved::read_all(&self.shared.settings().folder);
        for (folder, error) in unreadable {
            if self.is_orphan(&folder, &error, held) {
                tracing::warn!(folder = %folder.display(), "removes what a session left that has no record");
                if let Err(error) = saved::remove(&folder) {
                    tracing::error!(folder = %folder.display(), %error, "it could not be removed");
                }
                continue;
            }
            let id = folder.file_name().and_then(|name| name.to_str());
            if error.is_no_record() && id.is_some_and(|id| id.parse::<SessionId>().is_ok()) {
                // Its program is held, and whoever takes it over writes one.
                continue;
            }
            tracing::error!(folder = %folder.display(), %error, "a session's record was not taken, and stays as it is");
            if let Some(id) = id {
                self.table().unsaved.insert(id.to_owned());
            }
        }
        let mut unwritten = Vec::new();
        for saved in saved {
            let knows_its_line = saved.parent.is_none() || saved.ancestors.is_some();
            let is_lost = saved.end.is_none() && !held.contains(&saved.id);
            let Some(record) = self.record_of(saved, is_lost) else {
                continue;
            };
            let record = Arc::new(record);
            self.table().records.push(record.clone());
            if is_lost {
                tracing::warn!(session = %record.resource, "a session is lost: it ran, and nobody holds it");
            }
            if is_lost || !knows_its_line {
                // Once all are here, so that its line is whole.
                unwritten.push(record.clone());
            }
            publish::spawn(self.clone(), &record);
        }
        unwritten.iter().for_each(|record| self.save_later(record));
        tokio::spawn(tidy(Arc::downgrade(&self.shared), self.shared.tidying.clone()));
    }

    /// Whether a folder is what was left of a session that nobody can ask for any more: its record was removed first, or its
    /// daemon died before the first was written, and its program is gone.
    fn is_orphan(&self, folder: &Path, error: &Unreadable, held: &HashSet<String>) -> bool {
        let name = folder.file_name().and_then(|name| name.to_str());
        // Nothing is removed that is not ours by its name.
        let Some(id) = name.filter(|name| name.parse::<SessionId>().is_ok()) else {
            return false;
        };
        error.is_no_record() && folder.is_dir() && !held.contains(id) && !self.table().unsaved.contains(id)
    }

    /// What a session's engine is made with.
    pub(crate) fn options(&self, id: &str) -> Options {
        let settings = self.shared.settings();
        Options {
            scrollback_memory: settings.scrollback_memory,
            directory: Some(self.folder_of(id)),
            scrollback_disk: settings.scrollback_disk,
        }
    }

    pub(super) fn folder_of(&self, id: &str) -> PathBuf {
        self.shared.settings().folder.join(id)
    }

    /// Writes a session's record.
    ///
    /// # Errors
    /// [`SessionError::NotSaved`]: what was changed is so until the daemon ends.
    pub(super) async fn save(&self, record: &Arc<Record>) -> Result<(), SessionError> {
        let turn = Arc::clone(&record.saving).lock_owned().await;
        {
            let table = self.table();
            let is_there = table.records.iter().any(|other| Arc::ptr_eq(other, record));
            // Another daemon's file is not written over; nor is one made anew for a session that was forgotten meanwhile.
            if !is_there || table.unsaved.contains(record.resource.as_str()) {
                return Ok(());
            }
        }
        let saved = saved_of(record, &self.line_of(record));
        let folder = record.folder().to_owned();
        let written = spawn_blocking(move || {
            let _turn = turn;
            saved.write(&folder)
        })
        .await;
        let written = written.map_err(std::io::Error::from).flatten();
        written.map_err(|error| {
            tracing::error!(session = %record.resource, %error, "a session's record could not be written");
            SessionError::NotSaved
        })
    }

    /// Writes a session's record soon; the log says where it cannot be.
    pub(super) fn save_later(&self, record: &Arc<Record>) {
        let (sessions, record) = (self.clone(), record.clone());
        tokio::spawn(async move { sessions.saved(&record).await });
    }

    /// Writes a session's record, again and again where the disk does not take it.
    async fn saved(&self, record: &Arc<Record>) {
        while self.save(record).await.is_err() {
            sleep(RETRY).await;
        }
    }

    /// Keeps how a session's program ended, with the last that it drew.
    pub(super) async fn ended(&self, record: &Arc<Record>) {
        let Some(engine) = record.live() else { return };
        engine.drawn().await;
        let exit = engine.state().borrow().exit();
        let ended = record.end_of(exit);
        record.revise(|kept| kept.ended = kept.ended.take().or(ended));
        // Before the keeper drops it: else the next daemon would call it lost.
        self.saved(record).await;
        engine.settled().await;
        // All of it is on disk, as far as the disk took it.
        self.release(&record.resource).await;
        self.shared.tidying.notify_one();
    }

    /// Forgets a session for good, with all that is kept of it, unless who is asked when nothing else is done to it any more
    /// disagrees: what they give is held until it is in no list. Returns whether they agreed.
    pub(super) async fn forget<H>(&self, record: &Arc<Record>, agree: impl FnOnce() -> Option<H>) -> bool {
        let turn = Arc::clone(&record.saving).lock_owned().await;
        {
            let Some(_held) = agree() else { return false };
            self.table().records.retain(|other| !Arc::ptr_eq(other, record));
            self.told_gone(record, true);
        }
        let living = self.table().records.clone();
        self.shared
            .lineage
            .prune(living.iter().map(|record| record.resource.clone()));
        if let Some(engine) = record.live() {
            // What it is still writing would come after.
            timeout(LAST_WRITE, engine.settled()).await.ok();
            engine.abandon();
        }
        self.release(&record.resource).await;
        let folder = record.folder().to_owned();
        let removed = spawn_blocking(move || {
            let _turn = turn;
            saved::remove(&folder)
        })
        .await;
        if let Err(error) = removed.map_err(std::io::Error::from).flatten() {
            tracing::error!(session = %record.resource, %error, "a session's files could not be removed");
        }
        true
    }

    /// Forgets what is over its time or beyond the disk's room; returns how long until the next is.
    pub(super) async fn tidied(&self) -> Option<Duration> {
        let records = self.table().records.clone();
        let running = records.iter().filter(|record| record.is_running()).count() as u64;
        let ended: Vec<(Arc<Record>, Ended)> = records
            .into_iter()
            .filter_map(|record| {
                let ended = record.kept().ended.clone()?;
                Some((record, ended))
            })
            .collect();
        let folders: Vec<PathBuf> = ended
            .iter()
            .map(|(record, _)| record.folder().to_owned())
            .collect();
        let strange = self.strange();
        let sizes = spawn_blocking(move || {
            let bytes = |folder: &PathBuf| terminal::stored_bytes(folder).unwrap_or(0);
            let strange: u64 = strange.iter().map(|folder| bytes(folder) + disk::FOLDER).sum();
            (folders.iter().map(bytes).collect::<Vec<u64>>(), strange)
        });
        let (sizes, strange) = sizes.await.ok()?;
        let places: Vec<disk::Place> = ended
            .iter()
            .zip(sizes)
            .map(|((record, ended), bytes)| {
                let kept = record.kept();
                disk::Place {
                    since: kept.restored_at.map_or(ended.at, |at| at.max(ended.at)),
                    purge_at: kept.purge_at,
                    bytes,
                }
            })
            .collect();
        let settings = self.shared.settings();
        let used = running * settings.scrollback_disk + strange;
        let room = settings.disk.saturating_sub(used);
        let now = server::clock::timestamp(server::clock::now());
        let doomed = disk::doomed(&places, now, room);
        for &index in &doomed {
            let record = &ended[index].0;
            // One that was deleted or restored meanwhile is judged anew.
            let is_as_seen = || (record.kept().purge_at == places[index].purge_at).then_some(());
            if self.forget(record, is_as_seen).await {
                tracing::info!(session = %record.resource, "forgot a session: its time is over, or its room is needed");
            } else {
                self.shared.tidying.notify_one();
            }
        }
        let left = (0..places.len()).filter(|index| !doomed.contains(index));
        disk::next(&left.map(|index| places[index]).collect::<Vec<_>>(), now)
    }

    /// Folders of sessions that are not listed, as their records could not be taken: they stay, and take room.
    fn strange(&self) -> Vec<PathBuf> {
        let table = self.table();
        let is_listed = |id: &str| table.records.iter().any(|record| record.resource.as_str() == id);
        let strange = table.unsaved.iter().filter(|id| !is_listed(id));
        strange.map(|id| self.folder_of(id)).collect()
    }

    /// Those of a session's ancestors that are there: the others never ask for anything again, and there may be any number.
    fn line_of(&self, record: &Record) -> Vec<ResourceId> {
        let mut line = self.shared.lineage.line_of(&record.resource);
        let table = self.table();
        line.retain(|ancestor| table.records.iter().any(|record| record.resource == *ancestor));
        line
    }

    fn record_of(&self, saved: Saved, is_lost: bool) -> Option<Record> {
        let resource: ResourceId = saved.id.parse().ok()?;
        let folder = self.folder_of(&saved.id);
        let size = saved.size.map_or(self.shared.settings().default_size, |size| {
            terminal::Size::new(size.columns, size.rows)
        });
        let ended = saved.end.or_else(|| is_lost.then(|| lost(&folder, size)));
        let made = Made {
            command: saved.command,
            args: saved.args,
            cwd: saved.cwd,
            at: saved.created_at,
            parent: saved.parent.and_then(|parent| parent.parse().ok()),
            trusted: saved.trusted,
            size: saved.size,
        };
        let ancestors = saved.ancestors.unwrap_or_default();
        let ancestors = ancestors.iter().filter_map(|ancestor| ancestor.parse().ok());
        let above = ancestors.filter(|ancestor| Some(ancestor) != made.parent.as_ref());
        let mut child = resource.clone();
        for ancestor in made.parent.iter().cloned().chain(above) {
            self.shared.lineage.add(child, ancestor.clone());
            child = ancestor;
        }
        let kept = Kept {
            name: saved.name,
            labels: saved.labels,
            note: saved.note,
            purge_at: saved.purge_at,
            restored_at: saved.restored_at,
            touched: saved.touched.iter().filter_map(|id| id.parse().ok()).collect(),
            ended,
            hindrance: None,
        };
        Some(Record::new(resource, made, kept, None, folder))
    }
}

/// The end of a session that nobody saw end: what the disk has of it is all there is. Blocks.
pub(super) fn lost(folder: &Path, first_size: terminal::Size) -> Ended {
    let last = terminal::stored_last(folder, first_size).unwrap_or_else(|error| {
        tracing::error!(folder = %folder.display(), %error, "a lost session's output could not be read");
        terminal::Last {
            end: Offset::START,
            size: first_size,
            title: String::new(),
            last_line: String::new(),
        }
    });
    Ended {
        at: server::clock::timestamp(server::clock::now()),
        exit: None,
        offset: last.end.0,
        size: super::wire_size(last.size),
        title: Some(last.title).filter(|title| !title.is_empty()),
        last_line: last.last_line,
        last_output_at: None,
        called: None,
    }
}

fn saved_of(record: &Record, line: &[ResourceId]) -> Saved {
    let kept = record.kept().clone();
    let made = record.made.clone();
    Saved {
        version: VERSION,
        id: record.resource.to_string(),
        name: kept.name,
        command: made.command,
        args: made.args,
        cwd: made.cwd,
        created_at: made.at,
        parent: made.parent.map(|parent| parent.to_string()),
        ancestors: Some(line.iter().map(ToString::to_string).collect()),
        trusted: made.trusted,
        size: made.size,
        labels: kept.labels,
        note: kept.note,
        purge_at: kept.purge_at,
        restored_at: kept.restored_at,
        touched: kept.touched.iter().map(ToString::to_string).collect(),
        end: kept.ended,
    }
}

/// Forgets sessions when it is time, by their deadlines.
async fn tidy(shared: Weak<Shared>, wanted: Arc<tokio::sync::Notify>) {
    while let Some(shared) = shared.upgrade() {
        let next = Sessions { shared }.tidied().await;
        let due = async {
            match next {
                // A sleep does not count what the machine sleeps, so the wall clock is asked now and then.
                Some(next) => sleep(next.min(LONGEST_SLEEP)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = wanted.notified() => {}
            () = due => {}
        }
    }
}

/// The moment of a deletion's or an end's being over is not missed by more, whatever the machine does meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(60 * 60);

/// Between two tries to write a record on a disk that does not take it.
const RETRY: Duration = Duration::from_secs(5);
