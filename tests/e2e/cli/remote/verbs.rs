//! Each verb on a daemon elsewhere.

use std::process::Stdio;

use harness::{Elsewhere, Finished, Running, TerminalOf, TestDaemon};
use pairing::Role;
use protocol::sessions::Session;

#[tokio::test]
async fn every_verb_of_sessions_works_on_a_remote() {
    let daemon = TestDaemon::start().await;
    let desk = Elsewhere::paired_with(&daemon, Role::Operator).await;
    let script = "stty -echo; echo ready; while read line; do echo got:$line:; done";
    let new = desk
        .on_desk(&["new", "--json", "--name", "build", "--", "sh", "-c", script])
        .await;
    let session: Session = serde_json::from_str(&new.stdout).unwrap_or_else(|_| panic!("{new:?}"));
    for (verb, said) in [
        (&["wait", "build", "--text", "^ready$"][..], "ready"),
        (&["ls"], "build"),
        (&["send", "build", "--enter", "one"], ""),
        (&["wait", "build", "--text", "got:one:"], "got:one:"),
        (&["keys", "build", "t", "w", "o", "Enter"], ""),
        (&["wait", "build", "--text", "got:two:"], "got:two:"),
        (&["screen", "build"], "got:two:"),
        (&["logs", "build"], "got:one:"),
        (&["note", "build", "waits"], ""),
        (&["ls", "--json"], "\"waits\""),
        (&["rename", "build", "nightly"], ""),
        (&["record", "nightly"], "got:one:"),
        (&["whoami"], "operator"),
        (&["stop", "nightly"], "nightly was ended"),
        (&["rm", "nightly"], "transom restore --on desk nightly"),
        (&["ls", "--deleted"], "nightly"),
        (&["restore", "nightly"], "nightly is back"),
        (&["rm", "--purge", "nightly"], "deleted for good"),
    ] {
        let done = desk.on_desk(verb).await;
        assert_eq!(done.code, 0, "{verb:?}: {done:?}");
        assert!(done.stdout.contains(said), "{verb:?}: {done:?}");
    }
    assert_eq!(
        daemon
            .owner()
            .get(&format!("/v1/sessions/{}", session.id))
            .await
            .status,
        404
    );
    let empty = desk.on_desk(&["ls"]).await;
    assert!(empty.stderr.contains("transom run --on desk CMD"), "{empty:?}");
}

#[tokio::test]
async fn run_on_a_remote_passes_output_input_and_exit_code_on() {
    let daemon = TestDaemon::start().await;
    let desk = Elsewhere::paired_with(&daemon, Role::Operator).await;
    let arguments = [
        "run",
        "--on",
        "desk",
        "--",
        "sh",
        "-c",
        "stty -echo; read x; echo got:$x:; exit 7",
    ];
    let ran = desk.cli_with(&arguments, "over TLS\n").await;
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (7, "got:over TLS:\r\n"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_program_on_a_remote_gets_the_environment_and_home_of_there_and_not_of_here() {
    let daemon = TestDaemon::start().await;
    let desk = Elsewhere::paired_with(&daemon, Role::Operator).await;
    let mut command = desk.command(&[
        "run",
        "--on",
        "desk",
        "--",
        "sh",
        "-c",
        "pwd; echo mine:$MINE:$HOME:",
    ]);
    command.env("MINE", "secret").stdin(Stdio::null());
    let ran = Finished::of(&mut command).await;
    let home = daemon.folder().display().to_string();
    assert_eq!(ran.stdout, format!("{home}\r\nmine::{home}:\r\n"), "{ran:?}");
    let elsewhere = desk.on_desk(&["run", "--cwd", "/", "--", "pwd"]).await;
    assert_eq!(elsewhere.stdout, "/\r\n", "{elsewhere:?}");
    let missing = desk
        .on_desk(&["run", "--cwd", "/no/such/folder", "--", "pwd"])
        .await;
    assert!(
        missing.code != 0 && missing.stderr.contains("/no/such/folder"),
        "{missing:?}"
    );
    let missing = desk.on_desk(&["run", "--", "/no/such/program"]).await;
    assert!(
        missing.code != 0 && missing.stderr.contains("/no/such/program"),
        "{missing:?}"
    );
}

#[tokio::test]
async fn what_follows_goes_on_over_tls() {
    let daemon = TestDaemon::start().await;
    let desk = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let session = daemon.owner().shell("echo begun; read x; echo ended").await;
    let mut watch = Running::start(&mut desk.command(&["ls", "--on", "desk", "--watch", "--json"]));
    watch.line_with(&session.id).await;
    let mut logs = Running::start(&mut desk.command(&["logs", "--on", "desk", "-f", &session.name]));
    logs.line_with("begun").await;
    daemon.cli(&["send", &session.name, "--enter"]).await;
    logs.line_with("ended").await;
    assert_eq!(logs.finish().await.code, 0);
    watch.line_with("\"exited\"").await;
}

#[tokio::test]
async fn a_viewer_looks_and_is_told_what_it_may_not() {
    let daemon = TestDaemon::start().await;
    let desk = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let session = daemon.owner().shell("echo ready; read x").await;
    let terminal = TerminalOf::start(&desk.command(&["view", "--on", "desk", &session.name]), 90, 20).await;
    terminal.until_shows("ready").await;
    terminal.types(b"\x1cd").await;
    assert_eq!(terminal.exit().await.code, Some(0));
    terminal
        .until_shows(&format!("transom view --on desk {}", session.name))
        .await;
    for verb in [
        &["send", &session.name, "--enter"][..],
        &["stop", &session.name],
        &["new", "cat"],
    ] {
        let refused = desk.on_desk(verb).await;
        assert_eq!(refused.code, 4, "{verb:?}: {refused:?}");
        assert!(refused.stderr.contains("desk: "), "{refused:?}");
    }
}

#[tokio::test]
async fn a_viewer_who_attaches_is_told_of_view() {
    let daemon = TestDaemon::start().await;
    let desk = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let session = daemon.owner().shell("read x").await;
    let attach = desk.command(&["attach", "--on", "desk", &session.name]);
    let terminal = TerminalOf::start(&attach, 120, 20).await;
    terminal
        .until_shows(&format!("`transom view --on desk {}`", session.name))
        .await;
    assert_eq!(terminal.exit().await.code, Some(4));
}

#[tokio::test]
async fn the_list_of_remotes_says_what_the_daemon_said_last() {
    let daemon = TestDaemon::start().await;
    let desk = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let device = daemon.owner().devices().await.remove(0).id.to_string();
    let changed = daemon.cli(&["devices", "role", &device, "operator"]).await;
    assert_eq!(changed.code, 0, "{changed:?}");
    let renamed = daemon.cli(&["devices", "rename", &device, "kitchen"]).await;
    assert_eq!(renamed.code, 0, "{renamed:?}");
    let me = desk.on_desk(&["whoami"]).await;
    assert_eq!(me.code, 0, "{me:?}");
    let listed = desk.cli(&["remote", "list", "--json"]).await.json();
    assert_eq!(
        (listed[0]["role"].as_str(), listed[0]["label"].as_str()),
        (Some("operator"), Some("kitchen"))
    );
}

#[tokio::test]
async fn what_only_the_owner_may_do_is_said_and_done_nowhere() {
    let daemon = TestDaemon::start().await;
    let desk = Elsewhere::paired_with(&daemon, Role::Operator).await;
    for verb in [
        &["pair"][..],
        &["approve", "000-000"],
        &["reject", "000-000"],
        &["status"],
        &["restart"],
        &["shutdown"],
        &["up"],
    ] {
        let refused = desk.on_desk(verb).await;
        assert_eq!(refused.code, 4, "{verb:?}: {refused:?}");
        assert!(
            refused
                .stderr
                .contains("for the owner on the daemon's own machine"),
            "{refused:?}"
        );
        let mut command = desk.command(verb);
        let ambient = Finished::of(command.env("TRANSOM_REMOTE", "desk").stdin(Stdio::null())).await;
        assert!(
            ambient.code == 4 && ambient.stderr.contains("TRANSOM_REMOTE"),
            "{ambient:?}"
        );
    }
    assert_eq!(daemon.owner().get("/v1/status").await.status, 200);
}

#[tokio::test]
async fn a_machine_that_may_revoke_cuts_a_lost_one_off_and_another_may_not_even_list() {
    let daemon = TestDaemon::start().await;
    let lost = Elsewhere::paired_with(&daemon, Role::Operator).await;
    let id = daemon.owner().devices().await[0].id.to_string();
    let refused = lost.on_desk(&["devices"]).await;
    assert_eq!(refused.code, 4, "{refused:?}");
    let trusted = Elsewhere::new();
    let link = daemon.owner().offer(Role::Viewer, true).await;
    let arguments = ["remote", "add", "--name", "desk", "--label", "a tablet", "-"];
    let (added, _) = tokio::join!(trusted.cli_with(&arguments, link.url.expose()), async {
        daemon.owner().approve(daemon.owner().asked().await.id).await
    });
    assert_eq!(added.code, 0, "{added:?}");
    let listed = trusted.on_desk(&["devices"]).await;
    assert!(
        listed.stdout.contains("a laptop") && listed.stdout.contains(&id),
        "{listed:?}"
    );
    let revoked = trusted.on_desk(&["revoke", "--yes", "a laptop"]).await;
    assert!(
        revoked.code == 0 && revoked.stdout.contains("revoked \"a laptop\""),
        "{revoked:?}"
    );
    let after = lost.on_desk(&["ls"]).await;
    assert!(after.code == 4 && after.stderr.contains("revoked"), "{after:?}");
}

#[tokio::test]
async fn who_locks_a_remote_down_at_a_terminal_is_asked_as_only_its_owner_undoes_it() {
    let daemon = TestDaemon::start().await;
    let trusted = Elsewhere::new();
    let link = daemon.owner().offer(Role::Viewer, true).await;
    let arguments = ["remote", "add", "--name", "desk", "--label", "a tablet", "-"];
    let (added, _) = tokio::join!(trusted.cli_with(&arguments, link.url.expose()), async {
        daemon.owner().approve(daemon.owner().asked().await.id).await
    });
    assert_eq!(added.code, 0, "{added:?}");
    let terminal = TerminalOf::start(&trusted.command(&["lockdown", "--on", "desk"]), 160, 10).await;
    terminal.until_shows("lock it down? [y/N]").await;
    terminal.types(b"n\r").await;
    assert_eq!(terminal.exit().await.code, Some(1));
    let is_locked = async || {
        let status: protocol::access::Status = daemon.owner().get("/v1/status").await.ok();
        status.locked_down
    };
    assert!(!is_locked().await);
    let locked = trusted.on_desk(&["lockdown", "--yes"]).await;
    assert_eq!(locked.code, 0, "{locked:?}");
    assert!(is_locked().await);
}

#[tokio::test]
async fn the_environment_names_a_remote_for_all_and_a_flag_another() {
    let daemon = TestDaemon::start().await;
    let desk = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let session = daemon.owner().shell("read x").await;
    let with = |arguments: &[&str], name: &str| {
        let mut command = desk.command(arguments);
        command.env("TRANSOM_REMOTE", name).stdin(Stdio::null());
        command
    };
    let listed = Finished::of(&mut with(&["ls", "--json"], "desk")).await;
    assert_eq!(listed.json()[0]["id"], session.id);
    let unknown = Finished::of(&mut with(&["ls"], "nowhere")).await;
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(
        unknown.stderr.contains("`nowhere`") && unknown.stderr.contains("desk"),
        "{unknown:?}"
    );
    let flagged = Finished::of(&mut with(&["ls", "--json", "--on", "desk"], "nowhere")).await;
    assert_eq!(flagged.code, 0, "{flagged:?}");
    // Nothing of it is set: this machine's own daemon is meant, and none runs.
    assert_eq!(Finished::of(&mut with(&["ls"], "")).await.code, 3);
    // What asks no daemon does not mind.
    assert_eq!(
        Finished::of(&mut with(&["remote", "list"], "nowhere")).await.code,
        0
    );
    assert_eq!(desk.on_desk(&["remote", "list"]).await.code, 2);
}

#[tokio::test]
async fn a_remote_that_is_away_is_unreachable_and_says_what_to_look_at() {
    let mut daemon = TestDaemon::start().await;
    let desk = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    daemon.kill().await;
    let away = desk.on_desk(&["ls"]).await;
    assert_eq!(away.code, 3, "{away:?}");
    assert!(
        away.stderr.contains("nobody answers at desk") && away.stderr.contains("ssh -N -L"),
        "{away:?}"
    );
    assert!(!away.stderr.contains("transom up"), "{away:?}");
}
