//! The daemon's log: what names a request, what is written, and `transom daemon-log`, which shows it.

use std::{
    collections::BTreeSet,
    fs::{self, File, Permissions},
    io::Write,
    os::unix::fs::PermissionsExt,
};

use harness::{DaemonOptions, Finished, RawRequest, Running, TestDaemon, TlsClient, within};
use pairing::Role;
use serde_json::{Value, json};
use tokio::process::Command;

const TALKATIVE: &str = "[log]\nlevel = \"debug\"\n";

/// The lines of the log that were written while this request was answered.
fn lines_of(daemon: &TestDaemon, request: &str) -> Vec<Value> {
    let log = daemon.log();
    let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter(|line: &Value| line["request_id"] == request)
        .collect()
}

#[tokio::test]
async fn each_problem_names_its_request_and_the_log_has_what_was_said_of_it() {
    let daemon = TestDaemon::start_with(DaemonOptions {
        config: TALKATIVE.to_owned(),
        ..DaemonOptions::default()
    })
    .await;
    let (owner, viewer) = (daemon.owner(), daemon.device(Role::Viewer).await);
    let stranger = TlsClient::new(daemon.address(), daemon.pin());
    let host = daemon.address().to_string();
    let elsewhere = RawRequest::get("/v1/health").header("Host", "elsewhere.example");
    let answers = [
        // The access layer's and the product's tables, the router, a body, the gate, and what the edge says by itself.
        owner.get("/v1/sessions/ses_0000000000000000").await,
        owner.get("/v1/nothing").await,
        owner.post("/v1/sessions", &json!({ "nothing": true })).await,
        viewer.get("/v1/status").await,
        stranger.get("/v1/whoami", None).await,
        stranger.get("/v1/whoami", Some("tsm_dev_wrong")).await,
        elsewhere.over_tls(daemon.address(), daemon.pin()).await,
        RawRequest::get("/v1/nothing")
            .header("Host", &host)
            .header("X-Request-Id", "0123456789abcdef")
            .header(
                "Traceparent",
                "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
            )
            .over_tls(daemon.address(), daemon.pin())
            .await,
    ];
    let mut ids = BTreeSet::new();
    for answer in &answers {
        let id = answer
            .problem()
            .request_id
            .unwrap_or_else(|| panic!("{answer:?}"));
        assert_eq!(id.len(), 16, "{id}");
        assert_ne!(id, "0123456789abcdef", "it is the daemon's own");
        let lines = lines_of(&daemon, &id);
        let answered = lines.iter().filter(|line| line["message"] == "answered");
        let statuses: Vec<_> = answered.map(|line| line["status"].clone()).collect();
        assert_eq!(statuses, [answer.status], "{answer:?}: {lines:?}");
        ids.insert(id);
    }
    assert_eq!(ids.len(), answers.len(), "no two have the same");
}

#[tokio::test]
async fn what_happens_for_a_request_is_found_by_its_id_on_the_command_line() {
    let daemon = TestDaemon::start_with(DaemonOptions {
        config: TALKATIVE.to_owned(),
        ..DaemonOptions::default()
    })
    .await;
    let id = daemon
        .owner()
        .get("/v1/nothing")
        .await
        .problem()
        .request_id
        .unwrap();
    let shown = daemon.cli(&["daemon-log", "--request", &id, "--json"]).await;
    let line: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(
        (&line["message"], &line["path"], &line["request_id"]),
        (&json!("answered"), &json!("/v1/nothing"), &json!(id))
    );
}

#[tokio::test]
async fn the_levels_change_with_a_reload_and_the_daemon_stays() {
    let daemon = TestDaemon::start().await;
    let ask = async || {
        let answer = daemon.owner().get("/v1/nothing").await;
        let id = answer.problem().request_id.unwrap();
        !lines_of(&daemon, &id).is_empty()
    };
    assert!(!ask().await, "no line for each request");
    let configure = async |config: &str| {
        fs::write(daemon.folder().join("config.toml"), config).unwrap();
        daemon.cli(&["reload", "--json"]).await
    };
    let reloaded = configure(TALKATIVE).await;
    assert_eq!(reloaded.code, 0, "{reloaded:?}");
    assert!(ask().await);
    let refused = configure("[log]\nlevel = \"inof\"\n").await;
    assert_eq!(refused.code, 64, "{refused:?}");
    assert!(refused.stdout.contains("info,server=debug"), "{refused:?}");
    assert!(ask().await, "nothing has changed");
    assert_eq!(configure("[log]\nlevel = \"info,daemon=debug\"\n").await.code, 0);
    assert!(!ask().await);
    assert_eq!(configure("[log]\nlevel = \"info,server=debug\"\n").await.code, 0);
    assert!(ask().await);
    assert!(daemon.owner().get("/v1/health").await.status == 200);
}

#[tokio::test]
async fn the_log_is_for_its_owner_alone_and_is_followed_as_it_is_written() {
    let daemon = TestDaemon::start().await;
    for (path, mode) in [("log", 0o700), ("log/transom.jsonl", 0o600)] {
        let found = fs::metadata(daemon.folder().join(path)).unwrap().permissions();
        assert_eq!(found.mode() & 0o777, mode, "{path}");
    }
    let mut follower = Running::start(&mut daemon.command(&["daemon-log", "-f"]));
    let line = follower.line_with("  ready  ").await;
    assert!(line.contains(" INFO ") && line.contains("version="), "{line}");
    assert!(!line.contains('\u{1b}'), "no colour in a pipe: {line}");
    let device = daemon.device(Role::Viewer).await;
    daemon.owner().revoke(device.id()).await;
    let line = follower.line_with("revoked a device").await;
    assert!(
        line.contains("request_id=") && line.contains(&device.id().to_string()),
        "{line}"
    );
    // Also of what goes on if nobody waits for it any more.
    let session = daemon.owner().shell("cat").await;
    let line = follower.line_with("created a session").await;
    assert!(
        line.contains("request_id=") && line.contains(&session.id),
        "{line}"
    );
}

/// A log of two days, of no daemon.
struct Written(tempfile::TempDir);

impl Written {
    fn new() -> Self {
        let folder = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .unwrap();
        fs::create_dir(folder.path().join("log")).unwrap();
        let written = Self(folder);
        written.write("transom.2026-11-29.jsonl", "ERROR", "yesterday");
        written.write("transom.jsonl", "INFO", "today");
        written
    }

    fn write(&self, file: &str, level: &str, message: &str) {
        let path = self.0.path().join("log").join(file);
        let line = json!({
            "timestamp": "2026-11-30T20:27:20.123456Z",
            "level": level,
            "message": message,
            "target": "daemon::up",
        });
        let mut file = File::options().append(true).create(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(harness::binary());
        command.args(words).env_clear().env("TRANSOM_DIR", self.0.path());
        command
    }

    async fn says(&self, words: &[&str]) -> Finished {
        let mut words = words.to_vec();
        words.insert(0, "daemon-log");
        Running::start(&mut self.command(&words)).finish().await
    }
}

#[tokio::test]
async fn without_a_daemon_the_log_is_read_from_its_files() {
    let written = Written::new();
    let messages = async |words: &[&str]| -> Vec<String> {
        let finished = written.says(words).await;
        assert_eq!((finished.code, finished.stderr.as_str()), (0, ""), "{finished:?}");
        let word = |line: &str| line.split_whitespace().nth(3).unwrap().to_owned();
        finished.stdout.lines().map(word).collect()
    };
    assert_eq!(messages(&[]).await, ["yesterday", "today"]);
    assert_eq!(messages(&["-n", "1"]).await, ["today"]);
    assert_eq!(messages(&["--level", "warn"]).await, ["yesterday"]);
    assert!(messages(&["--request", "00"]).await.is_empty());
    let json = written.says(&["--json", "-n", "1"]).await;
    let line: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(line["message"], "today");
    fs::remove_dir_all(written.0.path().join("log")).unwrap();
    let nothing = written.says(&[]).await;
    assert_eq!(nothing.code, 1, "{nothing:?}");
    assert!(nothing.stderr.contains("hint: "), "{nothing:?}");
}

#[tokio::test]
async fn who_follows_goes_on_with_the_next_day() {
    let written = Written::new();
    let mut follower = Running::start(&mut written.command(&["daemon-log", "-f", "-n", "1"]));
    assert!(follower.line().await.unwrap().contains("today"));
    written.write("transom.jsonl", "INFO", "late");
    let folder = written.0.path().join("log");
    fs::rename(
        folder.join("transom.jsonl"),
        folder.join("transom.2026-11-30.jsonl"),
    )
    .unwrap();
    written.write("transom.2026-11-30.jsonl", "INFO", "midnight");
    written.write("transom.jsonl", "INFO", "tomorrow");
    for message in ["late", "midnight", "tomorrow"] {
        let line = follower.line().await.unwrap();
        assert!(line.contains(message), "{message}: {line}");
    }
}

#[tokio::test]
async fn who_follows_a_quiet_log_ends_when_nobody_reads() {
    let written = Written::new();
    let mut command = written.command(&["daemon-log", "-f"]);
    let (reader, writer) = std::io::pipe().unwrap();
    let mut child = command.stdout(writer).kill_on_drop(true).spawn().unwrap();
    drop(command);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(reader));
    assert!(lines.next().unwrap().unwrap().contains("yesterday"));
    drop(lines);
    let ended = within("the end of who follows", child.wait()).await.unwrap();
    assert_eq!(ended.code(), Some(0));
}
