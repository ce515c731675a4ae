//! Each exit code, and the four kinds of error that people must not confuse.

use std::{fs, os::unix::fs::PermissionsExt, os::unix::net::UnixListener};

use harness::{Finished, TestDaemon, binary};
use tokio::process::Command;

#[tokio::test]
async fn no_daemon_is_unreachable_and_says_how_to_start_one() {
    let folder = private_folder();
    for verb in [
        &["ls"][..],
        &["status"],
        &["devices"],
        &["shutdown"],
        &["restart"],
        &["restart", "--force"],
        &["run", "--no-start", "true"],
    ] {
        let finished = transom(folder.path(), verb).await;
        assert_eq!(finished.code, 3, "{verb:?}: {finished:?}");
        assert!(
            finished.stderr.contains("no daemon runs") && finished.stderr.contains("transom up"),
            "{finished:?}"
        );
    }
    let json = transom(folder.path(), &["ls", "--json"]).await;
    assert_eq!(json.json()["code"], "unreachable", "{json:?}");
}

#[tokio::test]
async fn ci_never_starts_a_daemon() {
    let folder = private_folder();
    let mut command = command(folder.path(), &["run", "true"]);
    let finished = Finished::of(command.env("CI", "true")).await;
    assert_eq!(finished.code, 3, "{finished:?}");
    assert!(!folder.path().join("transom.sock").exists());
}

#[tokio::test]
async fn a_daemon_that_does_not_answer_is_timed_out_and_not_unreachable() {
    let folder = private_folder();
    let _busy = UnixListener::bind(folder.path().join("transom.sock")).unwrap();
    let finished = transom(folder.path(), &["status"]).await;
    assert_eq!(finished.code, 5, "{finished:?}");
    assert!(finished.stderr.contains("ask again"), "{finished:?}");
}

#[tokio::test]
async fn another_users_socket_is_not_permitted() {
    assert!(
        rustix::process::geteuid().is_root(),
        "run this test as root, who can become another user"
    );
    let folder = private_folder();
    let _other = UnixListener::bind(folder.path().join("transom.sock")).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
    fs::set_permissions(
        folder.path().join("transom.sock"),
        fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    let copy = folder.path().join("transom");
    // By another process: what any test starts meanwhile would inherit our open file, and an open file cannot be run.
    let copied = Command::new("cp")
        .arg(binary())
        .arg(&copy)
        .status()
        .await
        .unwrap();
    assert!(copied.success());
    let mut command = Command::new(&copy);
    command
        .env_clear()
        .env("TRANSOM_DIR", folder.path())
        .arg("status")
        .uid(65534);
    let finished = Finished::of(&mut command).await;
    assert_eq!(finished.code, 4, "{finished:?}");
    assert!(finished.stderr.contains("another user"), "{finished:?}");
}

#[tokio::test]
async fn a_failed_operation_is_1_and_a_wrong_command_line_is_2() {
    let daemon = TestDaemon::start().await;
    let failed = daemon.cli(&["stop", "nothing-of-that-name"]).await;
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(
        failed.stderr.starts_with("error: ") && failed.stderr.contains("\nhint: "),
        "{failed:?}"
    );
    assert_eq!(daemon.cli(&["no-such-verb"]).await.code, 2);
    assert_eq!(daemon.cli(&["pair", "--role", "admin"]).await.code, 2);
    // Nobody can be asked: the question needs an answer on the command line.
    daemon.device(pairing::Role::Viewer).await;
    let unasked = daemon.cli(&["revoke", "a test's phone"]).await;
    assert_eq!(unasked.code, 2, "{unasked:?}");
    assert!(unasked.stderr.contains("--yes"), "{unasked:?}");
    assert_eq!(daemon.owner().devices().await.len(), 1);
}

#[tokio::test]
async fn bad_configuration_is_64_for_up_and_for_config_show() {
    let folder = private_folder();
    fs::write(
        folder.path().join("config.toml"),
        "[pairing]\noffer_ttl = \"soon\"\n",
    )
    .unwrap();
    for verb in [&["up"][..], &["config", "show"]] {
        let finished = transom(folder.path(), verb).await;
        assert_eq!(finished.code, 64, "{verb:?}: {finished:?}");
        assert!(finished.stderr.contains("pairing.offer_ttl"), "{finished:?}");
    }
}

#[tokio::test]
async fn config_show_names_each_value_and_where_it_came_from() {
    let folder = private_folder();
    fs::write(folder.path().join("config.toml"), "[sessions]\nmax = 3\n").unwrap();
    let mut command = command(folder.path(), &["config", "show"]);
    let shown = Finished::of(command.env("TRANSOM_PAIRING_OFFER_TTL", "2m")).await;
    let line = |key: &str| {
        shown
            .stdout
            .lines()
            .find(|line| line.contains(key))
            .unwrap()
            .to_owned()
    };
    assert!(line("sessions.max").contains("file"), "{}", shown.stdout);
    assert!(shown.stderr.contains("config.toml"), "which file: {shown:?}");
    assert!(
        line("pairing.offer_ttl").contains("TRANSOM_PAIRING_OFFER_TTL"),
        "{}",
        shown.stdout
    );
    assert!(line("listen.tls").contains("default"), "{}", shown.stdout);
}

fn private_folder() -> tempfile::TempDir {
    let mut builder = tempfile::Builder::new();
    builder
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir()
        .unwrap()
}

fn command(folder: &std::path::Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
        .env("TRANSOM_DIR", folder)
        .args(arguments)
        .stdin(std::process::Stdio::null());
    command
}

async fn transom(folder: &std::path::Path, arguments: &[&str]) -> Finished {
    Finished::of(&mut command(folder, arguments)).await
}
