//! Attaching in a real terminal.

use harness::{TerminalOf, TestDaemon};
use protocol::{attach::Mode, sessions::Size};

#[tokio::test]
async fn attach_shows_the_screen_types_and_detaches_without_the_program_noticing() {
    let daemon = TestDaemon::start().await;
    let session = daemon
        .owner()
        .shell("echo ready; while read line; do echo got:$line:; done")
        .await;
    let terminal = TerminalOf::start(&daemon.command(&["attach", &session.name]), 90, 20).await;
    terminal.until_shows("ready").await;
    terminal.types(b"hello\r").await;
    terminal.until_shows("got:hello:").await;
    // Ctrl-\ then d: none of it reaches the program, which would end at SIGQUIT.
    terminal.types(b"\x1cd").await;
    assert_eq!(terminal.exit().await.code, Some(0));
    let after = daemon.owner().session(&session.id).await;
    assert_eq!((after.exit, after.writers), (None, 0));
}

#[tokio::test]
async fn attach_gives_the_session_the_terminals_size_and_follows_it() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("echo ready; read x").await;
    let terminal = TerminalOf::start(&daemon.command(&["attach", &session.name]), 90, 20).await;
    let mut watcher = daemon.owner().attach(&session.id, Mode::View, "screen").await;
    watcher
        .until_size(Size {
            columns: 90,
            rows: 20,
        })
        .await;
    terminal.resize(70, 25);
    watcher
        .until_size(Size {
            columns: 70,
            rows: 25,
        })
        .await;
}

#[tokio::test]
async fn view_of_a_larger_session_shows_a_part_of_it_and_changes_nothing() {
    let daemon = TestDaemon::start().await;
    let session = daemon
        .owner()
        .shell("printf 'beyond\\033[20;81Hthe cursor is here'; read x")
        .await;
    let terminal = TerminalOf::start(&daemon.command(&["view", &session.name]), 60, 12).await;
    let lines = terminal.until_shows("the cursor is here").await;
    assert!(!lines.iter().any(|line| line.contains("beyond")), "{lines:?}");
    assert_eq!(
        daemon.owner().session(&session.id).await.size,
        Size {
            columns: 100,
            rows: 30
        }
    );
}

#[tokio::test]
async fn the_terminal_is_as_before_after_a_full_screen_program_and_a_detach() {
    let daemon = TestDaemon::start().await;
    let modes = "\\033[?1049h\\033[?1003h\\033[?1006h\\033[?2004h\\033[?25l\\033[?1h\\033=";
    let session = daemon
        .owner()
        .shell(&format!("printf '{modes}full screen'; read x"))
        .await;
    let script = format!(
        "echo before; {} attach {}; echo after",
        harness::binary().display(),
        session.name
    );
    let mut command = daemon.command(&[]);
    command = shell_with(&command, &script);
    let terminal = TerminalOf::start(&command, 80, 24).await;
    terminal.until_shows("full screen").await;
    terminal.types(b"\x1cd").await;
    let lines = terminal.until_shows("after").await;
    assert!(
        lines.iter().any(|line| line == "before"),
        "the primary screen is back: {lines:?}"
    );
    assert_eq!(terminal.exit().await.code, Some(0));
    let snapshot = terminal.snapshot();
    for mode in ["?1049h", "?1003h", "?1006h", "?2004h", "?25l", "?1h"] {
        assert!(!snapshot.contains(mode), "{mode} is left on: {snapshot:?}");
    }
}

#[tokio::test]
async fn run_in_a_terminal_ends_with_the_programs_code() {
    let daemon = TestDaemon::start().await;
    let run = daemon.command(&["run", "--", "sh", "-c", "read x; exit 9"]);
    let terminal = TerminalOf::start(&run, 80, 24).await;
    terminal.until_shows("Ctrl-\\").await;
    terminal.types(b"\r").await;
    assert_eq!(terminal.exit().await.code, Some(9));
}

#[tokio::test]
async fn attaching_inside_of_a_session_is_refused() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read x").await;
    let mut command = daemon.command(&["attach", &session.name]);
    command.env("TRANSOM_SESSION", &session.id);
    let terminal = TerminalOf::start(&command, 80, 24).await;
    assert_eq!(terminal.exit().await.code, Some(2));
    terminal.until_shows("error:").await;
}

#[tokio::test]
async fn the_programs_queries_are_answered_once_by_the_daemon_alone() {
    let daemon = TestDaemon::start().await;
    // Asks where the cursor is, and prints what came within the terminal's own time for it.
    let script = "stty raw -echo min 0 time 20; printf '\\033[6n'; dd bs=64 count=2 2>/dev/null | od -c | head -3; stty sane; read x";
    let session = daemon.owner().shell(script).await;
    let terminal = TerminalOf::start(&daemon.command(&["attach", &session.name]), 80, 24).await;
    let lines = terminal.until_shows("R").await;
    let answers: usize = lines.iter().map(|line| line.matches(" R").count()).sum();
    assert_eq!(answers, 1, "{lines:?}");
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
