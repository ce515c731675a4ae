//! Every verb into a pipe that nobody reads, and into one that somebody does.

use std::process::Stdio;

use harness::{Finished, TestDaemon, within};
use tokio::process::Command;

/// Verbs that print, with a session `build` that has ended and one `serve` that runs.
const VERBS: [&[&str]; 34] = [
    &["--help"],
    &["wait", "--help"],
    &["ls"],
    &["ls", "--json"],
    &["ls", "--deleted", "--json"],
    &["ls", "--watch", "--json"],
    &["status"],
    &["status", "--json"],
    &["doctor"],
    &["doctor", "--json"],
    &["devices", "--json"],
    &["pair", "--pending", "--json"],
    &["config", "show"],
    &["daemon-log"],
    &["daemon-log", "-f", "--json"],
    &["shell-init", "bash"],
    &["run", "true"],
    &["new", "sleep", "600"],
    &["new", "--json", "sleep", "600"],
    &["send", "--json", "serve", "x"],
    &["keys", "--json", "serve", "x"],
    &["wait", "build"],
    &["wait", "build", "--json"],
    &["logs", "build"],
    &["logs", "--json", "build"],
    &["logs", "-f", "serve"],
    &["screen", "build"],
    &["screen", "--json", "build"],
    &["note", "--json", "serve", "x"],
    &["record", "build"],
    &["rename", "--json", "serve", "serve-2"],
    &["rm", "build"],
    &["restore", "build"],
    &["stop", "serve-2"],
];

async fn sessions(daemon: &TestDaemon) {
    let built = daemon
        .cli(&[
            "run",
            "--name",
            "build",
            "--",
            "sh",
            "-c",
            "printf '\\033[32mgreen\\033[m'; seq 1 10000",
        ])
        .await;
    assert_eq!(built.code, 0, "{}", built.stderr);
    let served = daemon
        .cli(&[
            "new",
            "--name",
            "serve",
            "--",
            "sh",
            "-c",
            "printf '\\033]0;\\033[31mtitle\\007'; cat",
        ])
        .await;
    assert_eq!(served.code, 0, "{served:?}");
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_failure_of_any_verb() {
    let daemon = TestDaemon::start().await;
    sessions(&daemon).await;
    for verb in VERBS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = daemon
            .command(verb)
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = within(&format!("the end of {verb:?}"), child.wait_with_output())
            .await
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{verb:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{verb:?}: {output:?}");
    }
}

#[tokio::test]
async fn nothing_of_ours_is_coloured_in_a_pipe_or_where_nobody_wants_it() {
    let daemon = TestDaemon::start().await;
    sessions(&daemon).await;
    let endless = |verb: &&&[&str]| !verb.contains(&"--watch") && !verb.contains(&"-f");
    // Their output is the session's own.
    let own = |verb: &&&[&str]| !matches!(verb[0], "logs" | "record" | "run" | "shell-init");
    for verb in VERBS.iter().filter(endless).filter(own) {
        let Finished { stdout, stderr, .. } = daemon.cli(verb).await;
        assert!(
            !stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'),
            "{verb:?}: {stdout}{stderr}"
        );
    }
}

#[tokio::test]
async fn no_color_is_honoured_on_a_terminal() {
    let daemon = TestDaemon::start().await;
    sessions(&daemon).await;
    for verb in [&["ls"][..], &["--help"], &["stop", "nobody"]] {
        for (value, is_coloured) in [("", true), ("1", false)] {
            let mut command: Command = daemon.command(verb);
            command.env("NO_COLOR", value);
            let terminal = harness::TerminalOf::start(&command, 100, 50).await;
            terminal.exit().await;
            terminal
                .until_shows(if verb[0] == "stop" { "error:" } else { "e" })
                .await;
            let snapshot = terminal.snapshot();
            let styled = ["\x1b[1m", "\x1b[0;1m", ";1m", "31m"]
                .iter()
                .any(|style| snapshot.contains(style));
            assert_eq!(styled, is_coloured, "{verb:?} NO_COLOR={value:?}: {snapshot:?}");
        }
    }
}

#[tokio::test]
async fn who_reads_no_more_of_a_run_is_told_that_the_program_goes_on() {
    let daemon = TestDaemon::start().await;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = daemon
        .command(&["run", "--name", "flood", "yes"])
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let output = within("the end of `run yes`", child.wait_with_output())
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "flood goes on; `transom stop flood` ends it\n");
    assert_eq!(daemon.cli(&["stop", "flood"]).await.code, 0);
}
