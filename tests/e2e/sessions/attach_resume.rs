//! Attachments over bad links: nothing is lost, nothing comes twice.

use std::process::Stdio;

use harness::{CuttingProxy, TerminalOf, TestDaemon, until, within};
use protocol::attach::{Mode, ServerMessage};
use tokio::io::AsyncWriteExt;

const CLIENT: &str = "00112233445566778899aabbccddeeff";

/// A program that says what it reads, a line each, and ends with `quit`.
const ECHO: &str =
    "stty -echo; echo ready; while read line; do [ $line = quit ] && exit 0; echo got:$line:; done";

#[tokio::test]
async fn what_was_typed_and_not_confirmed_is_typed_once_however_often_it_is_sent() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell(ECHO).await;
    let mut first = owner.attach_as(CLIENT, &session.id, "0").await;
    first.until("ready").await;
    assert_eq!(first.hello().input_applied, None, "nobody knows this client");
    first.send_input(b"one\r").await;
    first.until_applied(1).await;
    first.until("got:one:").await;
    drop(first);
    let mut second = owner.attach_as(CLIENT, &session.id, "0").await;
    second.until("ready").await;
    assert_eq!(second.hello().input_applied, Some(1));
    // The same numbers again, and one more.
    for line in [b"one\r", b"two\r"] {
        second.send_input(line).await;
    }
    second.until("got:two:").await;
    second.until_applied(2).await;
    let other = "ffeeddccbbaa99887766554433221100";
    let mut stranger = owner.attach_as(other, &session.id, "0").await;
    stranger.until("ready").await;
    stranger.send_input(b"quit\r").await;
    second.until_exit().await;
    assert_eq!(second.text(), "ready\r\ngot:one:\r\ngot:two:\r\n");
}

#[tokio::test]
async fn a_client_that_typed_nothing_that_arrived_is_known_when_it_comes_back() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read x").await;
    for expected in [None, Some(0)] {
        let mut attached = owner.attach_as(CLIENT, &session.id, "screen").await;
        assert!(matches!(attached.next().await, Ok(ServerMessage::Hello(_))));
        assert_eq!(attached.hello().input_applied, expected);
    }
}

#[tokio::test]
async fn a_client_with_a_malformed_id_is_refused() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read x").await;
    let path = format!("/v1/sessions/{}/attach?client=NOTHEX0123456789", session.id);
    assert_eq!(daemon.owner().get(&path).await.status, 400);
}

#[tokio::test]
async fn a_pipe_gets_every_byte_once_over_a_link_that_is_cut_in_the_middle_of_frames() {
    let daemon = TestDaemon::start().await;
    let proxy = CuttingProxy::to(&daemon, |attachment| 20_011 + attachment * 17_389);
    let mut run = proxy.command(&daemon, &["run", "--", "sh", "-c", "seq 1 150000; exit 7"]);
    run.stdin(Stdio::null());
    let finished = harness::Finished::of(&mut run).await;
    let expected: String = (1..=150_000).map(|number| format!("{number}\r\n")).collect();
    assert_eq!(finished.code, 7, "{}", finished.stderr);
    assert!(
        finished.stdout == expected,
        "{} bytes of {}",
        finished.stdout.len(),
        expected.len()
    );
    assert!(proxy.counts().0 >= 5, "{:?}", proxy.counts());
}

#[tokio::test]
async fn a_programs_input_arrives_once_over_a_link_that_is_cut() {
    let daemon = TestDaemon::start().await;
    // The first two, for output and for input, get as far as the first screen.
    let proxy = CuttingProxy::to(&daemon, |attachment| 2_500 + attachment * 211);
    let script = "stty raw -echo; exec head -c 200000 | cksum";
    let mut run = proxy.command(&daemon, &["run", "--", "sh", "-c", script]);
    run.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut child = run.spawn().expect("the binary can be started");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let input: Vec<u8> = (0..200_000_u32).map(|index| b'a' + (index % 23) as u8).collect();
    within("the input to be taken", stdin.write_all(&input))
        .await
        .expect("it reads on");
    let output = within("the program's end", child.wait_with_output())
        .await
        .expect("it ends");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut cksum = tokio::process::Command::new("cksum");
    cksum.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut cksum = cksum.spawn().expect("cksum is there");
    cksum
        .stdin
        .take()
        .expect("stdin is piped")
        .write_all(&input)
        .await
        .expect("it reads");
    let expected = cksum.wait_with_output().await.expect("it ends");
    assert_eq!(stdout.trim(), String::from_utf8_lossy(&expected.stdout).trim());
}

#[tokio::test]
async fn a_terminal_shows_and_types_the_same_over_a_link_that_is_cut() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell(ECHO).await;
    let mut witness = daemon.owner().attach(&session.id, Mode::Lossless, "0").await;
    let proxy = CuttingProxy::to(&daemon, |attachment| 2_000 + attachment * 97);
    let terminal = TerminalOf::start(&proxy.command(&daemon, &["attach", &session.name]), 80, 24).await;
    let undisturbed = TerminalOf::start(&daemon.command(&["view", &session.name]), 80, 25).await;
    terminal.until_shows("ready").await;
    for number in 1..=600 {
        terminal.types(format!("{number}\r").as_bytes()).await;
    }
    terminal.until_shows("got:600:").await;
    let lines = undisturbed.until_shows("got:600:").await;
    let trimmed = |lines: &[String]| -> Vec<String> { lines[..23].to_vec() };
    terminal
        .until("the undisturbed screen", |shown| {
            trimmed(shown) == trimmed(&lines)
        })
        .await;
    terminal.types(b"quit\r").await;
    assert_eq!(terminal.exit().await.code, Some(0));
    witness.until_exit().await;
    let expected: String = (1..=600).map(|number| format!("got:{number}:\r\n")).collect();
    assert_eq!(witness.text(), format!("ready\r\n{expected}"));
    assert!(proxy.counts().0 >= 2, "{:?}", proxy.counts());
}

#[tokio::test]
async fn a_terminal_comes_back_by_itself_after_refused_connections_and_what_was_typed_meanwhile_arrives() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell(ECHO).await;
    let proxy = CuttingProxy::to(&daemon, |_| usize::MAX);
    let terminal = TerminalOf::start(&proxy.command(&daemon, &["attach", &session.name]), 80, 24).await;
    terminal.until_shows("ready").await;
    proxy.refuse(true);
    proxy.cut();
    terminal.until_shows("reconnecting").await;
    terminal.types(b"meanwhile\r").await;
    until("three refused connections", || async {
        (proxy.counts().1 >= 3).then_some(())
    })
    .await;
    proxy.refuse(false);
    terminal.until_shows("got:meanwhile:").await;
    terminal
        .until("no word of it", |lines| {
            !lines.iter().any(|line| line.contains("reconnecting"))
        })
        .await;
}

#[tokio::test]
async fn a_terminal_without_its_daemon_can_be_left_and_is_as_before() {
    let mut daemon = TestDaemon::start().await;
    let session = daemon
        .owner()
        .shell("printf '\\033[?1003h\\033[?2004hready'; read x")
        .await;
    let terminal = TerminalOf::start(&daemon.command(&["attach", &session.name]), 80, 24).await;
    terminal.until_shows("ready").await;
    daemon.signal(rustix::process::Signal::KILL);
    daemon.ended().await;
    terminal.until_shows("reconnecting").await;
    terminal.types(b"ab\x1cd").await;
    assert_eq!(terminal.exit().await.code, Some(0));
    terminal.until_shows("2 keys were not confirmed").await;
    for mode in ["?1003h", "?2004h", "?25l"] {
        assert!(!terminal.snapshot().contains(mode), "{mode} is left on");
    }
}
