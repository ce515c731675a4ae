//! What brings a reload by itself: SIGHUP, and files that change.

use std::{
    collections::BTreeSet,
    fs, io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use rustix::{
    fs::inotify::{self, CreateFlags, Reader, WatchFlags},
    io::Errno,
};
use server::{Shutdown, Stop};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::{Wanted, by_itself, readdress, reload};
use crate::{addresses::Changes, app::App, certificates, tasks};

/// Reloads whenever that is wanted, or a file of the configuration has changed, until the soft stop.
pub(crate) async fn follow(app: App, stop: Stop) {
    let watch = Watch::new();
    let addresses = Changes::follow();
    // What came while the daemon began.
    readdress(&app).await;
    loop {
        watch.add(&app.run.reloads.files());
        // Looked for here, whatever woke this: a change between the reading of a file and the watch over it told nobody.
        let run = Arc::clone(&app.run);
        if tasks::blocking(move || run.reloads.have_changed()).await {
            // What is wrong is in the log and the status.
            reload(&app, Wanted::No, by_itself()).await.ok();
            continue;
        }
        tokio::select! {
            biased;
            () = stop.requested(Shutdown::Soft) => return,
            () = app.run.reloads.wanted.notified() => {
                reload(&app, Wanted::Yes, by_itself()).await.ok();
            }
            () = app.run.doors.certificates().own_begins(certificates::now) => {
                reload(&app, Wanted::No, by_itself()).await.ok();
            }
            () = watch.stirred() => {}
            () = addresses.next() => readdress(&app).await,
        }
    }
}

/// A file as it looks from outside; none of one that cannot be looked at.
pub(super) type Look = Option<(u64, u64, u64, i64, i64)>;

/// Links are followed: of certificates that others keep, those change.
pub(super) fn look(path: &Path) -> Look {
    let file = fs::metadata(path).ok()?;
    Some((
        file.dev(),
        file.ino(),
        file.size(),
        file.ctime(),
        file.ctime_nsec(),
    ))
}

/// Tells when something happens in the folders of files: these may come, go and be replaced.
struct Watch {
    /// None where the system has no more of them: then files are looked at now and then.
    watching: Option<Watching>,
}

struct Watching {
    inotify: Arc<OwnedFd>,
    /// Woken at each event, by a thread that waits for them.
    events: Arc<Notify>,
}

impl Watch {
    fn new() -> Self {
        let watching = Watching::begin();
        if let Err(error) = &watching {
            tracing::warn!(%error, "files of the configuration are looked at now and then only");
        }
        Self {
            watching: watching.ok(),
        }
    }

    /// Looks after these files too.
    fn add(&self, files: &[PathBuf]) {
        let Some(Watching { inotify, .. }) = &self.watching else {
            return;
        };
        for folder in folders(files) {
            if let Err(error) = inotify::add_watch(inotify, &folder, EVENTS) {
                tracing::warn!(folder = %folder.display(), %error, "a folder cannot be watched");
            }
        }
    }

    /// Completes when something may have happened, and nothing more has for a moment: who writes a file may not be done.
    async fn stirred(&self) {
        let Some(Watching { events, .. }) = &self.watching else {
            return sleep(NOW_AND_THEN).await;
        };
        events.notified().await;
        let quiet = async { while timeout(QUIET, events.notified()).await.is_ok() {} };
        timeout(AT_MOST, quiet).await.ok();
    }
}

impl Watching {
    fn begin() -> io::Result<Self> {
        let inotify = Arc::new(inotify::init(CreateFlags::CLOEXEC)?);
        let events = Arc::new(Notify::new());
        let (waited_for, woken) = (Arc::clone(&inotify), Arc::clone(&events));
        // It ends with the process. Tokio's own way to wait for any descriptor is not safe code.
        thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || wait(&waited_for, &woken))?;
        Ok(Self { inotify, events })
    }
}

/// Takes events out unread.
fn wait(inotify: &OwnedFd, events: &Notify) {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(inotify, &mut buffer);
    loop {
        match reader.next() {
            Ok(_) => events.notify_one(),
            Err(Errno::INTR) => {}
            Err(error) => {
                tracing::error!(%error, "files of the configuration are not watched any more");
                return;
            }
        }
    }
}

/// The folders in which files, and what links lead to, can be replaced; of one that does not exist, the nearest above it.
fn folders(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let targets = files.iter().filter_map(|path| fs::canonicalize(path).ok());
    let all = files.iter().cloned().chain(targets);
    all.filter_map(|path| {
        let mut above = path.ancestors().skip(1);
        above.find(|folder| folder.is_dir()).map(Path::to_owned)
    })
    .collect()
}

const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::ATTRIB);
/// How long nothing may happen in the folders before the files are looked at, at most until then.
const QUIET: Duration = Duration::from_millis(100);
const AT_MOST: Duration = Duration::from_secs(2);
/// Between two looks where nobody tells.
const NOW_AND_THEN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Watch, folders, look};

    #[tokio::test]
    async fn a_file_that_is_written_replaced_or_linked_anew_is_seen() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir(at("archive")).unwrap();
        fs::write(at("archive/one.pem"), "one").unwrap();
        fs::write(at("archive/two.pem"), "two").unwrap();
        std::os::unix::fs::symlink("archive/one.pem", at("live.pem")).unwrap();
        let files = [at("live.pem"), at("config.toml")];
        let watch = Watch::new();
        watch.add(&files);
        let changes: [&dyn Fn(); 4] = [
            &|| fs::write(at("config.toml"), "[listen]").unwrap(),
            &|| fs::write(at("archive/one.pem"), "another").unwrap(),
            &|| {
                fs::remove_file(at("live.pem")).unwrap();
                std::os::unix::fs::symlink("archive/two.pem", at("live.pem")).unwrap();
            },
            &|| fs::remove_file(at("config.toml")).unwrap(),
        ];
        for change in changes {
            let looks = || files.each_ref().map(|path| look(path));
            let before = looks();
            change();
            watch.stirred().await;
            assert_ne!(looks(), before);
        }
    }

    #[test]
    fn of_a_folder_that_is_not_there_the_one_above_is_watched() {
        let home = tempfile::tempdir().unwrap();
        let missing = home.path().join("transom/config.toml");
        assert_eq!(folders(&[missing]).into_iter().collect::<Vec<_>>(), [home.path()]);
    }
}
