//! Making a back-up.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use harness::{Finished, SmallDisk, TerminalOf, TestDaemon, within};
use pairing::Role;

use super::{Desk, refusal, rows};

const WORDS: &str = "correct horse battery";

#[tokio::test]
async fn a_bare_name_is_a_file_in_the_working_directory() {
    let daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let mut create = daemon.command(&["backup", "create", "bare.backup", "--plain"]);
    let made = Finished::of(create.current_dir(desk.0.folder())).await;
    assert_eq!(made.code, 0, "{made:?}");
    desk.restored(&desk.file("bare.backup")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_made_while_rows_are_written_is_of_one_moment_and_lets_the_same_devices_in() {
    let daemon = TestDaemon::start().await;
    let mut phone = daemon.device(Role::Operator).await;
    let owner = daemon.owner();
    let writing = tokio::spawn(async move {
        loop {
            owner.offer(Role::Viewer, false).await;
        }
    });
    let desk = Desk::new();
    let passphrase = desk.passphrase("passphrase", WORDS);
    let file = desk.file("a.backup");
    let words = [
        "backup",
        "create",
        &file,
        "--passphrase-file",
        &passphrase,
        "--json",
    ];
    let made = daemon.cli(&words).await;
    assert_eq!(made.code, 0, "{made:?}");
    writing.abort();
    let told = made.json();
    assert_eq!(told["pin"], daemon.pin());
    assert_eq!((&told["devices"], &told["encrypted"]), (&1.into(), &true.into()));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let bytes = fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"age-encryption.org/v1\n-> scrypt "));
    assert_eq!(told["bytes"], bytes.len());
    assert_eq!(phone.get("/v1/whoami").await.status, 200, "the daemon goes on");
    drop(daemon);

    let folder = desk.0.folder().join("restored");
    let restored = desk
        .restore(&file, &folder, &["--passphrase-file", &passphrase, "--json"])
        .await;
    assert_eq!(restored.code, 0, "{restored:?}");
    assert_eq!(restored.json()["audit"]["row"], told["audit_row"]);
    assert_eq!(restored.json()["aside"], serde_json::json!([]));
    let daemon = started_in(&folder).await;
    assert_eq!(daemon.pin(), told["pin"]);
    phone.follow(&daemon);
    assert_eq!(phone.get("/v1/whoami").await.status, 200);
    let rows = rows(&daemon).await;
    let at = told["audit_row"].as_u64().unwrap() as usize;
    assert_eq!(rows[at], "backup_restored");
}

#[tokio::test]
async fn the_passphrase_is_asked_for_twice_and_not_shown() {
    let daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let file = desk.file("a.backup");
    let asked = async |answers: [&str; 2], code| {
        let terminal = TerminalOf::start(&daemon.command(&["backup", "create", &file]), 80, 24).await;
        terminal.until_shows("new passphrase:").await;
        terminal.types(answers[0].as_bytes()).await;
        if !answers[1].is_empty() {
            terminal.until_shows("the same again:").await;
            terminal.types(answers[1].as_bytes()).await;
        }
        assert_eq!(terminal.exit().await.code, Some(code), "{answers:?}");
        let left = terminal.left().await;
        assert!(left.is_on.is_empty(), "{left:?}");
        let lines = left.lines.join("\n");
        assert!(!lines.contains("horse"), "{lines}");
        lines
    };
    assert!(asked(["short\r", ""], 2).await.contains("8 characters"));
    assert!(
        asked(["correct horse\r", "correct house\r"], 1)
            .await
            .contains("two passphrases")
    );
    assert!(
        asked(["correct horse\x03", ""], 2)
            .await
            .contains("no passphrase")
    );
    assert!(!Path::new(&file).exists());
    asked(["wrong\x15correct horsf\x7fe\r", "correct horse\r"], 0).await;
    drop(daemon);
    let folder = desk.file("restored");
    let words = ["backup", "restore", &file, "--dir", &folder];
    let terminal = TerminalOf::start(&desk.0.command(&words), 80, 24).await;
    terminal.until_shows("passphrase of the back-up:").await;
    terminal.types(b"correct horse\r").await;
    assert_eq!(terminal.exit().await.code, Some(0));
}

#[tokio::test]
async fn a_file_that_is_there_is_replaced_only_on_demand_and_nothing_goes_onto_a_terminal() {
    let daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let file = desk.file("a.backup");
    fs::write(&file, "mine").unwrap();
    let create = ["backup", "create", &file, "--plain", "--json"];
    assert_eq!(refusal(&daemon.cli(&create).await).0, "file_exists");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    let forced = daemon.cli(&[&create[..], &["--force"]].concat()).await;
    assert_eq!(forced.code, 0, "{forced:?}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let terminal = TerminalOf::start(&daemon.command(&["backup", "create", "-", "--plain"]), 80, 24).await;
    terminal.until_shows("standard output is this terminal").await;
    assert_eq!(terminal.exit().await.code, Some(2));
    let nobody = daemon.cli(&["backup", "create", &desk.file("b.backup")]).await;
    assert_eq!(nobody.code, 2, "{nobody:?}");
    assert!(nobody.stderr.contains("--passphrase-file"), "{nobody:?}");
}

#[tokio::test]
async fn a_passphrase_that_is_too_long_is_refused_and_one_line_end_is_no_part_of_it() {
    let daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let file = desk.file("a.backup");
    let by = async |secret: &str| {
        let words = ["backup", "create", &file, "--passphrase-file", secret, "--json"];
        daemon.cli(&words).await
    };
    let long = desk.passphrase("long", &"x".repeat(4097));
    let refused = by(&long).await;
    assert_eq!(refused.code, 2, "{refused:?}");
    let problem = refused.json();
    assert_eq!(problem["code"], "usage");
    assert!(
        problem["detail"].as_str().unwrap().contains("4096 bytes at most"),
        "{problem}"
    );
    assert!(!Path::new(&file).exists());
    let terminal = TerminalOf::start(&daemon.command(&["backup", "create", &file]), 80, 24).await;
    terminal.until_shows("new passphrase:").await;
    for _ in 0..5 {
        terminal.types("x".repeat(1000).as_bytes()).await;
    }
    terminal.types(b"\x7f\r").await;
    terminal.until_shows("4096 bytes at most").await;
    assert_eq!(terminal.exit().await.code, Some(2));
    assert!(!Path::new(&file).exists());
    let two_ends = desk.passphrase("two", &format!("{WORDS}\n\n"));
    assert_eq!(by(&two_ends).await.code, 0);
    let folder = desk.0.folder().join("restored");
    let without = desk.passphrase("one", &format!("{WORDS}\n"));
    let with_none = desk
        .restore(&file, &folder, &["--json", "--passphrase-file", &without])
        .await;
    assert_eq!(refusal(&with_none).0, "wrong_passphrase");
    let with_one = desk
        .restore(&file, &folder, &["--passphrase-file", &two_ends])
        .await;
    assert_eq!(with_one.code, 0, "{with_one:?}");
}

#[tokio::test]
async fn a_backup_goes_through_a_pipe() {
    let mut daemon = TestDaemon::start().await;
    let phone = daemon.device(Role::Viewer).await;
    let desk = Desk::new();
    let folder = desk.0.folder().join("restored");
    let mut create = daemon.command(&["backup", "create", "-", "--plain"]);
    let mut restore = desk.0.command(&["backup", "restore", "-", "--dir"]);
    restore.arg(&folder);
    let (reader, writer) = std::io::pipe().unwrap();
    let mut creating = create.stdout(writer).spawn().unwrap();
    let mut restoring = restore.stdin(reader).spawn().unwrap();
    drop((create, restore));
    assert!(within("the back-up", creating.wait()).await.unwrap().success());
    assert!(within("the restore", restoring.wait()).await.unwrap().success());
    super::end(&mut daemon).await;
    let restored = started_in(&folder).await;
    let devices = restored.cli(&["devices", "--json"]).await.json();
    assert_eq!(devices[0]["id"], phone.id().to_string());
}

#[tokio::test]
async fn a_full_disk_leaves_no_half_backup() {
    let daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let disk = SmallDisk::over(desk.0.folder().join("disk"));
    disk.fill();
    let file = desk.file("disk/a.backup");
    let full = daemon
        .cli(&["backup", "create", &file, "--plain", "--json"])
        .await;
    let (code, words) = refusal(&full);
    assert_eq!(code, "local_io");
    assert!(
        words.contains("No space left") && words.contains("make room"),
        "{words}"
    );
    let left = fs::read_dir(desk.file("disk"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["ballast"]);
    disk.make_room();
    assert_eq!(daemon.cli(&["backup", "create", &file, "--plain"]).await.code, 0);
}

#[tokio::test]
async fn a_full_disk_keeps_what_was_there() {
    let mut daemon = TestDaemon::start().await;
    daemon.device(Role::Viewer).await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    super::end(&mut daemon).await;
    let disk = SmallDisk::over(desk.0.folder().join("disk"));
    let folder = desk.0.folder().join("disk");
    disk.fill();
    let (code, words) = refusal(&desk.restore(&file, &folder, &["--json"]).await);
    assert_eq!(code, "local_io", "{words}");
    disk.make_room();
    let left = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| name == "transom.lock"));
    let done = desk.restore(&file, &folder, &[]).await;
    assert_eq!(done.code, 0, "{done:?}");
}

#[tokio::test]
async fn a_program_in_a_session_makes_no_backup() {
    let daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let file = desk.file("a.backup");
    let binary = harness::binary().display().to_string();
    let words = ["run", "--", &binary, "backup", "create", &file, "--plain"];
    let inside = daemon.cli(&words).await;
    assert_eq!(inside.code, 4, "{inside:?}");
    assert!(inside.stdout.contains("inside of a session"), "{inside:?}");
    assert!(!Path::new(&file).exists());
}

/// A daemon on what was restored into a folder, which is moved to where the harness has it.
pub(super) async fn started_in(folder: &Path) -> TestDaemon {
    super::moved::started_in(folder, &harness::DaemonOptions::default()).await
}
