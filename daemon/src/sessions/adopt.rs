//! Sessions that outlived a daemon: taken over from the keeper, and given up when that dies.

use std::{
    collections::HashSet,
    fs::{self, File},
    io,
    path::Path,
    sync::Arc,
    time::Duration,
};

use pairing::ResourceId;
use terminal::{KeeperError, Listed, SessionId};
use tokio::{
    sync::oneshot,
    time::{sleep, timeout},
};

use super::{
    Sessions, keep, name, publish,
    record::{Kept, Made, Record, moment_of, wire_size},
};

impl Sessions {
    /// Takes over what earlier daemons left: the records on disk, and what the keeper holds, each session as it comes. Returns
    /// when all have come that can; the others are listed as out of reach and tried again. Called once, at the start.
    pub(crate) async fn take_over(&self, held: Vec<Listed>) {
        let ids: HashSet<String> = held.iter().map(|listed| listed.id.to_string()).collect();
        // Nobody else is served yet.
        self.load(&ids);
        let mut trying = Vec::new();
        for listed in held {
            let (tried, was_tried) = oneshot::channel();
            tokio::spawn(self.clone().reach(listed.id, tried));
            // Nobody knows when the others begin.
            trying.extend(listed.has_begun.then_some(was_tried));
        }
        timeout(PATIENCE, futures_util::future::join_all(trying))
            .await
            .ok();
    }

    /// Takes over a session, again and again until that succeeds; drops `tried` after the first time.
    async fn reach(self, id: SessionId, tried: oneshot::Sender<()>) {
        let mut tried = Some(tried);
        let mut pause = FIRST_PAUSE;
        loop {
            // Where descriptors are short, those that are on their way would keep each other out.
            match self.adopt(id, tried.is_none()).await {
                Ok(()) => {
                    if tried.is_none() {
                        tracing::info!(session = %id, "took over a session that was out of reach");
                    }
                    return;
                }
                Err(KeeperError::Gone) => return self.unheld(id).await,
                // So it says also where it has no descriptor left itself.
                Err(KeeperError::Unknown) if !self.shared.keeper.holds(id).await.unwrap_or(false) => {
                    return self.unheld(id).await;
                }
                Err(error) => {
                    if tried.take().is_some() {
                        tracing::error!(session = %id, %error, "a session could not be taken over, and is tried again");
                    }
                    self.hindered(id, &error);
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    async fn adopt(&self, id: SessionId, alone: bool) -> Result<(), KeeperError> {
        let held = self.shared.keeper.adopt(id, alone).await?;
        has_room()?;
        let process = held.process_id();
        let id = id.to_string();
        let engine = terminal::Session::adopt(held, self.options(&id))?;
        let Some(record) = self.record(&id) else {
            if let Some(record) = self.without_record(&id, process, engine) {
                tracing::warn!(session = id, "took over a session that has no record");
                let record = Arc::new(record);
                self.table().records.push(record.clone());
                self.save_later(&record);
                publish::spawn(self.clone(), &record);
            }
            return Ok(());
        };
        let is_first = record.begin(engine);
        if record.kept().ended.is_some() {
            // Written down as ended and still held: a daemon died before its keeper let it go.
            let sessions = self.clone();
            // A full disk may keep that waiting, and nobody else.
            tokio::spawn(async move {
                match is_first {
                    true => sessions.ended(&record).await,
                    false => sessions.release(&record.resource).await,
                }
            });
        }
        Ok(())
    }

    /// Ends every session of a keeper that is gone, and returns when nothing of them is left.
    pub(crate) async fn end_lost(&self) {
        let records = self.table().records.clone();
        let engines = records.iter().filter_map(|record| record.live());
        futures_util::future::join_all(engines.map(terminal::Session::kill)).await;
    }

    /// Nobody holds the session any more that was to be taken over: it is lost.
    async fn unheld(&self, id: SessionId) {
        let Some(record) = self.record(&id.to_string()) else {
            return;
        };
        if !record.is_out_of_reach() {
            return;
        }
        tracing::warn!(session = %id, "a session is lost: nobody holds it any more");
        let size = record
            .made
            .size
            .map_or(self.shared.settings().default_size, |size| {
                terminal::Size::new(size.columns, size.rows)
            });
        let folder = record.folder().to_owned();
        let Ok(ended) = tokio::task::spawn_blocking(move || keep::lost(&folder, size)).await else {
            return;
        };
        record.revise(|kept| kept.ended = kept.ended.take().or(Some(ended)));
        self.save_later(&record);
    }

    fn hindered(&self, id: SessionId, error: &KeeperError) {
        let Some(record) = self.record(&id.to_string()) else {
            return;
        };
        let why = error.to_string();
        if record.kept().hindrance.as_ref() != Some(&why) {
            record.revise(|kept| kept.hindrance = Some(why));
        }
    }

    fn record(&self, id: &str) -> Option<Arc<Record>> {
        let table = self.table();
        let mut records = table.records.iter();
        records.find(|record| record.resource.as_str() == id).cloned()
    }

    /// Lets the keeper drop what it holds of a session.
    pub(super) async fn release(&self, resource: &ResourceId) {
        if let Ok(id) = resource.as_str().parse::<SessionId>() {
            self.shared.keeper.forget(id).await;
        }
    }

    /// What nobody wrote down of a session is what its process still shows.
    fn without_record(&self, id: &str, process: u32, engine: terminal::Session) -> Option<Record> {
        let process = format!("/proc/{process}");
        let (command, args) = command_line(&Path::new(&process).join("cmdline"));
        let cwd = fs::read_link(Path::new(&process).join("cwd"));
        let cwd = cwd.map_or_else(|_| "/".to_owned(), |cwd| cwd.display().to_string());
        let kept = Kept {
            name: name::for_command(&command, |name| self.table().is_taken(name)),
            ..Kept::default()
        };
        let made = Made {
            command,
            args,
            cwd,
            at: moment_of(engine.began()),
            parent: None,
            trusted: false,
            size: Some(wire_size(engine.size())),
        };
        Some(Record::new(
            id.parse().ok()?,
            made,
            kept,
            Some(engine),
            self.folder_of(id),
        ))
    }
}

/// Whether there are descriptors left for whoever asks for the list.
fn has_room() -> io::Result<()> {
    let null = File::open("/dev/null")?;
    let room: io::Result<Vec<File>> = (0..RESERVE).map(|_| null.try_clone()).collect();
    room.map(drop)
}

/// The program and its arguments, as the process shows them.
fn command_line(path: &Path) -> (String, Vec<String>) {
    let text = fs::read(path).unwrap_or_default();
    let mut words = text
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned());
    let command = words.next().filter(|command| !command.is_empty());
    let mut args: Vec<String> = words.collect();
    // Each word is ended by a NUL, so nothing stands behind the last.
    args.pop();
    (command.unwrap_or_else(|| "unknown".to_owned()), args)
}

/// Descriptors that no session is taken over with: a few connections, and files of the store.
const RESERVE: usize = 16;
/// How long the first that is served may wait for what is taken over before: a keeper answers at once.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two tries, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(5);
