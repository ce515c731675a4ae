use std::{collections::BTreeMap, fs, io, path::Path};

use certs::files;

use super::{Item, Move, Plan, finish_by_steps, finish_locked, is_begun, staging};
use crate::paths::Paths;

/// A state directory with an old state, and a new one that waits; the configuration is elsewhere.
struct Place {
    _folder: tempfile::TempDir,
    paths: Paths,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let paths = Paths {
            config: folder.path().join("etc/config.toml"),
            runtime: state.clone(),
            state,
        };
        fs::create_dir(folder.path().join("etc")).unwrap();
        for folder in [
            &paths.state,
            &paths.keys(),
            &staging(&paths),
            &staging(&paths).join("keys"),
        ] {
            files::directory(folder).unwrap();
        }
        for name in ["transom.db", "transom.db-wal", "keys/audit.key", "keys/old.pem"] {
            fs::write(paths.state.join(name), "old").unwrap();
        }
        fs::write(&paths.config, "old").unwrap();
        for name in ["transom.db", "keys/audit.key"] {
            fs::write(staging(&paths).join(name), "new").unwrap();
        }
        fs::write(Item::Configuration.staged(&paths), "new").unwrap();
        Self {
            _folder: folder,
            paths,
        }
    }

    fn plan() -> Plan {
        let moves = [
            (Item::Journal, false),
            (Item::JournalIndex, false),
            (Item::Store, true),
            (Item::Keys, true),
            (Item::Configuration, true),
        ];
        Plan {
            aside: "before".to_owned(),
            moves: moves.map(|(item, comes)| Move { item, comes }).to_vec(),
        }
    }

    /// What every file says.
    fn files(&self) -> BTreeMap<String, String> {
        let base = self.paths.state.parent().unwrap();
        let mut found = BTreeMap::new();
        let mut open = vec![base.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => open.push(path),
                    false => {
                        let name = path.strip_prefix(base).unwrap().display().to_string();
                        found.insert(name, fs::read_to_string(&path).unwrap());
                    }
                }
            }
        }
        found
    }

    fn is(&self, expected: &[(&str, &str)]) {
        let expected = expected
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        assert_eq!(self.files(), expected.collect());
    }
}

const OLD: &[(&str, &str)] = &[
    ("etc/config.toml", "old"),
    ("state/keys/audit.key", "old"),
    ("state/keys/old.pem", "old"),
    ("state/transom.db", "old"),
    ("state/transom.db-wal", "old"),
];
const NEW: &[(&str, &str)] = &[
    ("etc/config.toml", "new"),
    ("etc/config.toml.before", "old"),
    ("state/before/keys/audit.key", "old"),
    ("state/before/keys/old.pem", "old"),
    ("state/before/transom.db", "old"),
    ("state/before/transom.db-wal", "old"),
    ("state/keys/audit.key", "new"),
    ("state/transom.db", "new"),
];

#[test]
fn what_was_not_decided_is_forgotten() {
    let place = Place::new();
    finish_locked(&place.paths).unwrap();
    place.is(OLD);
}

#[test]
fn what_was_decided_is_done_wherever_it_was_cut_off() {
    let mut cuts = 0;
    loop {
        let place = Place::new();
        Place::plan().decide(&place.paths).unwrap();
        let mut left = cuts;
        let cut = finish_by_steps(&place.paths, || match left {
            0 => Err(io::ErrorKind::Interrupted.into()),
            _ => {
                left -= 1;
                Ok(())
            }
        });
        let was_cut = cut.is_err();
        finish_locked(&place.paths).unwrap();
        place.is(NEW);
        assert!(!is_begun(&place.paths));
        finish_locked(&place.paths).unwrap();
        if !was_cut {
            break;
        }
        cuts += 1;
    }
    assert_eq!(cuts, 8, "each move that was to be made, and the end");
}

#[test]
fn a_folder_for_what_was_there_is_left_only_where_something_was() {
    let place = Place::new();
    for old in ["transom.db", "transom.db-wal"] {
        fs::remove_file(place.paths.state.join(old)).unwrap();
    }
    fs::remove_dir_all(place.paths.keys()).unwrap();
    fs::remove_file(&place.paths.config).unwrap();
    Place::plan().decide(&place.paths).unwrap();
    finish_locked(&place.paths).unwrap();
    assert!(!Path::new(&place.paths.state.join("before")).exists());
    assert_eq!(fs::read_to_string(place.paths.store()).unwrap(), "new");
}
