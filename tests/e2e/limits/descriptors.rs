//! The limit on open descriptors: as high as the system allows, given back to programs, and no end of the daemon.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use harness::{DaemonOptions, TestDaemon, TlsClient, binary, raise_descriptors};
use pairing::Role;
use protocol::attach::Mode;
use tokio::net::TcpStream;

#[tokio::test]
async fn the_daemon_raises_its_limit_and_gives_programs_the_former_one_back() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = start(wrapper(folder.path(), "ulimit -Sn 200")).await;
    let (soft, hard) = limits(daemon.pid());
    assert!(soft == hard && soft > 200, "{soft} of {hard}");
    let owner = daemon.owner();
    let session = owner.shell("ulimit -Sn; ulimit -Hn; echo end").await;
    let mut attached = owner.attach(&session.id, Mode::View, "0").await;
    let said = attached.until("end").await.text();
    let said: Vec<&str> = said.lines().map(str::trim).collect();
    assert_eq!(said[..2], ["200", &hard.to_string()]);
}

#[tokio::test]
async fn where_descriptors_are_few_strangers_never_take_the_last() {
    raise_descriptors();
    let folder = tempfile::tempdir().unwrap();
    // Fewer than the pool of strangers may have.
    let daemon = start(wrapper(folder.path(), "ulimit -n 120")).await;
    let device = daemon.device(Role::Viewer).await;
    let session = daemon.owner().shell("echo ready; read x; echo on; read x").await;
    let mut attached = device.attach(&session.id, Mode::View, "0").await;
    attached.until("ready").await;
    let access = device.access().await;
    let log = daemon.log();
    assert!(
        log.contains("fewer connections are taken than is configured"),
        "{log}"
    );
    let mut crowd = Vec::new();
    for _ in 0..200 {
        crowd.push(TcpStream::connect(daemon.address()).await.unwrap());
    }
    let newcomer = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(newcomer.get("/v1/whoami", Some(&access)).await.verdict(), "200");
    // Whoever was there goes on; to know the owner, and to start a program, takes descriptors as well.
    let path = format!("/v1/sessions/{}/input", session.id);
    let typed = daemon
        .owner()
        .post(&path, &serde_json::json!({ "text": "", "enter": true }))
        .await;
    assert_eq!(typed.status, 204, "{typed:?}");
    attached.until("on").await;
    let other = daemon.owner().shell("exit 3").await;
    assert_eq!(daemon.owner().ended(&other.id).await.exit.unwrap().code, Some(3));
}

async fn start(program: PathBuf) -> TestDaemon {
    TestDaemon::start_with(DaemonOptions {
        program: Some(program),
        ..DaemonOptions::default()
    })
    .await
}

/// The binary, in a shell that does this first.
fn wrapper(folder: &Path, first: &str) -> PathBuf {
    let path = folder.join("transom");
    let script = format!("#!/bin/sh\n{first} && exec '{}' \"$@\"\n", binary().display());
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    path
}

/// The soft and the hard limit of a process.
fn limits(pid: u32) -> (u64, u64) {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap();
    let mut numbers = line
        .split_whitespace()
        .skip(3)
        .map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}
