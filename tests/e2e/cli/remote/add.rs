//! Pairing with a daemon elsewhere.

use std::{fs, os::unix::fs::MetadataExt, process::Stdio};

use harness::{Elsewhere, TerminalOf, TestDaemon, TlsClient, until};
use pairing::Role;
use protocol::pairing::{RequestStatus, RequestView};
use tokio::process::Command;

#[tokio::test]
async fn add_with_an_offer_shows_the_owners_digits_and_keeps_key_and_token_in_a_private_file() {
    let daemon = TestDaemon::start().await;
    let elsewhere = Elsewhere::new();
    let link = Elsewhere::link(&daemon, Role::Operator, daemon.address()).await;
    let arguments = ["remote", "add", "--name", "desk", "--label", "a laptop", "-"];
    let (added, seen) = tokio::join!(elsewhere.cli_with(&arguments, &link), async {
        let request = daemon.owner().asked().await;
        daemon.owner().approve(request.id).await;
        request
    });
    assert_eq!(added.code, 0, "{added:?}");
    assert_eq!((seen.label.as_str(), seen.role), ("a laptop", Role::Operator));
    assert!(added.stderr.contains(&grouped(&seen)), "{added:?}");
    assert!(
        added
            .stdout
            .contains("paired with desk as \"a laptop\", operator"),
        "{added:?}"
    );
    let file = fs::metadata(elsewhere.desk_file()).unwrap();
    assert_eq!(
        (file.mode() & 0o7777, file.uid()),
        (0o600, rustix::process::geteuid().as_raw())
    );
    let folder = fs::metadata(elsewhere.folder().join("remotes")).unwrap();
    assert_eq!(folder.mode() & 0o7777, 0o700);
    let devices = daemon.owner().devices().await;
    assert_eq!((devices.len(), devices[0].label.as_str()), (1, "a laptop"));
    let listed = elsewhere.cli(&["remote", "list", "--json"]).await;
    let remote = &listed.json()[0];
    assert_eq!(remote["name"], "desk");
    assert_eq!(remote["pin"], daemon.pin());
    assert_eq!(remote["device_id"], devices[0].id.to_string());
    // What is in the file opens nothing without the proof that the command line gives by itself.
    let text = fs::read_to_string(elsewhere.desk_file()).unwrap();
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let stolen = TlsClient::new(daemon.address(), daemon.pin());
    let alone = stolen.get("/v1/whoami", record["token"].as_str()).await;
    assert_eq!(alone.verdict(), "401 proof_required");
    assert_eq!(elsewhere.on_desk(&["whoami"]).await.code, 0);
    assert!(
        !listed.stdout.contains("tsm_") && remote.get("key").is_none(),
        "{listed:?}"
    );
}

#[tokio::test]
async fn add_without_an_offer_asks_about_the_pin_and_the_owner_lets_it_in_by_its_digits() {
    let daemon = TestDaemon::start().await;
    let elsewhere = Elsewhere::new();
    let address = format!("https://localhost:{}", daemon.address().port());
    let terminal = TerminalOf::start(&elsewhere.command(&["remote", "add", &address]), 160, 30).await;
    let lines = terminal.until_shows("[y/N]").await;
    assert!(lines.iter().any(|line| line.contains(daemon.pin())), "{lines:?}");
    // Nothing was said to it before the yes.
    let requests: Vec<RequestView> = daemon.owner().get("/v1/pairing/requests").await.ok();
    assert!(requests.is_empty());
    terminal.types(b"y\r").await;
    let code = grouped(&daemon.owner().asked().await);
    terminal.until_shows(&format!("transom approve {code}")).await;
    let approved = daemon.cli(&["approve", &code]).await;
    assert_eq!(approved.code, 0, "{approved:?}");
    assert_eq!(terminal.exit().await.code, Some(0));
    terminal.until_shows("paired with localhost").await;
    let me = elsewhere.cli(&["whoami", "--on", "localhost", "--json"]).await;
    assert_eq!(
        (me.json()["principal"].as_str(), me.json()["role"].as_str()),
        (Some("device"), Some("viewer"))
    );
}

#[tokio::test]
async fn a_pin_that_nobody_agrees_to_ends_it_before_anything_is_said() {
    let daemon = TestDaemon::start().await;
    let elsewhere = Elsewhere::new();
    let address = daemon.address().to_string();
    let terminal = TerminalOf::start(&elsewhere.command(&["remote", "add", &address]), 160, 30).await;
    terminal.until_shows("[y/N]").await;
    terminal.types(b"\r").await;
    assert_eq!(terminal.exit().await.code, Some(1));
    let unasked = elsewhere.cli(&["remote", "add", &address]).await;
    assert_eq!(unasked.code, 2, "{unasked:?}");
    assert!(
        unasked.stderr.contains(daemon.pin()) && unasked.stderr.contains("--pin"),
        "{unasked:?}"
    );
    let requests: Vec<RequestView> = daemon.owner().get("/v1/pairing/requests").await.ok();
    assert!(requests.is_empty() && !elsewhere.desk_file().exists());
}

#[tokio::test]
async fn a_wrong_pin_is_refused_with_both_pins_and_what_to_do() {
    let daemon = TestDaemon::start().await;
    let elsewhere = Elsewhere::new();
    let wrong = "sha256/LHDhK3oGRvkiefQnx7OOczTY5Tic_xZ6HcMOc_gmtoM";
    let address = daemon.address().to_string();
    let demanded = elsewhere.cli(&["remote", "add", "--pin", wrong, &address]).await;
    let link = Elsewhere::link(&daemon, Role::Viewer, daemon.address()).await;
    let link = link.replace(daemon.pin(), wrong);
    let offered = elsewhere.cli_with(&["remote", "add", "-"], &link).await;
    for refused in [demanded, offered] {
        assert_eq!(refused.code, 4, "{refused:?}");
        assert!(
            refused.stderr.contains(wrong)
                && refused.stderr.contains(daemon.pin())
                && refused.stderr.contains("transom status"),
            "{refused:?}"
        );
    }
    assert!(
        elsewhere
            .cli(&["remote", "list", "--json"])
            .await
            .json()
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_no_of_the_owners_and_a_name_in_use_add_nothing() {
    let daemon = TestDaemon::start().await;
    let elsewhere = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let former = fs::read(elsewhere.desk_file()).unwrap();
    let pin = daemon.pin().to_owned();
    let address = daemon.address().to_string();
    let taken = elsewhere
        .cli(&["remote", "add", "--name", "desk", "--pin", &pin, &address])
        .await;
    assert_eq!(taken.code, 1, "{taken:?}");
    assert_eq!(fs::read(elsewhere.desk_file()).unwrap(), former);
    let arguments = [
        "remote", "add", "--name", "other", "--pin", &pin, "--json", &address,
    ];
    let (denied, _) = tokio::join!(elsewhere.cli(&arguments), async {
        let request = daemon.owner().asked().await;
        let path = format!("/v1/pairing/requests/{}/reject", request.id);
        daemon.owner().post(&path, &serde_json::json!({})).await
    });
    assert_eq!(
        (denied.code, denied.json()["code"].as_str()),
        (4, Some("access_denied")),
        "{denied:?}"
    );
    assert_eq!(daemon.owner().devices().await.len(), 1);
}

#[tokio::test]
async fn an_add_that_is_killed_at_its_end_leaves_nothing_or_a_remote_that_works() {
    let daemon = TestDaemon::start().await;
    for _ in 0..6 {
        let elsewhere = Elsewhere::new();
        let link = Elsewhere::link(&daemon, Role::Viewer, daemon.address()).await;
        let mut command = elsewhere.command(&["remote", "add", "--name", "desk", &link]);
        let mut child = quiet(&mut command).spawn().unwrap();
        let request = daemon.owner().asked().await;
        daemon.owner().approve(request.id).await;
        until("the exchange", || async {
            let now = daemon.owner().pairing_request(request.id).await;
            let is_over = matches!(now.state, RequestStatus::Exchanged | RequestStatus::Committed);
            is_over.then_some(())
        })
        .await;
        child.kill().await.unwrap();
        let me = elsewhere.on_desk(&["whoami"]).await;
        match elsewhere.desk_file().exists() {
            true => assert_eq!(me.code, 0, "{me:?}"),
            false => assert!(me.stderr.contains("there is no remote `desk`"), "{me:?}"),
        }
        // What was half done is in nobody's way.
        let again = elsewhere.cli(&["remote", "rename", "desk", "other"]).await;
        assert_eq!(again.code == 0, me.code == 0, "{again:?}");
    }
}

#[tokio::test]
async fn rm_signs_out_first_and_forget_does_not_need_the_daemon() {
    let mut daemon = TestDaemon::start().await;
    let elsewhere = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let renamed = elsewhere.cli(&["remote", "rename", "desk", "office"]).await;
    assert_eq!(renamed.code, 0, "{renamed:?}");
    let removed = elsewhere.cli(&["remote", "rm", "office"]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    assert!(daemon.owner().devices().await.is_empty());
    let other = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    daemon.kill().await;
    let unreachable = other.cli(&["remote", "rm", "desk"]).await;
    assert_eq!(unreachable.code, 3, "{unreachable:?}");
    assert!(
        unreachable.stderr.contains("--forget") && other.desk_file().exists(),
        "{unreachable:?}"
    );
    let forgotten = other.cli(&["remote", "rm", "--forget", "desk"]).await;
    assert_eq!(forgotten.code, 0, "{forgotten:?}");
    assert!(!other.desk_file().exists());
}

fn grouped(request: &RequestView) -> String {
    let code: pairing::PairingCode = request.code.as_deref().unwrap().parse().unwrap();
    code.grouped()
}

fn quiet(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
}
