//! What is kept of a session on disk, beside its output: `session.json` in its folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use protocol::{
    Timestamp,
    sessions::{Exit, Note, Size},
};
use serde::{Deserialize, Serialize};

/// One session as it is written. Whoever adds a field that an older daemon must not lose raises [`VERSION`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) version: u32,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) cwd: String,
    pub(super) created_at: Timestamp,
    pub(super) parent: Option<String>,
    /// From the parent up to the first session that had none, those that were there when this was written; none where an
    /// older daemon did.
    #[serde(default)]
    pub(super) ancestors: Option<Vec<String>>,
    pub(super) trusted: bool,
    /// The size that its terminal began with; older daemons wrote none.
    #[serde(default)]
    pub(super) size: Option<Size>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) note: Option<Note>,
    pub(super) purge_at: Option<Timestamp>,
    /// When its deletion was last taken back; older daemons wrote none.
    #[serde(default)]
    pub(super) restored_at: Option<Timestamp>,
    /// Devices that created it or typed into it.
    pub(super) touched: BTreeSet<String>,
    /// How it ended; none while it runs, and where nobody knows.
    pub(super) end: Option<Ended>,
}

/// The end of a session's program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) at: Timestamp,
    /// None where nobody could know: the session is lost.
    pub(super) exit: Option<Exit>,
    /// Bytes of output.
    pub(super) offset: u64,
    pub(super) size: Size,
    pub(super) title: Option<String>,
    pub(super) last_line: String,
    pub(super) last_output_at: Option<Timestamp>,
    /// What its program called for that nobody answered; older daemons wrote none.
    #[serde(default)]
    pub(super) called: Option<Called>,
}

/// A call of a program (BEL, a notification).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Called {
    pub(super) at: Timestamp,
    /// Its words, if there were any.
    pub(super) message: Option<String>,
}

/// Why a session's file was not taken. It stays as it is.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    /// The system says no.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A later daemon wrote it.
    #[error("a newer daemon wrote it (version {0}, and this one knows up to {VERSION})")]
    Newer(u32),
    /// It is not what any daemon wrote.
    #[error("it is damaged: {0}")]
    Damaged(String),
}

impl Unreadable {
    /// Whether there is no file: its daemon died before it was first written, or the disk was full then.
    pub(super) fn is_no_record(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl Saved {
    /// Reads the file of a session's folder. Blocks.
    ///
    /// # Errors
    /// [`Unreadable`], with the file as it was.
    pub(super) fn read(folder: &Path) -> Result<Self, Unreadable> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let text = fs::read(folder.join(FILE))?;
        let damaged = |error: serde_json::Error| Unreadable::Damaged(error.to_string());
        // Looked at first: of a newer file nothing else may be of a shape that we know.
        let Version { version } = serde_json::from_slice(&text).map_err(damaged)?;
        if version > VERSION {
            return Err(Unreadable::Newer(version));
        }
        let saved: Self = serde_json::from_slice(&text).map_err(damaged)?;
        let is_own = folder.file_name().is_some_and(|name| name == saved.id.as_str());
        if !is_own {
            return Err(Unreadable::Damaged(format!("it is about {}", saved.id)));
        }
        Ok(saved)
    }

    /// Writes the file of a session's folder, which is made where it is not there, whole or not at all. Blocks.
    ///
    /// # Errors
    /// What the system says; the former file is still there.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        make(folder)?;
        let text = serde_json::to_vec_pretty(self)?;
        let fresh = folder.join(FRESH);
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&fresh, folder.join(FILE))?;
        File::open(folder)?.sync_all()
    }
}

/// What a folder of sessions holds: those that can be read, and the others with why not. Blocks.
pub(super) fn read_all(sessions: &Path) -> (Vec<Saved>, Vec<(PathBuf, Unreadable)>) {
    let mut saved = Vec::new();
    let mut unreadable = Vec::new();
    let entries = match fs::read_dir(sessions) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return (saved, unreadable),
        Err(error) => return (saved, vec![(sessions.to_owned(), error.into())]),
    };
    for folder in entries.flatten().map(|entry| entry.path()) {
        match Saved::read(&folder) {
            Ok(one) => saved.push(one),
            Err(error) => unreadable.push((folder, error)),
        }
    }
    saved.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    (saved, unreadable)
}

/// The sessions in a folder that a device created or typed into, for who has no daemon to ask. Blocks.
pub(crate) fn touched_on_disk(sessions: &Path, device: pairing::DeviceId) -> Vec<String> {
    let device = device.to_string();
    let (saved, _) = read_all(sessions);
    let touched = saved.into_iter().filter(|one| one.touched.contains(&device));
    touched.map(|one| one.id).collect()
}

/// Takes a session's folder away. Blocks.
///
/// # Errors
/// What the system says, unless it is not there.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Of the shape of [`Saved`].
pub(super) const VERSION: u32 = 1;

const FILE: &str = "session.json";

/// Where it is written before it takes the former one's place.
const FRESH: &str = "session.json.new";

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, path::Path};

    use super::{Saved, Unreadable, VERSION, read_all};

    fn saved(id: &str) -> Saved {
        let text = format!(
            r#"{{"version": 1, "id": "{id}", "name": "build", "command": "sh", "args": [], "cwd": "/",
                "created_at": "2026-01-01T00:00:00Z", "parent": null, "trusted": false, "labels": {{}}, "note": null,
                "purge_at": null, "touched": [], "end": null}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn write(folder: &Path, text: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("session.json"), text).unwrap();
    }

    #[test]
    fn what_is_written_is_read_again_and_is_its_owners_alone() {
        let all = tempfile::tempdir().unwrap();
        let folder = all.path().join("sessions").join("ses_1");
        saved("ses_1").write(&folder).unwrap();
        let again = Saved {
            name: "other".to_owned(),
            ..saved("ses_1")
        };
        again.write(&folder).unwrap();
        assert_eq!(Saved::read(&folder).unwrap(), again);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join("session.json")), 0o600);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn one_bad_file_costs_its_own_session_alone_and_stays() {
        let all = tempfile::tempdir().unwrap();
        saved("ses_1").write(&all.path().join("ses_1")).unwrap();
        write(&all.path().join("ses_2"), "{");
        let newer = format!(r#"{{"version": {}, "what": "ever"}}"#, VERSION + 1);
        write(&all.path().join("ses_3"), &newer);
        let other = serde_json::to_string(&saved("ses_1")).unwrap();
        write(&all.path().join("ses_4"), &other);
        fs::create_dir(all.path().join("ses_5")).unwrap();
        let (read, mut bad) = read_all(all.path());
        assert_eq!(read, [saved("ses_1")]);
        bad.sort_by(|a, b| a.0.cmp(&b.0));
        let kinds: Vec<bool> = bad
            .iter()
            .map(|(_, why)| matches!(why, Unreadable::Newer(_)))
            .collect();
        assert_eq!(kinds, [false, true, false, false]);
        assert_eq!(
            fs::read_to_string(all.path().join("ses_3/session.json")).unwrap(),
            newer
        );
    }

    #[test]
    fn no_folder_holds_no_sessions() {
        let (read, bad) = read_all(Path::new("/no/such/folder"));
        assert!(read.is_empty() && bad.is_empty());
    }
}
