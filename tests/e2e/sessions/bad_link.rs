//! The command line and a device elsewhere, over a link that delays, and cuts in the middle of frames, both ways.

use std::process::Stdio;

use harness::{Attached, BadLink, Elsewhere, Finished, TerminalOf, TestDaemon, within};
use pairing::Role;
use protocol::{attach::Mode, sessions::Exit};
use tokio::{io::AsyncWriteExt, process::Command};

/// Two megabytes of text in colours, with marks at places of the screen; the last screen is of all of them.
const PRINT: &str = "stty -echo; read x; seq 1 40000 | sed 's/.*/\\x1b[32m&\\x1b[0m \\x1b7\\x1b[5;40Hat &\\x1b8 한글/'; exit 7";

#[tokio::test]
async fn run_elsewhere_prints_every_byte_once() {
    let (daemon, link, desk) = over_a_bad_link(1, OF_MESSAGES).await;
    let script = PRINT.replace("read x; ", "");
    let words = ["run", "--", "sh", "-c", &script];
    let undisturbed = Finished::of(daemon.command(&words).stdin(Stdio::null())).await;
    let elsewhere = [&["--on", "desk"], &words[..]].concat();
    let disturbed = Finished::of(desk.command(&elsewhere).stdin(Stdio::null())).await;
    assert_eq!((undisturbed.code, disturbed.code), (7, 7), "{}", disturbed.stderr);
    assert_same(disturbed.stdout.as_bytes(), undisturbed.stdout.as_bytes());
    assert!(link.cuts() >= CUTS, "{}", link.cuts());
}

#[tokio::test]
async fn a_programs_input_arrives_once_from_elsewhere() {
    let (_daemon, link, desk) = over_a_bad_link(2, OF_SCREENS).await;
    let script = "stty raw -echo; exec head -c 400000 | cksum";
    let mut run = desk.command(&["--on", "desk", "run", "--", "sh", "-c", script]);
    let input: Vec<u8> = (0..400_000_u32).map(|index| b'a' + (index % 23) as u8).collect();
    let arrived = fed(&mut run, &input).await;
    let expected = fed(&mut Command::new("cksum"), &input).await;
    assert_eq!(arrived.trim(), expected.trim());
    assert!(link.cuts() >= CUTS, "{}", link.cuts());
}

#[tokio::test]
async fn attach_elsewhere_types_once_and_shows_the_same_screen() {
    let (daemon, link, desk) = over_a_bad_link(3, OF_SCREENS).await;
    let echo = "stty -echo; echo ready; while read line; do [ $line = quit ] && exit 0; \
        printf \"\\033[3$((line % 8))mgot:$line:%0200d\\033[m\\r\\n\" 0; done";
    let session = daemon.owner().shell(echo).await;
    let mut witness = daemon.owner().attach(&session.id, Mode::Lossless, "0").await;
    let attach = desk.command(&["attach", "--on", "desk", &session.name]);
    let terminal = TerminalOf::start(&attach, 80, 24).await;
    terminal.until_shows("ready").await;
    for number in 1..=1500 {
        terminal.types(format!("{number}\r").as_bytes()).await;
        if number % 50 == 0 {
            terminal.until_shows(&format!("got:{number}:")).await;
        }
    }
    let undisturbed = TerminalOf::start(&daemon.command(&["view", &session.name]), 80, 25).await;
    let lines = undisturbed.until_shows("got:1500:").await;
    let is_same = |shown: &[String]| shown[..23] == lines[..23];
    terminal.until("the undisturbed screen", is_same).await;
    terminal.types(b"quit\r").await;
    assert_eq!(terminal.exit().await.code, Some(0));
    witness.until_exit().await;
    let text = witness.text();
    let typed = text.split("got:").skip(1).map(|line| line.split(':').next());
    let once = (1..=1500).map(|number| number.to_string()).collect::<Vec<_>>();
    assert!(
        typed.eq(once.iter().map(|number| Some(number.as_str()))),
        "{text}"
    );
    assert!(link.cuts() >= CUTS, "{}", link.cuts());
}

#[tokio::test]
async fn a_lossless_device_gets_every_byte_once_and_has_the_same_screen() {
    let (daemon, link, _desk) = over_a_bad_link(4, OF_MESSAGES).await;
    let owner = daemon.owner();
    let [other, session] = [owner.shell(PRINT).await, owner.shell(PRINT).await];
    let mut undisturbed = owner.attach(&other.id, Mode::Lossless, "0").await;
    let mut device = daemon.device(Role::Operator).await;
    device.go_by(link.address());
    let mut writer = owner.attach(&session.id, Mode::Write, "screen").await;
    writer.send_input(b"\r").await;
    // Who leaves at once may be gone before what it typed is read.
    let mut typist = owner.attach(&other.id, Mode::Write, "screen").await;
    typist.send_input(b"\r").await;
    undisturbed.until_exit().await;
    let mut screen = terminal::screen(terminal::Size::new(100, 30));
    let mut output = Vec::new();
    let exit = loop {
        let from = output.len().to_string();
        // Also the way there may be cut.
        let Ok(mut attached) = device.reach(&session.id, Mode::Lossless, &from).await else {
            continue;
        };
        let exit = until_cut(&mut attached).await;
        assert_eq!(attached.snapshots(), 0);
        screen.feed(attached.output());
        output.extend_from_slice(attached.output());
        if let Some(exit) = exit {
            break exit;
        }
    };
    assert_eq!(exit.code, Some(7));
    assert_same(&output, undisturbed.output());
    assert_eq!(screen.text_lines(), undisturbed.screen_lines());
    assert!(link.cuts() >= CUTS, "{}", link.cuts());
}

/// A daemon, a bad link to it, and a machine that is paired over that link.
async fn over_a_bad_link(seed: u64, least: usize) -> (TestDaemon, BadLink, Elsewhere) {
    let daemon = TestDaemon::start().await;
    let link = BadLink::to(daemon.address(), seed, least).await;
    let desk = Elsewhere::paired_by(&daemon, Role::Operator, link.address()).await;
    (daemon, link, desk)
}

/// Reads on to the program's end, or to that of the connection.
async fn until_cut(attached: &mut Attached) -> Option<Exit> {
    use protocol::attach::ServerMessage;
    loop {
        match attached.next().await {
            Ok(ServerMessage::Exit(exit)) => return Some(exit),
            Ok(_) => {}
            Err(_) => return None,
        }
    }
}

/// What a command prints that is given this.
async fn fed(command: &mut Command, input: &[u8]) -> String {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    within("the input to be taken", stdin.write_all(input))
        .await
        .unwrap();
    drop(stdin);
    let output = within("a command's end", child.wait_with_output()).await.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Says where they differ, not what they are.
fn assert_same(got: &[u8], expected: &[u8]) {
    let differs = got
        .iter()
        .zip(expected)
        .position(|(got, expected)| got != expected);
    assert_eq!((differs, got.len()), (None, expected.len()));
}

const CUTS: usize = 10;
/// Bytes that a connection carries at least: a lossless message is of 32 KiB, and is got whole or not at all.
const OF_MESSAGES: usize = 48 * 1024;
const OF_SCREENS: usize = 8 * 1024;
