//! Sessions that outlived a daemon: taken over from the keeper, and given up when that dies.

use std::{collections::HashMap, fs, path::Path, sync::Arc};

use pairing::ResourceId;
use terminal::{Held, SessionId};

use super::{
    Sessions, name, publish,
    record::{Kept, Made, Record, moment_of, wire_size},
};

impl Sessions {
    /// Takes over what earlier daemons left: what the keeper held, and the records on disk. Blocks; called once, at the start.
    pub(crate) fn take_over(&self, held: Vec<Held>) {
        let mut engines = HashMap::new();
        let mut processes = HashMap::new();
        for held in held {
            let id = held.id().to_string();
            processes.insert(id.clone(), held.process_id());
            match terminal::Session::adopt(held, self.options(&id)) {
                Ok(engine) => {
                    engines.insert(id, engine);
                }
                Err(error) => {
                    tracing::error!(session = id, %error, "a session could not be taken over");
                    // A later daemon may, so what is on disk stays.
                    self.table().unsaved.insert(id);
                }
            }
        }
        for (id, engine) in self.load(engines) {
            let process = processes.get(&id).copied().unwrap_or_default();
            if let Some(record) = self.without_record(&id, process, engine) {
                tracing::warn!(session = id, "took over a session that has no record");
                let record = Arc::new(record);
                self.table().records.push(record.clone());
                self.save_later(&record);
                publish::spawn(self.clone(), &record);
            }
        }
    }

    /// Ends every session of a keeper that is gone, and returns when nothing of them is left.
    pub(crate) async fn end_lost(&self) {
        let records = self.table().records.clone();
        let engines = records.iter().filter_map(|record| record.live());
        futures_util::future::join_all(engines.map(terminal::Session::kill)).await;
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
