//! Sessions that outlived a daemon: taken over from the keeper, and given up when that dies.

use std::{fs, path::Path, sync::Arc};

use pairing::ResourceId;
use protocol::Timestamp;
use terminal::{Held, SessionId};

use super::{
    Sessions, name, publish,
    record::{Kept, Made, Record},
};

impl Sessions {
    /// Takes over what the keeper held. What nobody wrote down of a session is what its process still shows.
    pub(crate) fn adopt(&self, held: Vec<Held>) {
        for held in held {
            let id = held.id();
            match self.adopt_one(held) {
                Ok(record) => {
                    tracing::info!(session = %id, name = record.name(), "took over a session");
                    self.table().records.push(record.clone());
                    publish::spawn(self.clone(), &record);
                }
                Err(error) => tracing::error!(session = %id, %error, "a session could not be taken over"),
            }
        }
    }

    /// Ends every session of a keeper that is gone, and returns when nothing of them is left.
    pub(crate) async fn end_lost(&self) {
        let records = self.table().records.clone();
        futures_util::future::join_all(records.iter().map(|record| record.engine.kill())).await;
    }

    /// Lets the keeper drop what it holds of a session.
    pub(super) fn release(&self, resource: &ResourceId) {
        let keeper = self.shared.keeper.clone();
        if let Ok(id) = resource.as_str().parse::<SessionId>() {
            tokio::spawn(async move { keeper.forget(id).await });
        }
    }

    fn adopt_one(&self, held: Held) -> std::io::Result<Arc<Record>> {
        let resource: ResourceId = held
            .id()
            .to_string()
            .parse()
            .map_err(|_| std::io::ErrorKind::InvalidData)?;
        let process = format!("/proc/{}", held.process_id());
        let (command, args) = command_line(&Path::new(&process).join("cmdline"));
        let cwd = fs::read_link(Path::new(&process).join("cwd"));
        let cwd = cwd.map_or_else(|_| "/".to_owned(), |cwd| cwd.display().to_string());
        let began = i64::try_from(held.began().0).unwrap_or(i64::MAX);
        let created_at = Timestamp::from_millisecond(began).unwrap_or(Timestamp::UNIX_EPOCH);
        let engine = terminal::Session::adopt(held, self.options())?;
        let table = self.table();
        let kept = Kept {
            name: name::for_command(&command, |name| table.is_taken(name)),
            ..Kept::default()
        };
        drop(table);
        let made = Made {
            command,
            args,
            cwd,
            at: created_at,
            parent: None,
            trusted: false,
        };
        Ok(Arc::new(Record::new(resource, made, kept, engine)))
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
