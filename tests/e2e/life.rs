//! The daemon's own life: start, one at a time, and the two steps of its end.

use std::{
    fs,
    io::ErrorKind,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    time::Duration,
};

use harness::{DaemonOptions, TestDaemon, until};
use protocol::{
    access::{Health, Status},
    attach::Mode,
};
use rustix::process::Signal;
use serde_json::json;

#[tokio::test]
async fn health_says_status_version_and_instance_and_no_more() {
    let daemon = TestDaemon::start().await;
    let answer = daemon.owner().get("/v1/health").await;
    let health: Health = answer.ok();
    assert_eq!(health.status, "ok");
    assert_eq!(health.instance, daemon.ready().instance);
    let object: serde_json::Map<String, serde_json::Value> = answer.ok();
    assert_eq!(object.len(), 3);
}

#[tokio::test]
async fn the_instance_and_the_pin_last_and_the_life_does_not() {
    let mut daemon = TestDaemon::start().await;
    let before: Status = daemon.owner().get("/v1/status").await.ok();
    daemon.kill_and_restart().await;
    let after: Status = daemon.owner().get("/v1/status").await.ok();
    assert_eq!(after.instance, before.instance);
    assert_eq!(after.tls[0].pin, before.tls[0].pin);
    assert_ne!(after.life, before.life);
}

#[tokio::test]
async fn a_second_daemon_in_the_same_folder_is_refused_by_the_kernels_lock() {
    let daemon = TestDaemon::start().await;
    let second = daemon.cli(&["up", "--tls", "127.0.0.1:0"]).await;
    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.stderr.contains("already runs"), "{second:?}");
    assert_eq!(daemon.owner().get("/v1/health").await.status, 200);
}

#[tokio::test]
async fn a_pid_file_of_somebody_elses_process_decides_nothing() {
    let daemon = TestDaemon::start().await;
    let folder = daemon.keep_folder();
    drop(daemon);
    fs::write(folder.path().join("transom.pid"), std::process::id().to_string()).unwrap();
    fs::write(folder.path().join("transom.lock"), std::process::id().to_string()).unwrap();
    let again = TestDaemon::start_in(folder, &DaemonOptions::default()).await;
    assert_eq!(again.owner().get("/v1/health").await.status, 200);
}

#[tokio::test]
async fn everything_on_disk_is_its_owners_alone() {
    let daemon = TestDaemon::start().await;
    for folder in ["", "keys", "log"] {
        assert_eq!(mode(&daemon, folder), 0o700, "{folder}");
    }
    for file in [
        "transom.db",
        "transom.lock",
        "transom.sock",
        "keys/identity.pem",
        "keys/certificate.pem",
        "keys/token.key",
        "keys/audit.key",
        "keys/epoch",
        "log/transom.jsonl",
    ] {
        assert_eq!(mode(&daemon, file), 0o600, "{file}");
    }
}

#[tokio::test]
async fn the_first_sigterm_drains_and_the_socket_is_gone() {
    let mut daemon = TestDaemon::start().await;
    let device = daemon.device(pairing::Role::Viewer).await;
    let mut events = device.events(None).await;
    events.next().await;
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
    assert_eq!(events.next().await, None, "the stream ends");
    assert!(!daemon.socket().exists());
}

#[tokio::test]
async fn clients_that_neither_speak_nor_read_do_not_keep_the_daemon_from_its_end() {
    let mut daemon = TestDaemon::start().await;
    let idle = std::net::TcpStream::connect(daemon.address()).unwrap();
    let silent = std::os::unix::net::UnixStream::connect(daemon.socket()).unwrap();
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
    drop((idle, silent));
}

#[tokio::test]
async fn viewers_that_do_not_read_do_not_keep_the_daemon_from_its_end() {
    let unit = include_str!("../../deploy/systemd/transom.service");
    let patience = unit.lines().find_map(|line| line.strip_prefix("TimeoutStopSec="));
    // Beyond that, systemd kills it.
    let patience = Duration::from_secs(patience.unwrap().parse().unwrap());
    let mut daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let device = daemon.device(pairing::Role::Viewer).await;
    let session = owner.shell("echo begun; exec yes").await;
    let path = format!("/v1/sessions/{}", session.id);
    let stalled = [
        owner.attach(&session.id, Mode::Lossless, "0").await,
        device.attach(&session.id, Mode::Lossless, "0").await,
    ];
    let events = (owner.events(None).await, device.events(None).await);
    until("more output than any socket keeps", || async {
        (owner.session(&session.id).await.end > 32 << 20).then_some(())
    })
    .await;
    // About a kilobyte each, for either stream.
    for number in 0..2_000 {
        let note = json!({ "text": format!("{number:0100}") });
        let noted = owner.post(&format!("{path}/note"), &note).await;
        assert_eq!(noted.status, 200, "{noted:?}");
    }
    daemon.signal(Signal::TERM);
    let ended = tokio::time::timeout(patience, daemon.ended()).await;
    assert!(ended.expect("systemd's patience is enough").success());
    drop((stalled, events));
}

#[tokio::test]
async fn a_socket_that_is_too_busy_to_take_anybody_stays_and_no_other_daemon_comes() {
    let mut daemon = TestDaemon::start().await;
    daemon.signal(Signal::TERM);
    daemon.ended().await;
    // Of somebody who does not take the lock, as one of another version may not.
    let socket = daemon.socket();
    let listener = UnixListener::bind(&socket).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let connecting = || async {
        let connected = tokio::net::UnixStream::connect(&socket).await;
        connected.inspect_err(|error| assert_eq!(error.kind(), ErrorKind::WouldBlock))
    };
    let mut waiting = Vec::new();
    while let Ok(stream) = connecting().await {
        waiting.push(stream);
    }
    let second = daemon.cli(&["up", "--tls", "127.0.0.1:0"]).await;
    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.stderr.contains("is in the way"), "{second:?}");
    let asked = daemon.cli(&["run", "true"]).await;
    assert_eq!(asked.code, 5, "{asked:?}");
    listener.accept().unwrap();
    assert!(connecting().await.is_ok(), "the same socket");
}

#[tokio::test]
async fn bad_configuration_exits_64_before_any_socket_exists() {
    let folder = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir()
        .unwrap();
    fs::write(folder.path().join("config.toml"), "[listen]\ntsl = []\n").unwrap();
    let output = std::process::Command::new(harness::binary())
        .args(["up"])
        .env("TRANSOM_DIR", folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(64));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("did you mean `listen.tls`?"), "{words}");
    assert!(!folder.path().join("transom.sock").exists());
}

#[tokio::test]
async fn a_shutdown_stops_the_sessions_only_where_that_is_asked_for() {
    let mut daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("sleep 600").await;
    let done = daemon.cli(&["shutdown"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    daemon.start_again().await;
    assert_eq!(daemon.owner().session(&session.id).await.exit, None);
    let done = daemon.cli(&["shutdown", "--sessions"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    assert!(daemon.ended().await.success());
    assert_eq!(daemon.programs(), Vec::<u32>::new());
}

#[tokio::test]
async fn a_shutdown_of_the_sessions_ends_what_ended_ones_left_running() {
    let mut daemon = TestDaemon::start().await;
    // Its terminal may hang up before it has left that.
    let leave = "trap '' HUP; setsid -f sleep 600; exit 3";
    let former = daemon.owner().shell(leave).await;
    daemon.owner().ended(&former.id).await;
    daemon.kill_and_restart().await;
    // Its record is complete, so that the keeper is let drop it.
    until("the former one's end", || async {
        let kept = daemon.owner().session(&former.id).await;
        kept.exit
    })
    .await;
    let latter = daemon.owner().shell(leave).await;
    daemon.owner().ended(&latter.id).await;
    let left = daemon.programs();
    assert_eq!(left.len(), 2, "{left:?}");
    let done = daemon.cli(&["shutdown", "--sessions"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    assert!(daemon.ended().await.success());
    for process in left {
        let process = rustix::process::Pid::from_raw(process.cast_signed()).unwrap();
        assert!(
            rustix::process::test_kill_process(process).is_err(),
            "{process:?}"
        );
    }
}

#[tokio::test]
async fn the_default_page_says_whether_the_app_is_there() {
    let daemon = TestDaemon::start().await;
    let page = daemon.owner().get("/").await;
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    match status.web_app {
        true => assert!(page.body.contains("<!doctype html>"), "{page:?}"),
        false => assert!(page.body.contains("cargo xtask web"), "{page:?}"),
    }
}

fn mode(daemon: &TestDaemon, path: &str) -> u32 {
    fs::metadata(daemon.folder().join(path))
        .unwrap()
        .permissions()
        .mode()
        & 0o777
}
