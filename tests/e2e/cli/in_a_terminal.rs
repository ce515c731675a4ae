//! Attaching in a real terminal.

use harness::{TerminalOf, TestDaemon};
use pairing::Role;
use protocol::{
    attach::{ClientMessage, Mode, ServerMessage},
    sessions::Size,
};
use rustix::process::Signal;

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
async fn that_run_started_a_daemon_is_on_the_screen_when_its_program_has_ended() {
    let mut daemon = TestDaemon::start().await;
    let config = "[listen]\ntls = [\"127.0.0.1:0\"]\n";
    std::fs::write(daemon.folder().join("config.toml"), config).unwrap();
    daemon.signal(Signal::TERM);
    daemon.ended().await;
    let terminal = TerminalOf::start(&daemon.command(&["run", "seq", "200"]), 160, 20).await;
    assert_eq!(terminal.exit().await.code, Some(0));
    let lines = terminal.until_shows("no daemon ran: started one").await;
    let at = |text: &str| lines.iter().position(|line| line.starts_with(text));
    assert!(at("200") < at("no daemon ran"), "{lines:?}");
    assert_eq!(daemon.cli(&["shutdown"]).await.code, 0);
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
    assert_nothing_is_left_on(&terminal);
}

#[tokio::test]
async fn the_terminal_is_as_before_after_a_signal_that_ends_attach() {
    let daemon = TestDaemon::start().await;
    let modes = "\\033[?1049h\\033[?1003h\\033[?1006h\\033[?2004h\\033[?25l\\033[?1h\\033=";
    let script = format!("printf '{modes}full screen'; read x");
    let session = daemon.owner().shell(&script).await;
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let terminal = TerminalOf::start(&daemon.command(&["attach", &session.name]), 80, 24).await;
        terminal.until_shows("full screen").await;
        terminal.signal(signal);
        assert_eq!(terminal.exit().await.code, Some(128 + signal.as_raw()));
        assert_nothing_is_left_on(&terminal);
    }
    assert!(daemon.owner().session(&session.id).await.exit.is_none());
}

fn assert_nothing_is_left_on(terminal: &TerminalOf) {
    let snapshot = terminal.snapshot();
    for mode in ["?1049h", "?1003h", "?1006h", "?2004h", "?25l", "?1h"] {
        assert!(!snapshot.contains(mode), "{mode} is left on: {snapshot:?}");
    }
}

#[tokio::test]
async fn a_writer_who_lost_the_size_is_told_to_whom_and_types_as_the_program_asked() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let script = "stty raw -echo; printf '\\033[?2004h\\033[?1hready'; head -c 20 | od -An -c; read x";
    let session = owner.shell(script).await;
    let terminal = TerminalOf::start(&daemon.command(&["attach", &session.name]), 70, 20).await;
    terminal.until_shows("ready").await;
    let mut other = owner.attach(&session.id, Mode::Write, "screen").await;
    let (columns, rows) = (90, 30);
    other.send(&ClientMessage::Size { columns, rows }).await;
    terminal.until_shows("has the size now").await;
    let snapshot = terminal.snapshot();
    assert!(
        snapshot.contains("?2004h") && snapshot.contains("?1h"),
        "{snapshot:?}"
    );
    // What this terminal sends for a paste of three lines, and for Up.
    terminal.types(b"\x1b[200~l1\rl2\x1b[201~\x1bOA").await;
    other.until("033   [   2   0   0   ~").await;
    terminal.until_shows("90 × 30").await;
    drop(other);
    terminal
        .until("its own size again", |lines| {
            !lines.iter().any(|line| line.contains("detaches"))
        })
        .await;
}

#[tokio::test]
async fn a_phone_leaves_the_size_and_the_scrollback_of_a_desktop_as_they_were() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let script = "read x; for n in $(seq 100); do printf '%0150d\\n' $n; done; echo ready; read x";
    let session = owner.shell(script).await;
    let [desktop, narrow] = [(160, 40), (50, 20)].map(|(columns, rows)| Size { columns, rows });
    let offer = ClientMessage::Size {
        columns: 50,
        rows: 20,
    };
    let terminal = TerminalOf::start(&daemon.command(&["attach", &session.name]), 160, 40).await;
    let phone = daemon.device(Role::Viewer).await;
    let mut viewer = phone.attach(&session.id, Mode::View, "screen").await;
    viewer.until_size(desktop).await;
    terminal.types(b"\r").await;
    let is_shown = |lines: &[String]| lines[38] == "ready" && lines[39].is_empty();
    let shown = terminal.until("no words over the screen", is_shown).await;
    let path = format!("/v1/sessions/{}/screen?lines=1000", session.id);
    let before = owner.get(&path).await.body;
    viewer.send(&offer).await;
    viewer.send(&ClientMessage::Claim).await;
    viewer.send(&ClientMessage::Ping { number: 1 }).await;
    while viewer.next().await.expect("it is open") != (ServerMessage::Pong { number: 1 }) {}
    drop(viewer);
    assert_eq!(owner.get(&path).await.body, before);
    // One that takes the size for a while.
    let tablet = daemon.device(Role::Operator).await;
    let mut page = tablet
        .attach_like_a_browser(&session.id, Mode::Write, "screen")
        .await;
    page.send(&offer).await;
    page.send(&ClientMessage::Claim).await;
    page.until_size(narrow).await;
    page.send(&ClientMessage::Yield).await;
    page.until_size(desktop).await;
    drop(page);
    assert_eq!(owner.get(&path).await.body.trim_end(), before.trim_end());
    terminal.until("the same screen", |lines| lines == shown).await;
}

#[tokio::test]
async fn attaching_again_behind_a_wrapped_ring_shows_the_whole_screen_and_its_modes() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let script = "stty -echo; printf '\\033[?1049h\\033[?2004h\\033[?1003h\\033[?1006h\\033[?1h'; \
                  yes 'an editor draws' | head -c 4000000; printf '\\033[H\\033[Jtop\\033[9;9Hmiddle\\033[?25l'; read x";
    let session = owner.shell(script).await;
    owner
        .get(&format!("/v1/sessions/{}/wait?text=middle", session.id))
        .await;
    for _ in 0..2 {
        let terminal = TerminalOf::start(&daemon.command(&["attach", &session.name]), 100, 30).await;
        let lines = terminal.until_shows("middle").await;
        terminal
            .until("no words over it", |lines| {
                !lines.iter().any(|line| line.contains("detaches"))
            })
            .await;
        assert_eq!((lines[0].as_str(), lines[8].as_str()), ("top", "        middle"));
        let snapshot = terminal.snapshot();
        for mode in ["?1049h", "?2004h", "?1003h", "?1006h", "?25l", "?1h"] {
            assert!(snapshot.contains(mode), "{mode} is missing: {snapshot:?}");
        }
        terminal.types(b"\x1cd").await;
        assert_eq!(terminal.exit().await.code, Some(0));
        assert_nothing_is_left_on(&terminal);
    }
}

#[tokio::test]
async fn what_is_typed_just_before_a_detach_reaches_the_program() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner
        .shell("echo ready; while read line; do echo got:$line:; done")
        .await;
    for turn in 0..5 {
        let terminal = TerminalOf::start(&daemon.command(&["attach", &session.name]), 90, 20).await;
        terminal.until_shows("ready").await;
        terminal.types(format!("last {turn}\r\x1cd").as_bytes()).await;
        assert_eq!(terminal.exit().await.code, Some(0));
        let mut watcher = owner.attach(&session.id, Mode::View, "0").await;
        watcher.until(&format!("got:last {turn}:")).await;
    }
}

#[tokio::test]
async fn keys_that_the_program_did_not_take_before_a_detach_are_counted() {
    let daemon = TestDaemon::start().await;
    let session = daemon
        .owner()
        .shell("stty raw -echo; echo ready; exec sleep 600")
        .await;
    let terminal = TerminalOf::start(&daemon.command(&["attach", &session.name]), 90, 20).await;
    terminal.until_shows("ready").await;
    terminal.types(&b"x".repeat(64 * 1024)).await;
    terminal.types(b"\x1cd").await;
    assert_eq!(terminal.exit().await.code, Some(0));
    terminal
        .until_shows("keys were not confirmed; they may be lost")
        .await;
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
