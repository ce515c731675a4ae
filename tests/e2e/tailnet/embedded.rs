//! A node of the daemon's own. Without a control server that can be asked only what goes before one, and that all else serves.
//!
//! But for the first, these need a binary with the feature: `cargo xtask test --only embedded` builds it, and runs them.

use std::{fs, net::SocketAddr, os::unix::fs::PermissionsExt, path::Path};

use harness::{DaemonOptions, TestDaemon, TlsClient, binary, until, within};
use protocol::{
    access::{TailnetState, TailnetStatus},
    condition::TailnetProblem,
};
use rustix::process::Signal;
use tokio::net::{TcpListener, TcpSocket};

use super::status;

/// A daemon with a node of its own, whose control server is there.
async fn daemon(control: SocketAddr, more: &str) -> TestDaemon {
    TestDaemon::start_with(DaemonOptions {
        config: format!(
            "[listen]\ntls = [\"127.0.0.1:0\", \"tailnet:7443\"]\n[tailnet]\nmode = \"embedded\"\n\
             allow = [\"nPhone\", \"tag:phone\"]\ncontrol_url = \"http://{control}\"\n{more}"
        ),
        listens_as_configured: true,
        ..DaemonOptions::default()
    })
    .await
}

/// An address at which nobody listens, for as long as the socket is kept: it is bound there.
fn nobody() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let at = socket.local_addr().unwrap();
    (socket, at)
}

/// Waits until the status says this among what keeps devices away.
async fn problem(daemon: &TestDaemon, words: &str) -> TailnetStatus {
    let look = || async {
        let tailnet = status(daemon).await.tailnet.unwrap();
        let is_said = in_words(&tailnet.problems).contains(words);
        is_said.then_some(tailnet)
    };
    until(words, look).await
}

fn in_words(problems: &[TailnetProblem]) -> String {
    let words: Vec<String> = problems.iter().map(TailnetProblem::in_words).collect();
    words.join(" ")
}

async fn serves(daemon: &TestDaemon) {
    let local = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(local.get("/v1/health", None).await.verdict(), "200");
}

/// Whether each thread of a process waits for something at this moment (proc_pid_stat(5)).
fn threads_rest(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let rests = |thread: &Path| {
        let Ok(text) = fs::read_to_string(thread.join("stat")) else {
            return true;
        };
        // The name before it may hold anything.
        text.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
    };
    threads.flatten().all(|thread| rests(&thread.path()))
}

#[tokio::test]
async fn a_build_without_a_node_of_its_own_refuses_the_mode_and_says_how_to_make_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(
        folder.path().join("config.toml"),
        "[tailnet]\nmode = \"embedded\"\n",
    )
    .unwrap();
    let output = std::process::Command::new(binary())
        .arg("up")
        .env("TRANSOM_DIR", folder.path())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(64), "{words}");
    let command = "`cargo build --release --locked --package cli --features tailnet-embedded`";
    assert!(words.contains(command), "{words}");
}

#[tokio::test]
#[ignore = "needs a binary with tailnet-embedded: `cargo xtask test --only embedded`"]
async fn a_control_server_that_cannot_be_reached_is_said_and_the_rest_serves() {
    let (_socket, control) = nobody();
    let mut daemon = daemon(control, "").await;
    let tailnet = problem(&daemon, "tailnet.control_url").await;
    assert_eq!(tailnet.state, TailnetState::Unknown);
    assert!(tailnet.listeners.is_empty(), "{tailnet:?}");
    serves(&daemon).await;
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
}

#[tokio::test]
#[ignore = "needs a binary with tailnet-embedded: `cargo xtask test --only embedded`"]
async fn doctor_and_pair_tell_why_the_node_is_away_and_ask_no_tailscaled() {
    let (_socket, control) = nobody();
    let daemon = daemon(control, "").await;
    problem(&daemon, "tailnet.control_url").await;
    let doctor = daemon.cli(&["doctor", "--json"]).await;
    assert_eq!(doctor.code, 1, "{doctor:?}");
    let found = doctor.json();
    let states = |check: &str| {
        let found = found.as_array().unwrap().iter();
        let of_it = found.filter(|found| found["check"] == check);
        let states: Vec<&str> = of_it.map(|found| found["state"].as_str().unwrap()).collect();
        states.join(" ")
    };
    assert_eq!(states("tailnet"), "failed");
    assert_eq!(states("whois"), "skipped");
    assert_eq!(states("https"), "warning");
    let words = found.to_string();
    assert!(words.contains("cannot be reached"), "{words}");
    assert!(!words.contains("tailscaled"), "{words}");
    let pair = daemon.cli(&["pair", "--json"]).await;
    assert_eq!(pair.code, 1, "{pair:?}");
    let problem = pair.json();
    assert_eq!(problem["code"], "way_is_shut");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("control server"), "{problem}");
}

#[tokio::test]
#[ignore = "needs a binary with tailnet-embedded: `cargo xtask test --only embedded`"]
async fn one_that_breaks_off_is_asked_again_and_no_thread_spins() {
    let control = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let daemon = daemon(control.local_addr().unwrap(), "").await;
    for _ in 0..ATTEMPTS {
        drop(within("an attempt", control.accept()).await);
    }
    // One that spins never does.
    until("every thread to sleep", async || {
        threads_rest(daemon.pid()).then_some(())
    })
    .await;
    serves(&daemon).await;
}

#[tokio::test]
#[ignore = "needs a binary with tailnet-embedded: `cargo xtask test --only embedded`"]
async fn one_that_never_answers_leaves_the_node_starting_and_the_daemon_ends_in_time() {
    let control = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut daemon = daemon(control.local_addr().unwrap(), "").await;
    let (_silent, _) = within("it asks", control.accept()).await.unwrap();
    let tailnet = status(&daemon).await.tailnet.unwrap();
    assert!(tailnet.listeners.is_empty(), "{tailnet:?}");
    let words = in_words(&tailnet.problems);
    assert!(words.contains("not in its tailnet yet"), "{tailnet:?}");
    serves(&daemon).await;
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
}

#[tokio::test]
#[ignore = "needs a binary with tailnet-embedded: `cargo xtask test --only embedded`"]
async fn a_key_that_others_can_read_is_refused_and_what_the_node_keeps_is_its_owners() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("auth-key");
    fs::write(&key, "tskey-auth-never\n").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let control = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let more = format!("auth_key_file = \"{}\"\n", key.display());
    let daemon = daemon(control.local_addr().unwrap(), &more).await;
    problem(&daemon, "0600").await;
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    within("it asks with the key", control.accept()).await.unwrap();
    let kept = daemon.folder().join("tailnet");
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o700);
    for file in fs::read_dir(&kept).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let log = fs::read_to_string(daemon.folder().join("log/transom.jsonl")).unwrap();
    assert!(!log.contains("tskey-auth-never"));
}

#[tokio::test]
#[ignore = "needs a binary with tailnet-embedded: `cargo xtask test --only embedded`"]
async fn who_is_a_user_and_a_port_that_is_none_are_refused_before_any_socket_exists() {
    for (config, words) in [
        ("[tailnet]\nmode = \"embedded\"\n", "is a user"),
        (
            "[tailnet]\nmode = \"embedded\"\nallow = [\"alice@example.com\"]\n",
            "is a user",
        ),
        (
            "[listen]\ntls = [\"tailnet:0\"]\n[tailnet]\nmode = \"embedded\"\nallow = [\"tag:phone\"]\n",
            "picks no free port",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(folder.path().join("config.toml"), config).unwrap();
        let output = std::process::Command::new(binary())
            .arg("up")
            .env("TRANSOM_DIR", folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!folder.path().join("transom.sock").exists());
    }
}

/// Attempts that are waited for: the later ones come by asking again.
const ATTEMPTS: u32 = 4;
