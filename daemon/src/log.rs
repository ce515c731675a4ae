//! The log: JSON lines in `transom.jsonl`, a file a day, 0600, seven former ones kept.

mod levels;
mod request;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock},
};

use rustix::fs::OFlags;
use tracing::{Level, Metadata};
use tracing_subscriber::{
    Layer, Registry,
    filter::{Targets, filter_fn},
    fmt,
    layer::SubscriberExt,
    reload,
    util::SubscriberInitExt,
};

pub use self::levels::LogLevels;
pub(crate) use self::levels::NoLevels;
use self::request::WithRequest;

/// Writes what has these levels of this process's log into the folder.
///
/// # Errors
/// Where the file cannot be made.
pub(crate) fn start(folder: &Path, levels: &LogLevels) -> io::Result<()> {
    let file = DailyFile::open(folder, today())?;
    let (levels, handle) = reload::Layer::new(levels.targets());
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .map_event_format(WithRequest)
        .with_writer(Mutex::new(file))
        .with_filter(filter_fn(may_be_said));
    let begun = tracing_subscriber::registry().with(levels).with(lines).try_init();
    // A second daemon in one process (a test's) goes on in the first one's log.
    if begun.is_ok() {
        LEVELS.set(handle).ok();
    }
    Ok(())
}

/// Writes what has these levels from now on.
pub(crate) fn set_levels(levels: &LogLevels) {
    if let Some(handle) = LEVELS.get()
        && let Err(error) = handle.reload(levels.targets())
    {
        tracing::error!(%error, "the levels of the log stay as they were");
    }
}

/// Whether an event may be in the log, however much it was asked to say. Other crates' finer words hold what is on the wire:
/// tokens, and what people type.
fn may_be_said(event: &Metadata<'_>) -> bool {
    let source = event.target().split("::").next().unwrap_or_default();
    *event.level() <= Level::INFO || OURS.contains(&source)
}

struct DailyFile {
    folder: PathBuf,
    file: File,
    day: i64,
}

impl DailyFile {
    fn open(folder: &Path, today: i64) -> io::Result<Self> {
        let path = folder.join(CURRENT);
        if let Ok(former) = fs::metadata(&path) {
            let day = former.mtime().div_euclid(SECONDS_PER_DAY);
            if day != today {
                put_aside(folder, day)?;
            }
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            // No link, and no pipe that would be waited for.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(path)?;
        Ok(Self {
            folder: folder.to_path_buf(),
            file,
            day: today,
        })
    }

    fn turn(&mut self, today: i64) -> io::Result<()> {
        put_aside(&self.folder, self.day)?;
        *self = Self::open(&self.folder.clone(), today)?;
        Ok(())
    }
}

impl Write for DailyFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let today = today();
        if today != self.day {
            self.turn(today)?;
        }
        self.file.write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Renames the current file to its day and removes all but the newest former ones.
fn put_aside(folder: &Path, day: i64) -> io::Result<()> {
    let (current, aside) = (
        folder.join(CURRENT),
        folder.join(format!("transom.{}.jsonl", date(day))),
    );
    let moved = match aside.try_exists()? {
        // A clock that was set back has a day come again: what it has already stays.
        true => append(&current, &aside).and_then(|()| fs::remove_file(&current)),
        false => fs::rename(&current, &aside),
    };
    match moved {
        // Somebody tidied up: the next line begins a new file all the same.
        Err(error) if error.kind() == io::ErrorKind::NotFound => (),
        renamed => renamed?,
    }
    let mut former: Vec<PathBuf> = fs::read_dir(folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().is_some_and(|name| name != CURRENT))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    former.sort();
    let surplus = former.len().saturating_sub(KEPT);
    former.iter().take(surplus).try_for_each(fs::remove_file)
}

fn append(from: &Path, to: &Path) -> io::Result<()> {
    let mut to = OpenOptions::new()
        .append(true)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(to)?;
    io::copy(&mut File::open(from)?, &mut to).map(drop)
}

fn date(day: i64) -> String {
    jiff::Timestamp::from_second(day * SECONDS_PER_DAY).map_or_else(
        |_| day.to_string(),
        |midnight| midnight.strftime("%Y-%m-%d").to_string(),
    )
}

fn today() -> i64 {
    server::clock::now().0.div_euclid(SECONDS_PER_DAY * 1000)
}

/// What says which levels are written: a process has one log.
static LEVELS: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();
/// The crates whose every word was written with secrets in mind.
const OURS: [&str; 5] = ["certs", "cli", "daemon", "server", "terminal"];
const CURRENT: &str = "transom.jsonl";
const KEPT: usize = 7;
const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, os::unix::fs::PermissionsExt};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::{CURRENT, DailyFile, KEPT, today};

    #[test]
    fn the_log_is_readable_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        DailyFile::open(folder.path(), 1).unwrap();
        let mode = fs::metadata(folder.path().join(CURRENT))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_pipe_or_a_link_in_the_place_of_the_log_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CURRENT);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(DailyFile::open(folder.path(), today()).is_err());
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
        assert!(DailyFile::open(folder.path(), today()).is_err());
    }

    #[test]
    fn a_log_that_somebody_removed_begins_anew_the_next_day() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = DailyFile::open(folder.path(), 1).unwrap();
        fs::remove_file(folder.path().join(CURRENT)).unwrap();
        log.turn(2).unwrap();
        assert!(folder.path().join(CURRENT).exists());
    }

    #[test]
    fn a_day_that_comes_again_keeps_what_was_written_on_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = DailyFile::open(folder.path(), 3).unwrap();
        for (line, next) in [("one\n", 4), ("two\n", 3), ("three\n", 5)] {
            log.file.write_all(line.as_bytes()).unwrap();
            log.turn(next).unwrap();
        }
        let third = fs::read_to_string(folder.path().join("transom.1970-01-04.jsonl")).unwrap();
        assert_eq!(third, "one\nthree\n");
        assert_eq!(fs::read_to_string(folder.path().join(CURRENT)).unwrap(), "");
    }

    #[test]
    fn a_new_day_begins_a_new_file_and_seven_former_ones_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = DailyFile::open(folder.path(), 0).unwrap();
        for day in 1..=10 {
            log.file.write_all(b"{}\n").unwrap();
            log.turn(day).unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names.len(), KEPT + 1);
        assert_eq!(names[0], "transom.1970-01-04.jsonl");
        assert!(names.contains(&CURRENT.to_owned()));
    }
}
