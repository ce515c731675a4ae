//! Stores of trusted certificates on this machine: the system's, and those of browsers, which `certutil` of NSS writes.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use serde::Serialize;
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

/// A browser's store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BrowserStore {
    /// Whose it is.
    browser: &'static str,
    folder: PathBuf,
}

/// What became of one store.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Done {
    /// Whose store it is.
    pub(super) store: &'static str,
    /// Where it is.
    pub(super) path: String,
    /// Whether it is now as it should be.
    pub(super) ok: bool,
    /// Why it is not.
    pub(super) detail: Option<String>,
}

/// What every store shall hold, or hold no more.
#[derive(Clone, Debug)]
pub(super) struct Wish<'a> {
    /// The name of the root in the stores.
    pub(super) name: String,
    /// The root in PEM; none to remove it.
    pub(super) root: Option<&'a str>,
}

/// The stores of the browsers of a person with this home.
pub(super) fn of_browsers(home: &Path) -> Vec<BrowserStore> {
    let mut stores = Vec::new();
    let has_chromium = CHROMIUMS.iter().any(|name| is_on_path(name));
    let shared = home.join(".pki/nssdb");
    if has_chromium || shared.join(DATABASE).exists() {
        stores.push(BrowserStore {
            browser: "Chromium",
            folder: shared,
        });
    }
    let snap = home.join("snap/chromium/current");
    if snap.is_dir() {
        stores.push(BrowserStore {
            browser: "Chromium (snap)",
            folder: snap.join(".pki/nssdb"),
        });
    }
    let profiles = FIREFOX.iter().flat_map(|folder| {
        let entries = fs::read_dir(home.join(folder)).into_iter().flatten().flatten();
        let folders = entries.map(|entry| entry.path());
        folders.filter(|folder| folder.join(DATABASE).is_file())
    });
    stores.extend(profiles.map(|folder| BrowserStore {
        browser: "Firefox",
        folder,
    }));
    stores
}

impl BrowserStore {
    /// Has it hold what is wished.
    pub(super) async fn make(&self, wish: &Wish<'_>) -> Done {
        let done = self.try_to(wish).await;
        Done {
            store: self.browser,
            path: self.folder.display().to_string(),
            ok: done.is_ok(),
            detail: done.err(),
        }
    }

    async fn try_to(&self, wish: &Wish<'_>) -> Result<(), String> {
        let is_there = self.folder.join(DATABASE).exists();
        match (is_there, wish.root) {
            (false, None) => return Ok(()),
            (false, Some(_)) => {
                fs::create_dir_all(&self.folder).map_err(|error| error.to_string())?;
                self.certutil(&["-N", "--empty-password"], "").await?;
            }
            (true, _) => {}
        }
        // One of that name from before stands for a root that is no more; where there is none, nothing is removed.
        let removed = self.certutil(&["-D", "-n", &wish.name], "").await;
        match wish.root {
            // C: an authority for servers, and for nothing else.
            Some(root) => {
                self.certutil(&["-A", "-a", "-n", &wish.name, "-t", "C,,"], root)
                    .await
            }
            // Only a store that can be read, and has none of that name, is one that nothing had to be removed from.
            None => match removed {
                Ok(()) => Ok(()),
                Err(why) => match self.names().await?.contains(&wish.name) {
                    true => Err(why),
                    false => Ok(()),
                },
            },
        }
    }

    async fn certutil(&self, words: &[&str], input: &str) -> Result<(), String> {
        self.said(words, input).await.map(drop)
    }

    /// What the store holds, as certutil lists it.
    async fn names(&self) -> Result<String, String> {
        self.said(&["-L"], "").await
    }

    async fn said(&self, words: &[&str], input: &str) -> Result<String, String> {
        let mut command = Command::new("certutil");
        command
            .args(words)
            .arg("-d")
            .arg(format!("sql:{}", self.folder.display()));
        let said = run(command, input).await.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                "there is no certutil: install libnss3-tools (Debian, Ubuntu) or nss-tools (Fedora)"
                    .to_owned()
            }
            _ => error.to_string(),
        })?;
        succeeded(&said)?;
        Ok(String::from_utf8_lossy(&said.stdout).into_owned())
    }
}

/// Has the system's own store hold what is wished, which is root's; curl and most programs go by it.
pub(super) async fn make_system(wish: &Wish<'_>) -> Done {
    let store = SYSTEMS.iter().find(|store| Path::new(store.folder).is_dir());
    let path = store.map(|store| format!("{}/{}.crt", store.folder, wish.name));
    let done = match (store, &path) {
        (Some(store), Some(path)) => in_system(store, path, wish).await,
        _ => Err("this system keeps its trusted certificates in no place that is known here".to_owned()),
    };
    Done {
        store: "system",
        path: path.unwrap_or_default(),
        ok: done.is_ok(),
        detail: done.err(),
    }
}

/// What root does for the same.
pub(super) fn system_by_hand(name: &str) -> Option<String> {
    let store = SYSTEMS.iter().find(|store| Path::new(store.folder).is_dir())?;
    let SystemStore { folder, update } = store;
    Some(format!(
        "transom certs export | sudo tee {folder}/{name}.crt >/dev/null && sudo {}",
        update.join(" ")
    ))
}

async fn in_system(store: &SystemStore, path: &str, wish: &Wish<'_>) -> Result<(), String> {
    let changed = match wish.root {
        Some(root) => fs::write(path, root),
        None => fs::remove_file(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        }),
    };
    changed.map_err(|error| error.to_string())?;
    let mut command = Command::new(store.update[0]);
    command.args(&store.update[1..]);
    succeeded(&run(command, "").await.map_err(|error| error.to_string())?)
}

async fn run(mut command: Command, input: &str) -> io::Result<Output> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Whoever ends without reading says why.
        stdin.write_all(input.as_bytes()).await.ok();
    }
    timeout(PATIENCE, child.wait_with_output()).await?
}

fn succeeded(said: &Output) -> Result<(), String> {
    if said.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&said.stderr);
    let last = words.lines().rfind(|line| !line.trim().is_empty());
    Err(last.unwrap_or("it failed without a word").trim().to_owned())
}

fn is_on_path(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Where a system keeps the roots that its administrator trusts, and what makes them known.
struct SystemStore {
    folder: &'static str,
    update: &'static [&'static str],
}

const SYSTEMS: [SystemStore; 3] = [
    SystemStore {
        folder: "/usr/local/share/ca-certificates",
        update: &["update-ca-certificates"],
    },
    SystemStore {
        folder: "/etc/pki/ca-trust/source/anchors",
        update: &["update-ca-trust", "extract"],
    },
    SystemStore {
        folder: "/etc/ca-certificates/trust-source/anchors",
        update: &["trust", "extract-compat"],
    },
];

/// What says that a folder is a store of NSS.
const DATABASE: &str = "cert9.db";

const CHROMIUMS: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "brave-browser",
    "microsoft-edge",
];

/// Folders of Firefox's profiles, below a home.
const FIREFOX: [&str; 4] = [
    ".mozilla/firefox",
    ".config/mozilla/firefox",
    "snap/firefox/common/.mozilla/firefox",
    ".var/app/org.mozilla.firefox/.mozilla/firefox",
];

/// How long certutil may take: it asks a terminal for a password where a store has one, and there may be nobody.
const PATIENCE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{BrowserStore, of_browsers};

    #[test]
    fn every_profile_of_firefox_is_found_and_no_other_folder() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        for profile in [
            ".mozilla/firefox/a.default",
            "snap/firefox/common/.mozilla/firefox/b.default",
        ] {
            fs::create_dir_all(at(profile)).unwrap();
            fs::write(at(profile).join("cert9.db"), "").unwrap();
        }
        fs::create_dir_all(at(".mozilla/firefox/Crash Reports")).unwrap();
        let stores = of_browsers(home.path());
        let firefox: Vec<&BrowserStore> = stores.iter().filter(|store| store.browser == "Firefox").collect();
        assert_eq!(firefox.len(), 2, "{stores:?}");
    }
}
