//! Addresses that come and go, in a network of the daemon's own: this needs root.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use harness::{DaemonOptions, TestDaemon, until};
use protocol::certificates::Certificates;

/// Does something with the daemon's own network.
fn ip(daemon: &TestDaemon, words: &[&str]) {
    let pid = daemon.pid().to_string();
    let inside = ["-t", &pid, "-n", "ip"];
    let done = Command::new("nsenter").args(inside).args(words).output().unwrap();
    assert!(done.status.success(), "this test needs root: {done:?}");
}

async fn names(daemon: &TestDaemon) -> Vec<String> {
    let told: Certificates = daemon.owner().get("/v1/certificates").await.ok();
    assert_eq!(told.pin, daemon.pin());
    told.certificates.into_iter().next().unwrap().names
}

#[tokio::test]
async fn an_address_that_appears_is_in_the_certificate_without_a_restart_and_one_that_goes_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("transom");
    let binary = harness::binary().display();
    let script =
        format!("#!/bin/sh\nexec unshare -n sh -c 'ip link set lo up; exec {binary} \"$@\"' sh \"$@\"\n");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let daemon = TestDaemon::start_with(DaemonOptions {
        config: "[listen]\ntls = [\"0.0.0.0:0\"]\ndangerous_allow_any_interface = true\n".to_owned(),
        listens_as_configured: true,
        program: Some(program),
        ..DaemonOptions::default()
    })
    .await;
    let has = async |address: &str| names(&daemon).await.contains(&address.to_owned());
    assert!(has("127.0.0.1").await && !has("192.0.2.77").await);
    ip(&daemon, &["addr", "add", "192.0.2.77/32", "dev", "lo"]);
    until("the new address", async || has("192.0.2.77").await.then_some(())).await;
    ip(&daemon, &["addr", "del", "192.0.2.77/32", "dev", "lo"]);
    until("its end", async || (!has("192.0.2.77").await).then_some(())).await;
}
