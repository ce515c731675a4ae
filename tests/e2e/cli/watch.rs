//! `ls --watch`, in a real terminal and into a pipe.

use std::process::Stdio;

use harness::{TerminalOf, TestDaemon, within};
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, BufReader};

#[tokio::test]
async fn it_shows_what_comes_changes_and_goes() {
    let daemon = TestDaemon::start().await;
    let terminal = TerminalOf::start(&daemon.command(&["ls", "--watch"]), 90, 12).await;
    terminal.until_shows("no sessions").await;
    let session = daemon
        .owner()
        .shell("echo first; read x; echo second; read x")
        .await;
    terminal.until_shows("first").await;
    let mut writer = daemon
        .owner()
        .attach(&session.id, protocol::attach::Mode::Write, "screen")
        .await;
    writer.send_input(b"\r").await;
    let lines = terminal.until_shows("second").await;
    assert!(lines[0].starts_with("Sessions  1 running"), "{lines:?}");
    assert!(lines[11].contains("q quits"), "{lines:?}");
    daemon.cli(&["stop", &session.name]).await;
    terminal.until_shows("0 running, 1 ended").await;
    terminal.types(b"q").await;
    assert_eq!(terminal.exit().await.code, Some(0));
}

#[tokio::test]
async fn it_follows_the_terminals_size() {
    let daemon = TestDaemon::start().await;
    let terminal = TerminalOf::start(&daemon.command(&["ls", "--watch"]), 90, 12).await;
    terminal
        .until("a foot at the bottom", |lines| {
            lines.get(11).is_some_and(|foot| foot == "q quits")
        })
        .await;
    terminal.resize(70, 20);
    terminal
        .until("a foot at the new bottom", |lines| {
            lines.get(19).is_some_and(|foot| foot == "q quits")
                && lines.iter().filter(|line| line.contains("q quits")).count() == 1
        })
        .await;
}

#[tokio::test]
async fn every_way_out_gives_the_terminal_back() {
    let daemon = TestDaemon::start().await;
    daemon.owner().shell("read x").await;
    for (way, kill) in [
        (&b"q"[..], None),
        (b"\x03", None),
        (b"", Some("TERM")),
        (b"", Some("INT")),
    ] {
        // The shell tells its child's number by way of `exec` in a subshell.
        let script = format!(
            "echo before; sh -c 'echo $$ > $HOME/pid; exec {} ls --watch'; stty -a | grep -o ' -\\?icanon'; echo after",
            harness::binary().display(),
        );
        let terminal = TerminalOf::start(&shell_with(&daemon.command(&[]), &script), 80, 12).await;
        terminal.until_shows("q quits").await;
        if let Some(signal) = kill {
            let pid = std::fs::read_to_string(daemon.folder().join("pid")).unwrap();
            let signal = if signal == "TERM" {
                Signal::TERM
            } else {
                Signal::INT
            };
            let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
            rustix::process::kill_process(pid, signal).unwrap();
        }
        terminal.types(way).await;
        let lines = terminal.until_shows("after").await;
        assert_eq!(&lines[..3], ["before", " icanon", "after"], "{way:?} {kill:?}");
        let snapshot = terminal.snapshot();
        for mode in ["?1049h", "?25l", "?7l"] {
            assert!(!snapshot.contains(mode), "{mode} is left on: {snapshot:?}");
        }
    }
}

#[tokio::test]
async fn it_goes_on_when_the_daemon_comes_back() {
    let mut daemon = TestDaemon::start().await;
    let terminal = TerminalOf::start(&daemon.command(&["ls", "--watch"]), 90, 12).await;
    terminal.until_shows("no sessions").await;
    daemon.signal(Signal::KILL);
    daemon.ended().await;
    terminal.until_shows("the daemon is away").await;
    let daemon = TestDaemon::start_in(daemon.keep_folder(), &harness::DaemonOptions::default()).await;
    daemon.owner().shell("echo back again; read x").await;
    let lines = terminal.until_shows("back again").await;
    assert!(!lines.iter().any(|line| line.contains("away")), "{lines:?}");
}

#[tokio::test]
async fn into_a_pipe_it_needs_json_and_tells_each_change_as_a_line() {
    let daemon = TestDaemon::start().await;
    let refused = daemon.cli(&["ls", "--watch"]).await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("--json"), "{refused:?}");

    let first = daemon.owner().shell("read x").await;
    let mut child = daemon
        .command(&["ls", "--watch", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = within("a line", lines.next_line()).await.unwrap().unwrap();
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&event["kind"], &event["session"]["id"]),
        (&"session".into(), &first.id.into())
    );
    let second = daemon.owner().shell("read x").await;
    let line = loop {
        let line = within("a line", lines.next_line()).await.unwrap().unwrap();
        if line.contains(&second.id) {
            break line;
        }
    };
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(event["session"]["state"], "running");
    // Nothing changes any more: that nobody reads is noticed all the same.
    drop(lines);
    let status = within("the end", child.wait()).await.unwrap();
    assert_eq!(status.code(), Some(0));
}

/// The same environment, another command.
fn shell_with(command: &tokio::process::Command, script: &str) -> tokio::process::Command {
    let mut shell = tokio::process::Command::new("/bin/sh");
    shell.env_clear().args(["-c", script]);
    for (name, value) in command.as_std().get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell
}
