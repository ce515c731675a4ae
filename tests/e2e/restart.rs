//! `POST /v1/restart` and `transom restart`.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use harness::{Authority, DaemonOptions, HungDisk, TerminalOf, TestDaemon, until, within};
use protocol::{
    access::{Restarting, Status},
    attach::{CLOSE_RESTARTING, Mode},
    sessions::Input,
};
use rustix::{
    fs::{FlockOperation, flock},
    process::Signal,
};
use serde_json::json;
use tokio::sync::oneshot::{self, error::TryRecvError};

#[tokio::test]
async fn the_same_process_serves_in_another_life_and_its_sessions_go_on() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner
        .shell("ulimit -n; echo ready; read x; ulimit -n; exit 4")
        .await;
    let mut attached = owner.attach(&session.id, Mode::View, "0").await;
    attached.until("ready").await;
    let before: Status = owner.get("/v1/status").await.ok();
    let programs = daemon.programs();
    let answer: Restarting = owner.post("/v1/restart", &json!({})).await.ok();
    assert_eq!((answer.pid, &answer.life), (daemon.pid(), &before.life));
    assert_eq!(attached.until_closed().await, CLOSE_RESTARTING);
    let after = next_life(&daemon, &before).await;
    assert_eq!((after.pid, &after.instance), (before.pid, &before.instance));
    assert_eq!(daemon.programs(), programs);
    let other = owner.shell("ulimit -n").await;
    owner.ended(&other.id).await;
    let mut attached = owner.attach(&session.id, Mode::Write, "0").await;
    attached.until("ready").await.send_input(b"\n").await;
    assert_eq!(attached.until_exit().await.code, Some(4));
    let limits: Vec<String> = attached.text().lines().map(str::to_owned).collect();
    let later = owner.session(&other.id).await.last_line;
    assert_eq!(
        later,
        limits[0].trim(),
        "programs get the limit that they got before"
    );
}

#[tokio::test]
async fn a_restart_and_what_was_typed_before_are_in_the_audit_trail() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read x; read y").await;
    let text = Input {
        text: Some("words".to_owned()),
        enter: true,
        ..Input::default()
    };
    let path = format!("/v1/sessions/{}/input", session.id);
    assert_eq!(owner.post(&path, &text).await.status, 204);
    let before: Status = owner.get("/v1/status").await.ok();
    owner.post("/v1/restart", &json!({})).await;
    next_life(&daemon, &before).await;
    assert_eq!(rows(daemon.folder(), "restart"), 1);
    assert_eq!(rows(daemon.folder(), "input"), 1);
}

#[tokio::test]
async fn what_was_typed_before_a_signal_ended_the_daemon_is_in_the_audit_trail() {
    let mut daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read x; read y").await;
    let keys = json!({ "keys": ["a", "Enter"] });
    owner
        .post(&format!("/v1/sessions/{}/keys", session.id), &keys)
        .await;
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
    assert_eq!(rows(daemon.folder(), "input"), 1);
}

#[tokio::test]
async fn the_command_waits_for_the_new_life_and_says_what_goes_on() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read x").await;
    let before: Status = daemon.owner().get("/v1/status").await.ok();
    let done = daemon.cli(&["restart"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.contains("1 session goes on"), "{done:?}");
    let after: Status = daemon.owner().get("/v1/status").await.ok();
    assert_ne!(after.life, before.life);
    let again = daemon.cli(&["restart", "--force", "--json"]).await;
    assert_eq!(again.json()["sessions"], json!([session.name]), "{again:?}");
    assert_eq!(again.json()["forced"], json!(false), "{again:?}");
}

#[tokio::test]
async fn a_daemon_that_becomes_the_next_one_lets_nobody_take_its_lock() {
    let daemon = TestDaemon::start().await;
    let lock = File::open(daemon.folder().join("transom.lock")).unwrap();
    let (sender, mut taken) = oneshot::channel();
    // Waits in the kernel, so it would get the lock in however short a moment.
    let waiting = std::thread::spawn(move || {
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        sender.send(()).ok();
    });
    for _ in 0..3 {
        let done = daemon.cli(&["restart"]).await;
        assert_eq!(done.code, 0, "{done:?}");
        assert_eq!(taken.try_recv(), Err(TryRecvError::Empty));
    }
    drop(daemon);
    within("the lock", &mut taken).await.unwrap();
    waiting.join().unwrap();
}

#[tokio::test]
async fn restarts_leave_no_descriptor_open() {
    let daemon = TestDaemon::start().await;
    daemon.owner().shell("read x").await;
    let mut counts = Vec::new();
    for _ in 0..3 {
        let done = daemon.cli(&["restart"]).await;
        assert_eq!(done.code, 0, "{done:?}");
        let is_there = |name: &str| name.contains("transom.lock");
        let files = harness::open_files(daemon.pid());
        assert!(
            files.iter().filter(|name| is_there(name)).count() <= 1,
            "{files:?}"
        );
        counts.push(files.iter().filter(|name| name.starts_with('/')).count());
    }
    assert!(counts[2] <= counts[0], "{counts:?}");
}

#[tokio::test]
async fn a_daemon_that_hangs_is_killed_and_another_has_its_arguments() {
    let mut daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read x; exit 6").await;
    daemon.signal(Signal::STOP);
    let refused = daemon.cli(&["restart"]).await;
    assert_eq!(refused.code, 5, "{refused:?}");
    assert!(refused.stderr.contains("--force"), "{refused:?}");
    let goes_on = format!("`kill -CONT {}`", daemon.pid());
    assert!(
        refused.stderr.contains("was stopped") && refused.stderr.contains(&goes_on),
        "{refused:?}"
    );
    let forced = daemon.cli(&["restart", "--force", "--json"]).await;
    assert_eq!(forced.code, 0, "{forced:?}");
    assert_eq!(forced.json()["forced"], json!(true), "{forced:?}");
    assert_eq!(forced.json()["sessions"], json!([session.name]), "{forced:?}");
    assert!(!daemon.ended().await.success());
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    assert_eq!(forced.json()["pid"], json!(status.pid));
    assert_eq!(
        status.tls.len(),
        1,
        "it listens as the former one did: {status:?}"
    );
    let line = fs::read_to_string(format!("/proc/{}/cmdline", status.pid)).unwrap();
    assert!(line.ends_with("--tls\x00127.0.0.1:0\0"), "{line:?}");
    let mut attached = daemon.owner().attach(&session.id, Mode::Write, "screen").await;
    attached.send_input(b"\n").await;
    assert_eq!(attached.until_exit().await.code, Some(6));
}

#[tokio::test]
async fn a_forced_restart_inside_of_a_session_is_refused_before_anything_ends() {
    let daemon = TestDaemon::start().await;
    let mut command = daemon.command(&["restart", "--force"]);
    let refused = harness::Finished::of(command.env("TRANSOM_SESSION", "ses_1")).await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert_eq!(daemon.owner().get("/v1/health").await.status, 200);
}

#[tokio::test]
async fn what_is_at_the_executables_path_by_then_is_the_new_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("transom");
    fs::copy(harness::binary(), &program).unwrap();
    let options = DaemonOptions {
        program: Some(program.clone()),
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_with(options).await;
    let session = daemon.owner().shell("read x").await;
    fs::remove_file(&program).unwrap();
    let refused = daemon.cli(&["restart"]).await;
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains(program.to_str().unwrap()), "{refused:?}");
    assert_eq!(daemon.owner().session(&session.id).await.exit, None);
    let mark = folder.path().join("began");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >{}\nexec {} \"$@\"\n",
        mark.display(),
        harness::binary().display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let done = daemon.cli(&["restart"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(fs::read_to_string(mark).unwrap(), "up --json --tls 127.0.0.1:0\n");
    assert_eq!(daemon.owner().session(&session.id).await.exit, None);
}

#[tokio::test]
async fn a_daemon_that_was_called_by_a_link_goes_on_as_what_the_link_leads_to_by_then() {
    let folder = tempfile::tempdir().unwrap();
    let [former, latter, link] = ["one", "two", "transom"].map(|name| folder.path().join(name));
    for program in [&former, &latter] {
        fs::copy(harness::binary(), program).unwrap();
    }
    std::os::unix::fs::symlink(&former, &link).unwrap();
    let options = DaemonOptions {
        program: Some(link.clone()),
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_with(options).await;
    let executed = || fs::read_link(format!("/proc/{}/exe", daemon.pid())).unwrap();
    assert_eq!(executed(), former);
    for next in [&latter, &former] {
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(next, &link).unwrap();
        let done = daemon.cli(&["restart"]).await;
        assert_eq!(done.code, 0, "{done:?}");
        assert_eq!(executed(), *next);
    }
    fs::set_permissions(&former, Permissions::from_mode(0o757)).unwrap();
    let refused = daemon.cli(&["restart"]).await;
    assert!(refused.stderr.contains("others may write it"), "{refused:?}");
}

#[tokio::test]
async fn an_executable_that_cannot_be_executed_is_refused_before_anything_ends() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("transom");
    fs::copy(harness::binary(), &program).unwrap();
    let options = DaemonOptions {
        program: Some(program.clone()),
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_with(options).await;
    fs::remove_file(&program).unwrap();
    fs::write(&program, b"\x7fELF of half a download").unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let before: Status = daemon.owner().get("/v1/status").await.ok();
    let refused = daemon.cli(&["restart", "--json"]).await;
    assert_eq!(refused.json()["code"], "no_executable", "{refused:?}");
    let after: Status = daemon.owner().get("/v1/status").await.ok();
    assert_eq!(after.life, before.life);
}

#[tokio::test]
async fn what_the_next_daemon_would_refuse_is_refused_before_anything_ends() {
    let authority = Authority::new();
    let (pair, other) = (
        authority.issue("one", &["a.example"]),
        authority.issue("other", &["a.example"]),
    );
    fs::copy(&other.key, &pair.key).unwrap();
    let daemon = TestDaemon::start().await;
    let before: Status = daemon.owner().get("/v1/status").await.ok();
    for (config, why) in [
        ("[listen\n".to_owned(), "not valid TOML"),
        (pair.config(), "does not belong to the key"),
    ] {
        fs::write(daemon.folder().join("config.toml"), config).unwrap();
        for command in [&["restart"][..], &["restart", "--force"]] {
            let refused = daemon.cli(command).await;
            assert_eq!(refused.code, 64, "{refused:?}");
            assert!(refused.stderr.contains(why), "{refused:?}");
        }
    }
    let after: Status = daemon.owner().get("/v1/status").await.ok();
    assert_eq!((after.pid, after.life), (before.pid, before.life));
}

#[tokio::test]
async fn a_store_that_the_next_daemon_would_refuse_is_refused_before_anything_ends() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read x").await;
    let before: Status = daemon.owner().get("/v1/status").await.ok();
    let first = posix_locks(daemon.pid());
    assert_eq!(daemon.cli(&["ls"]).await.code, 0);
    // Those that are held all the time.
    let mut locks = posix_locks(daemon.pid());
    locks.retain(|lock| first.contains(lock));
    let (key, store) = (
        daemon.folder().join("keys/audit.key"),
        daemon.folder().join("transom.db"),
    );
    let refusals = [(&key, "audit.key is missing"), (&store, "transom.db is")];
    for (round, (file, why)) in refusals.into_iter().chain(refusals).enumerate() {
        // What is looked at without its index must not be let go of.
        if round == refusals.len() {
            fs::remove_file(daemon.folder().join("transom.db-shm")).unwrap();
        }
        let away = file.with_extension("away");
        fs::rename(file, &away).unwrap();
        for command in [&["restart"][..], &["restart", "--force"]] {
            let refused = daemon.cli(command).await;
            assert_eq!(refused.code, 1, "{refused:?}");
            assert!(refused.stderr.contains(why), "{refused:?}");
            assert!(refused.stderr.contains("goes on as before"), "{refused:?}");
        }
        fs::rename(&away, file).unwrap();
    }
    let after: Status = daemon.owner().get("/v1/status").await.ok();
    assert_eq!((after.pid, after.life), (before.pid, before.life));
    assert!(!locks.is_empty());
    until("the store to be this daemon's still", || async {
        let now = posix_locks(daemon.pid());
        locks.iter().all(|lock| now.contains(lock)).then_some(())
    })
    .await;
    let done = daemon.cli(&["restart"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(daemon.owner().session(&session.id).await.exit, None);
}

#[tokio::test]
async fn a_daemon_that_hangs_is_not_killed_for_one_that_would_not_start() {
    let daemon = TestDaemon::start().await;
    daemon.signal(Signal::STOP);
    let key = daemon.folder().join("keys/audit.key");
    let away = key.with_extension("away");
    fs::rename(&key, &away).unwrap();
    let refused = daemon.cli(&["restart", "--force"]).await;
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("audit.key is missing"), "{refused:?}");
    fs::rename(&away, &key).unwrap();
    fs::write(daemon.folder().join("config.toml"), "[listen\n").unwrap();
    let refused = daemon.cli(&["restart", "--force"]).await;
    assert_eq!(refused.code, 64, "{refused:?}");
    daemon.signal(Signal::CONT);
    assert_eq!(daemon.owner().get("/v1/health").await.status, 200);
}

#[tokio::test]
async fn a_disk_that_does_not_say_whether_the_next_daemon_would_start_ends_none() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read x").await;
    let before: Status = daemon.owner().get("/v1/status").await.ok();
    let disk = HungDisk::over(&daemon.folder().join("keys"));
    // The second is asked for while the look of the first goes on.
    for _ in 0..2 {
        let refused = daemon.cli(&["restart", "--json"]).await;
        assert_eq!(refused.code, 1, "{refused:?}");
        let problem = refused.json();
        assert_eq!(problem["code"], "disk_hangs", "{problem}");
        let (detail, hint) = (problem["detail"].to_string(), problem["hint"].to_string());
        assert!(detail.contains(daemon.folder().to_str().unwrap()), "{problem}");
        assert!(hint.contains("nothing was ended"), "{problem}");
    }
    daemon.signal(Signal::STOP);
    let forced = daemon.command(&["restart", "--force"]);
    let forced = TerminalOf::start(&forced, 200, 20).await;
    forced.until_shows("does not answer").await;
    forced.until_shows("nothing was ended").await;
    daemon.signal(Signal::CONT);
    drop(disk);
    // The kernel holds a process whose thread waits for a name that another one looks up on such a disk.
    assert_eq!(forced.exit().await.code, Some(1));
    let after: Status = daemon.owner().get("/v1/status").await.ok();
    assert_eq!((after.pid, after.life), (before.pid, before.life));
    let done = daemon.cli(&["restart"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(daemon.owner().session(&session.id).await.exit, None);
}

#[tokio::test]
async fn an_attached_terminal_comes_back_by_itself() {
    let daemon = TestDaemon::start().await;
    let session = daemon
        .owner()
        .shell("echo ready; while read line; do echo got:$line:; done")
        .await;
    let terminal = TerminalOf::start(&daemon.command(&["attach", &session.name]), 90, 20).await;
    terminal.until_shows("ready").await;
    for word in ["one", "two"] {
        let done = daemon.cli(&["restart"]).await;
        assert_eq!(done.code, 0, "{done:?}");
        terminal.types(format!("{word}\r").as_bytes()).await;
        terminal.until_shows(&format!("got:{word}:")).await;
    }
    terminal.types(b"\x1cd").await;
    assert_eq!(terminal.exit().await.code, Some(0));
}

async fn next_life(daemon: &TestDaemon, before: &Status) -> Status {
    until("the next life", || async {
        let status = daemon.owner().try_get("/v1/status").await?;
        let status: Status = status.ok();
        (status.life != before.life).then_some(status)
    })
    .await
}

/// The locks by fcntl(2) that a process holds: device and inode of the files, and which bytes (proc_locks(5)).
fn posix_locks(pid: u32) -> Vec<String> {
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let fields = locks
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut own: Vec<String> = fields
        .filter(|fields| fields[1] == "POSIX" && fields[4] == pid.to_string())
        .map(|fields| fields[5..].join(" "))
        .collect();
    own.sort();
    own
}

fn rows(folder: &Path, action: &str) -> i64 {
    let store = rusqlite::Connection::open(folder.join("transom.db")).unwrap();
    let count = "SELECT count(*) FROM audit WHERE action = ?1";
    store.query_row(count, [action], |row| row.get(0)).unwrap()
}
