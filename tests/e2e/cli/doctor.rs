//! `transom doctor`: faults made on purpose, and the advice that is right for each.

mod remote;
mod tailnet;

use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, SystemTime},
};

use harness::{Authority, DaemonOptions, Elsewhere, Finished, TerminalOf, TestDaemon, binary};
use pairing::Role;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixListener,
};

/// What was found, each with its state, its detail and its hint.
struct Found(Vec<Value>);

impl Found {
    fn of(said: &Finished) -> Self {
        Self(said.json().as_array().unwrap().clone())
    }

    /// The one check of this name and state.
    fn one(&self, check: &str, state: &str) -> (&str, &str) {
        let is_it = |found: &&Value| found["check"] == check && found["state"] == state;
        let found = self.0.iter().find(is_it);
        let found = found.unwrap_or_else(|| panic!("no {check} is {state}: {:#?}", self.0));
        (
            found["detail"].as_str().unwrap(),
            found["hint"].as_str().unwrap_or_default(),
        )
    }

    /// Fails where another check than these failed.
    fn only_failed(&self, checks: &[&str]) {
        let failed = self.0.iter().filter(|found| found["state"] == "failed");
        let failed: Vec<&str> = failed.map(|found| found["check"].as_str().unwrap()).collect();
        assert_eq!(failed, checks, "{:#?}", self.0);
    }
}

/// Options of a daemon that is configured to be where it is free, whatever else runs on this machine.
fn options() -> DaemonOptions {
    DaemonOptions {
        config: ANYWHERE.to_owned(),
        ..DaemonOptions::default()
    }
}

/// A daemon that was told to end, with its folder.
async fn ended() -> TestDaemon {
    let mut daemon = TestDaemon::start_with(options()).await;
    assert_eq!(daemon.cli(&["shutdown"]).await.code, 0);
    daemon.ended().await;
    daemon
}

async fn doctor(daemon: &TestDaemon) -> (i32, Found) {
    let said = daemon.cli(&["doctor", "--json"]).await;
    (said.code, Found::of(&said))
}

/// All files below a folder, with content, mode and time.
fn files(folder: &Path) -> BTreeMap<String, (Vec<u8>, u32, SystemTime)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, there) = (entry.path(), entry.metadata().unwrap());
        if there.is_dir() {
            all.extend(files(&path));
        } else if there.is_file() {
            let about = (
                fs::read(&path).unwrap(),
                there.permissions().mode(),
                there.modified().unwrap(),
            );
            all.insert(path.display().to_string(), about);
        }
    }
    all
}

#[tokio::test]
async fn of_a_daemon_that_is_well_nothing_fails_and_each_check_has_its_four_fields() {
    let daemon = TestDaemon::start().await;
    daemon.device(Role::Viewer).await;
    let said = daemon.cli(&["doctor", "--json"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let found = Found::of(&said);
    for check in &found.0 {
        let keys: Vec<&str> = check.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["check", "detail", "hint", "state"]);
        assert!(check["detail"].is_string() && (check["hint"].is_string() || check["hint"].is_null()));
        let advised = ["warning", "failed"].contains(&check["state"].as_str().unwrap());
        assert!(!advised || check["hint"].is_string(), "{check}");
    }
    for check in [
        "configuration",
        "folders",
        "keys",
        "store",
        "lock",
        "socket",
        "daemon",
        "clock",
        "listener",
    ] {
        found.one(check, "ok");
    }
    let (listener, _) = found.one("listener", "ok");
    let names = &daemon.ready().tls[0].names;
    assert!(
        listener.contains(&daemon.ready().tls[0].address) && listener.contains(&names[0]),
        "{listener}"
    );
    assert!(found.one("store", "ok").0.contains("1 paired device"));
    let (lock, _) = found.one("lock", "ok");
    assert!(lock.contains(&format!("process {}", daemon.pid())), "{lock}");
    let (phone, hint) = found.one("phone", "skipped");
    assert!(
        phone.contains("this machine alone") && hint.contains("tailnet"),
        "{phone} {hint}"
    );
    found.one("tailnet", "skipped");
}

#[tokio::test]
async fn people_are_told_in_lines_that_fit_their_terminal_and_in_colour_there_alone() {
    let daemon = TestDaemon::start().await;
    fs::set_permissions(
        daemon.folder().join("keys/token.key"),
        Permissions::from_mode(0o644),
    )
    .unwrap();
    let said = daemon.cli(&["doctor"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(!said.stdout.contains('\u{1b}'));
    assert!(said.stdout.contains("\nfailed   keys "), "{}", said.stdout);
    assert!(said.stdout.contains("  hint: `chmod 600 "), "{}", said.stdout);
    let terminal = TerminalOf::start(&daemon.command(&["doctor"]), 80, 60).await;
    assert_eq!(terminal.exit().await.code, Some(1));
    let lines = terminal.until_shows("1 failed").await;
    let is_told = |line: &String| line.starts_with("failed   keys") || line.starts_with("ok       lock");
    assert_eq!(lines.iter().filter(|line| is_told(line)).count(), 2, "{lines:#?}");
    assert!(terminal.snapshot().contains("\u{1b}["));
}

#[tokio::test]
async fn where_none_runs_it_says_so_looks_at_the_files_and_changes_nothing() {
    let daemon = ended().await;
    let before = files(daemon.folder());
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 0, "{:#?}", found.0);
    assert!(found.one("lock", "warning").1.contains("`transom up`"));
    for check in ["keys", "store", "configuration"] {
        found.one(check, "ok");
    }
    for check in ["socket", "listener", "phone"] {
        found.one(check, "skipped");
    }
    assert!(files(daemon.folder()) == before);
    let fresh = Elsewhere::new();
    // Whatever else of this machine has the default port.
    fresh.cli(&["doctor", "--json"]).await.json();
    assert!(fs::read_dir(fresh.folder()).unwrap().next().is_none());
}

#[tokio::test]
async fn what_a_killed_daemon_leaves_is_told_to_be_in_nobodys_way() {
    let mut daemon = TestDaemon::start_with(options()).await;
    daemon.kill().await;
    let store = fs::read(daemon.folder().join("transom.db")).unwrap();
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 0, "{:#?}", found.0);
    let (lock, hint) = found.one("lock", "warning");
    assert!(
        lock.contains("no daemon runs") && hint.contains("`transom up`"),
        "{lock} {hint}"
    );
    assert!(found.one("socket", "skipped").0.contains("left from a daemon"));
    found.one("store", "ok");
    assert!(fs::read(daemon.folder().join("transom.db")).unwrap() == store);
}

#[tokio::test]
async fn a_socket_that_was_removed_is_missed_and_its_daemon_named() {
    let daemon = TestDaemon::start_with(options()).await;
    fs::remove_file(daemon.socket()).unwrap();
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 1);
    found.only_failed(&["socket"]);
    let (detail, hint) = found.one("socket", "failed");
    assert!(detail.contains("was removed"), "{detail}");
    assert!(
        hint.contains(&format!("`kill {}`", daemon.pid())) && hint.contains("`transom up`"),
        "{hint}"
    );
}

#[tokio::test]
async fn a_key_that_others_can_read_is_named_with_what_mends_it() {
    let daemon = ended().await;
    let key = daemon.folder().join("keys/identity.pem");
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 1);
    found.only_failed(&["keys"]);
    let (detail, hint) = found.one("keys", "failed");
    assert!(detail.contains("mode 0644"), "{detail}");
    assert!(hint.contains(&format!("`chmod 600 {}`", key.display())), "{hint}");
    assert!(hint.contains("`transom certs rotate`"), "{hint}");
}

#[tokio::test]
async fn a_store_that_is_newer_cut_or_older_is_told_apart() {
    let daemon = ended().await;
    let path = daemon.folder().join("transom.db");
    let whole = fs::read(&path).unwrap();
    let mut newer = whole.clone();
    // `user_version` (sqlite.org/fileformat.html, 1.3).
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    for (bytes, says, advice) in [
        (&newer[..], "schema version 99", "the newer transom"),
        (&whole[..whole.len() / 2], "is damaged", "good copy"),
    ] {
        fs::write(&path, bytes).unwrap();
        let (code, found) = doctor(&daemon).await;
        assert_eq!(code, 1);
        found.only_failed(&["store"]);
        let (detail, hint) = found.one("store", "failed");
        assert!(detail.contains(says) && hint.contains(advice), "{detail} {hint}");
        assert!(fs::read(&path).unwrap() == bytes);
    }
    fs::write(&path, &whole).unwrap();
    let daemon_again = TestDaemon::start_in(daemon.keep_folder(), &options()).await;
    assert_eq!(daemon_again.cli(&["devices", "add", "ci"]).await.code, 0);
    assert_eq!(daemon_again.cli(&["shutdown"]).await.code, 0);
    drop(daemon_again);
    fs::write(&path, &whole).unwrap();
    let (_, found) = doctor(&daemon).await;
    let (detail, hint) = found.one("store", "failed");
    assert!(
        detail.contains("older") && hint.contains("--accept-older-store"),
        "{detail} {hint}"
    );
}

#[tokio::test]
async fn a_port_that_another_program_has_is_told_with_that_program() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let elsewhere = Elsewhere::new();
    let config = format!("[listen]\ntls = [\"{address}\"]\n");
    fs::write(elsewhere.folder().join("config.toml"), config).unwrap();
    let said = elsewhere.cli(&["doctor", "--json"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    let found = Found::of(&said);
    found.only_failed(&["port"]);
    let (detail, hint) = found.one("port", "failed");
    assert!(detail.contains(&address.to_string()), "{detail}");
    assert!(
        detail.contains(&format!("process {}", std::process::id())),
        "{detail}"
    );
    assert!(hint.contains("listen.tls"), "{hint}");
    drop(taken);
    let said = elsewhere.cli(&["doctor", "--json"]).await;
    Found::of(&said).one("port", "ok");
}

#[tokio::test]
async fn a_certificate_of_the_users_that_is_over_or_lacks_a_name_is_told() {
    let authority = Authority::new();
    let files = authority.issue("desk", &["desk.example"]);
    let config = |names: &str| format!("{}tls = [\"127.0.0.1:0\"]\nnames = {names}\n", files.config());
    let folder = Elsewhere::new();
    let told = async |names: &str| {
        fs::write(folder.folder().join("config.toml"), config(names)).unwrap();
        folder.cli(&["doctor", "--json"]).await
    };
    let said = told(r#"["desk.example"]"#).await;
    Found::of(&said).one("certificate", "ok");
    let said = told(r#"["desk.example", "box.example"]"#).await;
    assert_eq!(said.code, 0, "{said:?}");
    let (detail, hint) = (Found::of(&said), "certificate");
    let (detail, hint) = detail.one(hint, "warning");
    assert!(
        detail.contains("not for box.example") && hint.contains("listen.names"),
        "{detail} {hint}"
    );
    authority.issue_for_days("desk", &["desk.example"], -10);
    let said = told(r#"["desk.example"]"#).await;
    assert_eq!(said.code, 1, "{said:?}");
    let found = Found::of(&said);
    found.only_failed(&["certificate"]);
    let (detail, hint) = found.one("certificate", "failed");
    assert!(
        detail.contains("has expired") && hint.contains("renew"),
        "{detail} {hint}"
    );
}

#[tokio::test]
async fn a_clock_that_is_behind_is_told_by_how_much() {
    let daemon = TestDaemon::start().await;
    let epoch = File::options()
        .write(true)
        .open(daemon.folder().join("keys/epoch"))
        .unwrap();
    epoch
        .set_modified(SystemTime::now() + Duration::from_secs(50 * 60 * 60))
        .unwrap();
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 1);
    found.only_failed(&["clock"]);
    let (detail, hint) = found.one("clock", "failed");
    assert!(
        detail.contains("2d behind") && hint.contains("set-ntp"),
        "{detail} {hint}"
    );
}

#[tokio::test]
async fn a_bad_configuration_and_a_lock_down_are_told() {
    let daemon = ended().await;
    fs::write(daemon.folder().join("config.toml"), "[listen]\ntsl = []\n").unwrap();
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 1);
    found.only_failed(&["configuration"]);
    assert!(found.one("configuration", "failed").1.contains("`listen.tls`"));
    fs::write(daemon.folder().join("config.toml"), ANYWHERE).unwrap();
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 0);
    assert!(found.one("lockdown", "warning").1.contains("--lift"));
}

#[tokio::test]
async fn one_fault_of_a_daemon_that_goes_on_as_before_fails_once_and_names_the_key_once() {
    let daemon = TestDaemon::start_with(options()).await;
    let file = daemon.folder().join("config.toml");
    let (authority, names) = (Authority::new(), "names = [\"desk.example\"]\n");
    let pair = authority.issue_for_days("desk", &["desk.example"], -1);
    fs::write(&file, format!("{}{names}", pair.config())).unwrap();
    assert_eq!(daemon.cli(&["reload"]).await.code, 1);
    let (_, found) = doctor(&daemon).await;
    found.only_failed(&["certificate"]);
    fs::write(&file, ANYWHERE).unwrap();
    assert_eq!(daemon.cli(&["reload"]).await.code, 0);
    fs::write(&file, "[listen]\ntsl = []\n").unwrap();
    assert_eq!(daemon.cli(&["reload"]).await.code, 64);
    let (_, found) = doctor(&daemon).await;
    found.only_failed(&["configuration"]);
    found.one("reload", "skipped");
    let all = serde_json::to_string(&found.0).unwrap();
    assert_eq!(
        (all.matches("`tsl`").count() + all.matches("listen.tsl").count()),
        1,
        "{all}"
    );
    assert_eq!(all.matches("listen.tls`").count(), 1, "{all}");
}

#[tokio::test]
async fn a_daemon_without_the_app_is_told_with_what_builds_it() {
    let real = TestDaemon::start().await;
    let mut status: Value = real.owner().get("/v1/status").await.ok();
    status["web_app"] = false.into();
    let folder = Elsewhere::new();
    let lock = File::create(folder.folder().join("transom.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let listener = UnixListener::bind(folder.folder().join("transom.sock")).unwrap();
    let body = status.to_string();
    let said = tokio::select! {
        said = folder.cli(&["doctor", "--json"]) => said,
        () = answer(&listener, &body) => unreachable!("it answers for good"),
    };
    let found = Found::of(&said);
    let (detail, hint) = found.one("web_app", "warning");
    assert!(detail.contains("browsers find no page"), "{detail}");
    assert!(hint.contains("cargo xtask web"), "{hint}");
}

#[tokio::test]
async fn a_lock_that_another_program_holds_is_told_of_the_lock_and_of_nothing_else() {
    let daemon = ended().await;
    let lock = File::open(daemon.folder().join("transom.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 1);
    found.only_failed(&["lock"]);
    let (detail, hint) = found.one("lock", "failed");
    let own = std::process::id();
    assert!(
        detail.contains(&format!("process {own}")) && hint.contains(&format!("`kill {own}`")),
        "{detail} {hint}"
    );
    found.one("socket", "skipped");
}

#[tokio::test]
async fn a_daemon_that_no_device_can_reach_is_told() {
    let daemon = TestDaemon::start_with(DaemonOptions {
        config: "[listen]\ntls = []\n".to_owned(),
        listens_as_configured: true,
        ..DaemonOptions::default()
    })
    .await;
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 0, "{:#?}", found.0);
    let (detail, hint) = found.one("listener", "warning");
    assert!(
        detail.contains("no device reaches") && hint.contains("127.0.0.1:7443"),
        "{detail} {hint}"
    );
}

#[tokio::test]
async fn a_daemon_that_was_stopped_is_told_with_what_has_it_go_on() {
    let daemon = TestDaemon::start_with(options()).await;
    daemon.signal(rustix::process::Signal::STOP);
    let (code, found) = doctor(&daemon).await;
    daemon.signal(rustix::process::Signal::CONT);
    assert_eq!(code, 1);
    found.only_failed(&["socket"]);
    let (detail, hint) = found.one("socket", "failed");
    let goes_on = format!("`kill -CONT {}`", daemon.pid());
    assert!(
        detail.contains("was stopped") && hint.contains(&goes_on),
        "{detail} {hint}"
    );
}

#[tokio::test]
async fn a_program_of_a_session_is_told_to_ask_outside_of_it() {
    let daemon = TestDaemon::start_with(options()).await;
    let doctor = ["run", "--", binary().to_str().unwrap(), "doctor", "--json"];
    let said = daemon.cli(&doctor).await;
    assert_eq!(said.code, 0, "{said:?}");
    let found = Found::of(&said);
    let outside = found
        .0
        .iter()
        .find(|found| found["hint"] == "run it outside of the session");
    assert_eq!(outside.unwrap()["state"], "skipped", "{:#?}", found.0);
}

/// Says the same to whoever asks.
async fn answer(listener: &UnixListener, body: &str) {
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

const ANYWHERE: &str = "[listen]\ntls = [\"127.0.0.1:0\"]\n";
