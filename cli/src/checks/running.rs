//! Whether a daemon runs: who has the lock, and whether it answers at its socket.

use std::{fs, io, os::unix::fs::FileTypeExt, path::Path};

use daemon::{
    Paths,
    lock::{Holder, Lock},
    offline,
};
use jiff::Timestamp;
use protocol::{
    access::Status,
    certificates::Certificates,
    condition::{Degraded, DegradedKind, Warning, WarningKind},
};

use super::{
    Check,
    ports::{name_of, process_of},
};
use crate::{client::Client, duration, failure::Failure};

/// A daemon that runs, and what it says of itself.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) status: Status,
    pub(crate) certificates: Option<Certificates>,
}

/// What there is of a daemon.
#[derive(Debug)]
pub(crate) enum Daemon {
    /// None runs.
    Absent,
    /// One has the lock, and does not say anything.
    Silent,
    /// One runs and answers.
    Answers(Box<Running>),
}

impl Daemon {
    /// The one that answers.
    pub(crate) fn running(&self) -> Option<&Running> {
        match self {
            Self::Answers(running) => Some(running),
            Self::Absent | Self::Silent => None,
        }
    }
}

impl Running {
    /// Asks it.
    pub(crate) async fn ask(client: &Client) -> Result<Self, Failure> {
        Ok(Self {
            status: client.get("/status").await?,
            certificates: client.get("/certificates").await.ok(),
        })
    }
}

/// Who has the lock, what is at the socket, and the daemon if one answers there. A socket that a service manager keeps is not
/// asked while no daemon runs: that would start one.
pub(crate) async fn lock_and_socket(paths: &Paths) -> (Vec<Check>, Daemon) {
    let (lock, holder) = lock(paths);
    let mut found = vec![lock];
    if holder == Some(Holder::Nobody) {
        found.push(unserved(&paths.socket()));
        return (found, Daemon::Absent);
    }
    if let Some(Holder::Process(pid)) = holder
        && !is_daemon(pid)
        && listener_at(&paths.socket()).is_none()
    {
        return (
            vec![held_by_another(pid), unserved(&paths.socket())],
            Daemon::Absent,
        );
    }
    let (socket, running) = served(&paths.socket(), holder).await;
    found.push(socket);
    let daemon = running.map_or(Daemon::Silent, |running| Daemon::Answers(Box::new(running)));
    (found, daemon)
}

fn lock(paths: &Paths) -> (Check, Option<Holder>) {
    let path = paths.lock();
    match Lock::holder(&path) {
        Ok(Holder::Process(pid)) => {
            let detail = format!("held by {} (process {pid})", name_of(pid));
            (Check::ok("lock", detail), Some(Holder::Process(pid)))
        }
        Ok(Holder::Unseen) => {
            let detail = format!(
                "{} is held by a process that cannot be seen from here",
                path.display()
            );
            let hint = "a daemon runs in another container with this state directory: ask it there";
            (Check::warning("lock", detail, hint), Some(Holder::Unseen))
        }
        Ok(Holder::Nobody) => {
            let left = match path.exists() {
                true => "; the lock's file is left from one that ended, which is in nobody's way",
                false => "",
            };
            let check = Check::warning(
                "lock",
                format!("nobody holds it: no daemon runs{left}"),
                "start one with `transom up`, or for good with `transom service install`",
            );
            (check, Some(Holder::Nobody))
        }
        Err(error) => {
            let detail = format!("{} cannot be looked at: {error}", path.display());
            let hint = "it must be a file of yours with the mode 0600";
            (Check::failed("lock", detail, hint), None)
        }
    }
}

/// Whether it was started as one. Of a process that cannot be seen nothing else is said.
fn is_daemon(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let verb = line.split(|byte| *byte == 0).nth(1);
    line.is_empty() || verb == Some(b"up")
}

fn held_by_another(pid: u32) -> Check {
    Check::failed(
        "lock",
        format!(
            "held by {} (process {pid}), which is no daemon: none can start",
            name_of(pid)
        ),
        format!("a command of transom's is done in a moment; else see what it is, and end it: `kill {pid}`"),
    )
}

/// What is at the socket's path while no daemon runs.
fn unserved(socket: &Path) -> Check {
    let shown = socket.display();
    match fs::symlink_metadata(socket) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Check::skipped("socket", format!("{shown} is not there, as no daemon runs"))
        }
        Err(error) => Check::failed(
            "socket",
            format!("{shown} cannot be looked at: {error}"),
            "its folder must be yours, with the mode 0700",
        ),
        Ok(there) if !there.file_type().is_socket() => Check::failed(
            "socket",
            format!("{shown} is no socket, and is never removed: a daemon cannot start"),
            format!("see what it is, and move it away: `mv {shown} {shown}.old`"),
        ),
        Ok(_) => match listener_at(socket) {
            None => Check::skipped(
                "socket",
                format!("{shown} is left from a daemon that ended; the next one takes its place"),
            ),
            Some(Some((_, name))) if name == "systemd" => Check::skipped(
                "socket",
                format!("{shown} is kept by systemd, which starts the daemon when somebody asks"),
            ),
            Some(who) => {
                let who = who.map_or_else(
                    || "somebody".to_owned(),
                    |(pid, name)| format!("{name} (process {pid})"),
                );
                Check::failed(
                    "socket",
                    format!("{who} listens at {shown}, and is no daemon that holds the lock"),
                    "end it, unless it is your service manager",
                )
            }
        },
    }
}

/// Who listens at the path of a socket, without asking there: none where nobody does.
fn listener_at(socket: &Path) -> Option<Option<(u32, String)>> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let inode = table.lines().find_map(|line| {
        // `Num: RefCount Protocol Flags Type St Inode Path`
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = line.ends_with(&format!(" {}", socket.display())) && words.get(3) == Some(&LISTENING);
        words.get(6)?.parse().ok().filter(|_| is_it)
    })?;
    Some(process_of(inode))
}

/// Asks the daemon that holds the lock, at its socket.
async fn served(socket: &Path, holder: Option<Holder>) -> (Check, Option<Running>) {
    let shown = socket.display();
    let asked = match Client::at(socket) {
        Ok(client) => Running::ask(&client).await,
        Err(failure) => Err(failure),
    };
    match asked {
        Ok(running) => (Check::ok("socket", format!("{shown} answers")), Some(running)),
        Err(failure) if failure.is_unreachable() && holder.is_some() => {
            let (who, end) = match holder {
                Some(Holder::Process(pid)) => (format!("process {pid}"), format!("`kill {pid}`")),
                _ => ("the daemon".to_owned(), "end it".to_owned()),
            };
            let detail = match socket.symlink_metadata() {
                Ok(_) => format!("{who} does not listen at {shown}"),
                Err(_) => format!("{who} runs, and its socket {shown} was removed"),
            };
            let hint = format!(
                "where it has just started, ask again; else {end}, then `transom up`: sessions go on meanwhile"
            );
            (Check::failed("socket", detail, hint), None)
        }
        // It knows a program of one of its sessions, whatever the environment says.
        Err(Failure::Problem { problem, .. }) if problem.code == "not_permitted" => {
            let detail = format!("{shown} answers, and tells programs of its sessions no more");
            let check = Check::skipped("socket", detail).hint("run it outside of the session");
            (check, None)
        }
        Err(failure) => (Check::of("socket", failure), None),
    }
}

/// What the daemon says of its own state, but for what was found to have failed already.
pub(crate) fn of_the_daemon(
    running: Option<&Running>,
    paths: &Paths,
    failed: &[&str],
    now: Timestamp,
) -> Vec<Check> {
    let Some(Running { status, .. }) = running else {
        return Vec::from_iter(offline::is_locked_down(paths).then(locked_down));
    };
    let mut found = Vec::new();
    let ours = env!("CARGO_PKG_VERSION");
    found.push(match status.version == ours {
        true => Check::ok(
            "daemon",
            format!(
                "version {ours}, running for {}, {} of {} sessions running",
                duration::since(status.started_at, now),
                status.sessions_running,
                status.sessions
            ),
        ),
        false => Check::warning(
            "daemon",
            format!("it runs version {}, and this is {ours}", status.version),
            "`transom restart` starts it again as the version that is installed; sessions go on",
        ),
    });
    if status.locked_down {
        found.push(locked_down());
    }
    let degraded = status.degraded.iter();
    found.extend(degraded.filter_map(|one| degraded_in_words(one, failed)));
    found.extend(status.warnings.iter().filter_map(soon));
    found
}

/// How the daemon is not as it is configured; none of what is looked at by itself.
fn degraded_in_words(degraded: &Degraded, failed: &[&str]) -> Option<Check> {
    let detail = degraded.detail.clone();
    match degraded.kind {
        DegradedKind::TailnetListener => None,
        DegradedKind::OwnCertificate if failed.contains(&"certificate") => None,
        DegradedKind::Refused if failed.contains(&"configuration") => Some(Check::skipped(
            "reload",
            "the daemon goes on with the configuration of before",
        )),
        DegradedKind::AwaitsRestart => Some(Check::warning(
            "reload",
            detail,
            "`transom restart` takes it up; sessions go on",
        )),
        DegradedKind::Refused
        | DegradedKind::OwnCertificate
        | DegradedKind::Names
        | DegradedKind::Listener
        | DegradedKind::SocketUnit => Some(Check::failed(
            "reload",
            detail,
            "the former settings hold: mend what is said, and `transom reload`",
        )),
    }
}

/// What will not be as it should be soon; none of what is looked at in its files.
fn soon(warning: &Warning) -> Option<Check> {
    match warning.kind {
        WarningKind::OwnCertificate => None,
        WarningKind::Root => Some(Check::warning("root", &*warning.detail, &*warning.hint)),
    }
}

/// Whether browsers find a page.
pub(crate) fn web_app(running: Option<&Running>) -> Check {
    let (is_there, whose) = match running {
        Some(running) => (running.status.web_app, "the daemon"),
        None => (daemon::has_web_app(), "this binary"),
    };
    match is_there {
        true => Check::ok("web_app", format!("{whose} carries it")),
        false => Check::warning(
            "web_app",
            format!("{whose} was built without the web app: browsers find no page"),
            "`cargo xtask web`, then build again and `transom restart`",
        ),
    }
}

fn locked_down() -> Check {
    Check::warning(
        "lockdown",
        "every remote way in is closed, by a lock-down",
        "`transom lockdown --lift` opens them again",
    )
}

/// `__SO_ACCEPTCON` (include/uapi/linux/net.h).
const LISTENING: &str = "00010000";

#[cfg(test)]
mod tests {
    use protocol::condition::{Degraded, DegradedKind, Warning, WarningKind};

    use super::{degraded_in_words, soon};
    use crate::checks::State;

    #[test]
    fn what_is_wrong_is_told_apart_by_its_kind_whatever_its_words() {
        let state = |kind, detail: &str| {
            let degraded = Degraded::new(kind, detail);
            degraded_in_words(&degraded, &[]).map(|check| check.state)
        };
        assert_eq!(state(DegradedKind::AwaitsRestart, "x"), Some(State::Warning));
        let words = "x waits for a restart";
        assert_eq!(state(DegradedKind::Listener, words), Some(State::Failed));
        assert_eq!(state(DegradedKind::TailnetListener, words), None);
        let about = |kind| {
            soon(&Warning {
                kind,
                detail: "the root ends".to_owned(),
                hint: "make another".to_owned(),
            })
        };
        assert_eq!(about(WarningKind::OwnCertificate), None);
        assert_eq!(
            about(WarningKind::Root).and_then(|check| check.hint).as_deref(),
            Some("make another")
        );
    }
}
