use std::{cell::Cell, collections::BTreeMap, fs, io, path::Path};

use certs::files;

use super::{Item, Move, Plan, decision, finish_by, finish_locked, is_begun, staging, withdrawal};
use crate::{backup::BackupError, paths::Paths};

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
    for cut in 0..=STEPS {
        let place = Place::new();
        Place::plan().decide(&place.paths).unwrap();
        let done = Place::plan().carry_out(&place.paths, &until(cut));
        assert_eq!(done.is_ok(), cut == STEPS, "each move that was to be made");
        finish_locked(&place.paths).unwrap();
        place.is(NEW);
        assert!(!is_begun(&place.paths));
        finish_locked(&place.paths).unwrap();
    }
}

#[test]
fn a_restore_of_which_a_step_is_refused_is_undone_and_says_which() {
    for refused in 0..STEPS {
        let place = Place::new();
        Place::plan().decide(&place.paths).unwrap();
        let step = Cell::new(0);
        let undone = finish_by(&place.paths, &|from, to| {
            step.set(step.get() + 1);
            match step.get() == refused + 1 {
                true => Err(io::ErrorKind::ResourceBusy.into()),
                false => fs::rename(from, to),
            }
        });
        let undone = undone.unwrap_err();
        assert_eq!(undone.code(), "undone", "{undone}");
        assert!(undone.to_string().contains("cannot be moved to"), "{undone}");
        place.is(OLD);
        assert!(!is_begun(&place.paths) && !place.paths.state.join("before").exists());
        finish_locked(&place.paths).unwrap();
        place.is(OLD);
    }
}

#[test]
fn a_restore_that_cannot_be_undone_either_says_so_and_is_undone_by_the_next() {
    for refused in 1..STEPS {
        let place = Place::new();
        Place::plan().decide(&place.paths).unwrap();
        let half_done = finish_by(&place.paths, &until(refused)).unwrap_err();
        assert_eq!(half_done.code(), "half_restored", "{half_done}");
        let (words, state) = (half_done.to_string(), place.paths.state.display().to_string());
        assert!(words.contains(&state) && !half_done.hint().contains("nothing was changed"));
        let again = finish_by(&place.paths, &until(0)).unwrap_err();
        assert_eq!(again.code(), "half_restored", "{again}");
        finish_locked(&place.paths).unwrap();
        place.is(OLD);
        assert!(!is_begun(&place.paths));
    }
}

#[test]
fn what_is_undone_is_undone_wherever_that_was_cut_off() {
    for done in 0..=STEPS {
        for cut in 0..STEPS {
            let place = Place::new();
            let plan = Place::plan();
            plan.decide(&place.paths).unwrap();
            plan.carry_out(&place.paths, &until(done)).ok();
            files::supersede(&decision(&place.paths), &withdrawal(&place.paths)).unwrap();
            plan.take_back(&place.paths, &until(cut)).ok();
            finish_locked(&place.paths).unwrap();
            place.is(OLD);
            assert!(!is_begun(&place.paths));
        }
    }
}

#[test]
fn a_decision_that_cannot_be_read_is_named_and_nothing_is_moved() {
    let place = Place::new();
    Place::plan().decide(&place.paths).unwrap();
    fs::write(decision(&place.paths), "{").unwrap();
    let before = place.files();
    let refused = finish_locked(&place.paths).unwrap_err();
    assert!(matches!(refused, BackupError::Illegible { .. }), "{refused}");
    assert!(refused.to_string().contains("restoring/decided"), "{refused}");
    assert_eq!(place.files(), before);
}

/// Renames so often, and no more.
fn until(cut: usize) -> impl Fn(&Path, &Path) -> io::Result<()> {
    let left = Cell::new(cut);
    move |from, to| match left.get() {
        0 => Err(io::ErrorKind::Interrupted.into()),
        count => {
            left.set(count - 1);
            fs::rename(from, to)
        }
    }
}

/// Names that something gets: of four that give way, and three that come.
const STEPS: usize = 7;

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
