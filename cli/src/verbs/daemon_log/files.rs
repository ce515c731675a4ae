//! The files of the log, as one stream of lines that goes on over the end of a day.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, BufRead, BufReader},
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::inotify::{self, CreateFlags, Reader, WatchFlags},
    io::Errno,
};

use crate::failure::Failure;

/// The log in a folder.
pub(super) struct Log {
    folder: PathBuf,
    /// Tells of what is written and of files that come and go; since before any of them was opened.
    inotify: OwnedFd,
    /// Those that are still to be read, the oldest first. All are open, so whatever they are called meanwhile, none is read twice.
    files: VecDeque<BufReader<File>>,
    /// A line whose end is not written yet.
    begun: Vec<u8>,
}

impl Log {
    /// Opens what there is.
    ///
    /// # Errors
    /// Where there is no such folder, or it is not this user's.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&inotify, folder, EVENTS)?;
        let mut log = Self {
            folder: folder.to_owned(),
            inotify,
            files: VecDeque::new(),
            begun: Vec::new(),
        };
        // Opened first: if the day ends here, it is the last of the former ones.
        let current = log.open_current()?;
        let mut names: Vec<PathBuf> = fs::read_dir(folder)?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.file_name().is_some_and(|name| name != CURRENT))
            .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
            .collect();
        names.sort();
        for name in names {
            let file = match File::open(&name) {
                // The oldest goes when a day ends.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            if !is_same(Some(&file), current.as_ref())? {
                log.files.push_back(BufReader::new(file));
            }
        }
        log.files.extend(current.map(BufReader::new));
        Ok(log)
    }

    /// The next line, without its end; nothing where no more is written yet.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub(super) fn next_line(&mut self) -> io::Result<Option<String>> {
        loop {
            let Some(file) = self.files.front_mut() else {
                // The first daemon may have begun.
                match self.open_current()? {
                    Some(current) => self.files.push_back(BufReader::new(current)),
                    None => return Ok(None),
                }
                continue;
            };
            file.read_until(b'\n', &mut self.begun)?;
            if self.begun.ends_with(b"\n") {
                return Ok(Some(self.take()));
            }
            if self.files.len() == 1 {
                // It may have been put aside, and its last lines were written before that: they are read before the next file.
                let current = self.open_current()?;
                if current.is_none() || is_same(self.files.front().map(BufReader::get_ref), current.as_ref())?
                {
                    return Ok(None);
                }
                self.files.extend(current.map(BufReader::new));
                continue;
            }
            self.files.pop_front();
            // What ends with its file was cut off.
            if !self.begun.is_empty() {
                return Ok(Some(self.take()));
            }
        }
    }

    /// Waits until something is written, or a day begins.
    ///
    /// # Errors
    /// [`Failure::ClosedPipe`] where nobody reads standard output any more; and where the folder cannot be watched.
    pub(super) fn wait(&self) -> Result<(), Failure> {
        let stdout = rustix::stdio::stdout();
        let mut waited = [
            PollFd::new(&self.inotify, PollFlags::IN),
            // A closed pipe or terminal is told though nothing is asked for.
            PollFd::from_borrowed_fd(stdout, PollFlags::empty()),
        ];
        match poll(&mut waited, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        if !waited[1].revents().is_empty() {
            return Err(Failure::ClosedPipe);
        }
        // Taken out unread: what has happened is seen in the files.
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = Reader::new(&self.inotify, &mut buffer);
        loop {
            match events.next() {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }

    fn take(&mut self) -> String {
        let line = std::mem::take(&mut self.begun);
        String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()
    }

    fn open_current(&self) -> io::Result<Option<File>> {
        match File::open(self.folder.join(CURRENT)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }
}

fn is_same(one: Option<&File>, other: Option<&File>) -> io::Result<bool> {
    let identity = |file: &File| file.metadata().map(|data| (data.dev(), data.ino()));
    let one = one.map(identity).transpose()?;
    Ok(one.is_some() && one == other.map(identity).transpose()?)
}

const CURRENT: &str = "transom.jsonl";
const EVENTS: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::CREATE)
    .union(WatchFlags::MOVED_TO);

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File, OpenOptions},
        io::Write,
    };

    use super::{CURRENT, Log};

    fn lines(log: &mut Log) -> Vec<String> {
        std::iter::from_fn(|| log.next_line().unwrap()).collect()
    }

    #[test]
    fn all_days_are_one_stream_in_order_and_it_goes_on_over_the_end_of_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("transom.2026-11-29.jsonl"), "c\n").unwrap();
        fs::write(at("transom.2026-11-28.jsonl"), "a\nb\n").unwrap();
        fs::write(at("notes.txt"), "no\n").unwrap();
        fs::write(at(CURRENT), "d\nhal").unwrap();
        let mut writer = OpenOptions::new().append(true).open(at(CURRENT)).unwrap();
        let mut log = Log::open(folder.path()).unwrap();
        assert_eq!(lines(&mut log), ["a", "b", "c", "d"]);
        writer.write_all(b"f\ne\n").unwrap();
        log.wait().unwrap();
        assert_eq!(lines(&mut log), ["half", "e"]);
        // The last line of the day is written by who has the file open, whatever it is called.
        fs::rename(at(CURRENT), at("transom.2026-11-30.jsonl")).unwrap();
        writer.write_all(b"f\n").unwrap();
        assert_eq!(lines(&mut log), ["f"]);
        File::create(at(CURRENT)).unwrap().write_all(b"g\n").unwrap();
        log.wait().unwrap();
        assert_eq!(lines(&mut log), ["g"]);
    }

    #[test]
    fn a_log_that_has_not_begun_is_followed_from_its_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::open(folder.path()).unwrap();
        assert!(lines(&mut log).is_empty());
        fs::write(folder.path().join(CURRENT), "a\n").unwrap();
        log.wait().unwrap();
        assert_eq!(lines(&mut log), ["a"]);
        assert!(Log::open(&folder.path().join("none")).is_err());
    }
}
