//! `transom pair` in a real terminal.

use std::process::Stdio;

use harness::{DaemonOptions, Pairing, Running, TerminalOf, TestDaemon, scan, within};
use protocol::pairing::{OfferMade, OfferView, Poll, PollStatus};
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, BufReader};

#[tokio::test]
async fn a_device_that_scans_the_screen_of_80_by_24_is_asked_about_and_paired() {
    let daemon = TestDaemon::start().await;
    let terminal = TerminalOf::start(&daemon.command(&["pair", "--role", "operator"]), 80, 24).await;
    let lines = terminal.until("a code", |lines| scanned(lines).is_some()).await;
    let fragment = scanned(&lines).unwrap();
    assert_eq!(link_on(&lines).as_deref(), Some(fragment.as_str()), "{lines:#?}");
    for words in [
        "Pair a device as operator.",
        "It works once, for",
        "Waiting for the device",
    ] {
        assert!(
            lines.iter().any(|line| line.contains(words)),
            "{words}: {lines:#?}"
        );
    }
    let mut device = Pairing::with_fragment(&daemon, &fragment);
    let code = device.ask().await;
    let lines = terminal.until_shows(&code.grouped()).await;
    for words in [
        "\"a test's phone\" asks",
        "From 127.0.0.1",
        "y  yes: pair it as operator",
    ] {
        assert!(
            lines.iter().any(|line| line.contains(words)),
            "{words}: {lines:#?}"
        );
    }
    terminal.types(b"y").await;
    terminal.until_shows("The device finishes by itself").await;
    let exchanged = device.exchange_when_approved().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.status, 204);
    assert_eq!(terminal.exit().await.code, Some(0));
    let lines = terminal.until_shows("cuts it off").await;
    let id = exchanged.device_id.to_string();
    assert_eq!(lines[0], format!("paired \"a test's phone\" as operator: {id}"));
    assert_eq!(lines[1], format!("`transom revoke {id}` cuts it off"));
}

#[tokio::test]
async fn after_a_no_a_fresh_offer_works() {
    let daemon = TestDaemon::start().await;
    let (terminal, first) = shown(&daemon, &["pair"]).await;
    let mut stranger = Pairing::with_fragment(&daemon, &first);
    let code = stranger.ask_as("a stranger").await;
    terminal.until_shows(&code.grouped()).await;
    terminal.types(b"n").await;
    let poll: Poll = stranger.poll(20).await.ok();
    assert_eq!(poll.status, PollStatus::AccessDenied);
    terminal.until_shows("\"a stranger\" was turned away.").await;
    let second = another(&terminal, &first).await;
    let device = Pairing::with_fragment(&daemon, &second);
    pair(&terminal, device).await;
}

#[tokio::test]
async fn several_that_claim_are_asked_about_one_after_the_other() {
    let daemon = TestDaemon::start().await;
    let (terminal, first) = shown(&daemon, &["pair"]).await;
    let mut one = Pairing::with_fragment(&daemon, &first);
    let code = one.ask_as("the first").await;
    terminal.until_shows(&code.grouped()).await;
    // What is shown beside the question is for the next one already.
    let mut other = Pairing::with_fragment(&daemon, &another(&terminal, &first).await);
    let next = other.ask_as("the second").await;
    terminal.until_shows("1 more behind").await;
    terminal.types(b"n").await;
    let poll: Poll = one.poll(20).await.ok();
    assert_eq!(poll.status, PollStatus::AccessDenied);
    terminal.until_shows(&next.grouped()).await;
    terminal.until_shows("y  yes").await;
    terminal.types(b"y").await;
    let exchanged = other.exchange_when_approved().await;
    assert_eq!(other.try_commit(exchanged.token.expose()).await.status, 204);
    assert_eq!(terminal.exit().await.code, Some(0));
    assert_eq!(daemon.owner().devices().await.len(), 1);
}

#[tokio::test]
async fn a_device_that_asks_anew_before_it_showed_its_key_is_the_one_that_pair_asks_about() {
    let daemon = TestDaemon::start().await;
    let (terminal, fragment) = shown(&daemon, &["pair"]).await;
    let mut given_up = Pairing::with_fragment(&daemon, &fragment);
    given_up.request().await;
    pair(&terminal, Pairing::with_fragment(&daemon, &fragment)).await;
}

#[tokio::test]
async fn an_offer_that_expires_is_replaced_and_what_is_shown_works() {
    let daemon = TestDaemon::start_with(DaemonOptions {
        config: "[pairing]\noffer_ttl = \"8s\"\n".to_owned(),
        ..DaemonOptions::default()
    })
    .await;
    let (terminal, first) = shown(&daemon, &["pair", "--yes"]).await;
    let second = another(&terminal, &first).await;
    let mut device = Pairing::with_fragment(&daemon, &second);
    device.ask().await;
    let exchanged = device.exchange_when_approved().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.status, 204);
    assert_eq!(terminal.exit().await.code, Some(0));
}

#[tokio::test]
async fn an_offer_that_somebody_guessed_at_is_replaced() {
    let daemon = TestDaemon::start().await;
    let (terminal, first) = shown(&daemon, &["pair"]).await;
    let (id, rest) = first.split_once('.').unwrap();
    let guess = format!("{id}.{}.{}", "A".repeat(43), rest.split_once('.').unwrap().1);
    for _ in 0..5 {
        let answer = Pairing::with_fragment(&daemon, &guess)
            .try_request("guesser")
            .await;
        assert_eq!(answer.status / 100, 4);
    }
    terminal.until_shows("Somebody guessed").await;
    let second = another(&terminal, &first).await;
    pair(&terminal, Pairing::with_fragment(&daemon, &second)).await;
}

#[tokio::test]
async fn it_goes_on_when_the_daemon_comes_back() {
    let mut daemon = TestDaemon::start().await;
    let (terminal, first) = shown(&daemon, &["pair"]).await;
    daemon.kill().await;
    let lines = terminal.until_shows("The daemon is away").await;
    assert_eq!(scan(&lines), None, "what does not work is not shown");
    daemon.start_again().await;
    let second = another(&terminal, &first).await;
    terminal.until_shows("The daemon was restarted.").await;
    pair(&terminal, Pairing::with_fragment(&daemon, &second)).await;
}

#[tokio::test]
async fn a_lock_down_ends_it_and_is_said_to_be_why() {
    let daemon = TestDaemon::start().await;
    let (terminal, _) = shown(&daemon, &["pair"]).await;
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    assert_ne!(terminal.exit().await.code, Some(0));
    let lines = terminal.until_shows("lockdown --lift").await;
    assert!(lines[0].starts_with("error: "), "{lines:#?}");
}

#[tokio::test]
async fn in_lines_it_goes_on_when_the_daemon_comes_back() {
    let mut daemon = TestDaemon::start().await;
    let mut pair = Running::start(&mut daemon.command(&["pair", "--json", "--yes"]));
    let first: OfferMade = serde_json::from_str(&pair.line().await.unwrap()).unwrap();
    daemon.kill_and_restart().await;
    let second: OfferMade = serde_json::from_str(&pair.line().await.unwrap()).unwrap();
    assert_ne!(first.id, second.id);
    let fragment = second.url.expose().split_once('#').unwrap().1;
    let mut device = Pairing::with_fragment(&daemon, fragment);
    device.ask().await;
    let exchanged = device.exchange_when_approved().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.status, 204);
    assert_eq!(pair.finish().await.code, 0);
}

#[tokio::test]
async fn every_way_out_takes_the_offer_back_and_leaves_the_terminal_as_it_was() {
    let daemon = TestDaemon::start().await;
    for (keys, signal) in [
        (&b"q"[..], None),
        (b"\x03", None),
        (b"", Some(Signal::TERM)),
        (b"", Some(Signal::INT)),
    ] {
        let (terminal, _) = shown(&daemon, &["pair"]).await;
        if let Some(signal) = signal {
            terminal.signal(signal);
        }
        terminal.types(keys).await;
        assert_eq!(terminal.exit().await.code, Some(1), "{keys:?} {signal:?}");
        let lines = terminal.until_shows("nothing was paired").await;
        assert_eq!(
            lines[0], "the offer was withdrawn, and nothing was paired",
            "who leaves is told no error"
        );
        let snapshot = terminal.snapshot();
        for mode in ["?1049h", "?25l", "?7l"] {
            assert!(!snapshot.contains(mode), "{mode} is left on: {snapshot:?}");
        }
        let offers: Vec<OfferView> = daemon.owner().get("/v1/pairing/offers").await.ok();
        let states: Vec<_> = offers.iter().map(|offer| offer.state.as_str()).collect();
        assert!(states.iter().all(|state| *state == "withdrawn"), "{states:?}");
    }
}

#[tokio::test]
async fn it_follows_the_terminals_size_and_says_what_a_code_needs() {
    let daemon = TestDaemon::start().await;
    let (terminal, fragment) = shown(&daemon, &["pair"]).await;
    terminal.resize(60, 20);
    let lines = terminal.until_shows("A QR code needs").await;
    assert_eq!(link_on(&lines).as_deref(), Some(fragment.as_str()), "{lines:#?}");
    assert!(lines[19].contains("q quits"), "{lines:#?}");
    terminal.types(b"l").await;
    let lines = terminal.until_shows("To copy.").await;
    assert_eq!(link_on(&lines).as_deref(), Some(fragment.as_str()), "{lines:#?}");
    terminal.types(b"l").await;
    for (columns, rows) in [(60, 50), (120, 40), (80, 24)] {
        terminal.resize(columns, rows);
        let is_there = |lines: &[String]| lines.len() == usize::from(rows) && scanned(lines).is_some();
        let lines = terminal.until("the code", is_there).await;
        assert_eq!(scanned(&lines), Some(fragment.clone()), "{columns} × {rows}");
    }
}

#[tokio::test]
async fn with_no_color_nothing_is_coloured() {
    let daemon = TestDaemon::start().await;
    let mut command = daemon.command(&["pair"]);
    command.env("NO_COLOR", "1");
    let terminal = TerminalOf::start(&command, 80, 24).await;
    let lines = terminal.until_shows("Waiting for the device").await;
    let snapshot = terminal.snapshot();
    assert!(
        !snapshot.contains("38;") && !snapshot.contains("48;"),
        "{snapshot:?}"
    );
    // Drawn in light: a camera sees it turned round on what the test's takes for white.
    let turned: Vec<String> = lines
        .iter()
        .map(|line| line.chars().map(turned).collect())
        .collect();
    assert_eq!(scanned(&turned), link_on(&lines));
    terminal.types(b"i").await;
    terminal
        .until("the code turned round", |lines| scanned(lines).is_some())
        .await;
}

#[tokio::test]
async fn without_a_keyboard_it_says_how_to_decide_elsewhere() {
    let daemon = TestDaemon::start().await;
    let script = format!("exec {} pair < /dev/null", harness::binary().display());
    let terminal = TerminalOf::start(&shell_with(&daemon, &script), 80, 24).await;
    let lines = terminal.until("a code", |lines| scanned(lines).is_some()).await;
    let mut device = Pairing::with_fragment(&daemon, &scanned(&lines).unwrap());
    let code = device.ask().await.grouped();
    terminal.until_shows("transom approve").await;
    assert_eq!(daemon.cli(&["approve", &code]).await.code, 0);
    let exchanged = device.exchange_when_approved().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.status, 204);
    assert_eq!(terminal.exit().await.code, Some(0));
}

#[tokio::test]
async fn on_a_terminal_that_cannot_be_drawn_on_it_asks_in_lines() {
    let daemon = TestDaemon::start().await;
    let script = format!("TERM=dumb exec {} pair", harness::binary().display());
    let terminal = TerminalOf::start(&shell_with(&daemon, &script), 160, 24).await;
    let lines = terminal.until_shows("Waiting for the device").await;
    assert!(lines[0].starts_with("https://"), "{lines:#?}");
    let mut device = Pairing::with_fragment(&daemon, &link_on(&lines).unwrap());
    let code = device.ask().await.grouped();
    terminal.until_shows(&code).await;
    terminal
        .until_shows("Approve \"a test's phone\" as viewer? [y/N]")
        .await;
    terminal.types(b"y\r").await;
    let exchanged = device.exchange_when_approved().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.status, 204);
    assert_eq!(terminal.exit().await.code, Some(0));
    terminal.until_shows("cuts it off").await;
}

#[tokio::test]
async fn a_reader_that_goes_ends_it_without_a_word_and_takes_the_offer_back() {
    let daemon = TestDaemon::start().await;
    for arguments in [&["pair"][..], &["pair", "--json"]] {
        let mut command = daemon.command(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        within("the offer", lines.next_line()).await.unwrap().unwrap();
        drop(lines);
        let ended = within("the end", child.wait_with_output()).await.unwrap();
        assert_eq!(
            (ended.status.code(), ended.stderr.as_slice()),
            (Some(0), &b""[..])
        );
        let offers: Vec<OfferView> = daemon.owner().get("/v1/pairing/offers").await.ok();
        assert!(
            offers.iter().all(|offer| offer.state == "withdrawn"),
            "{offers:?}"
        );
    }
}

/// A shell with the environment of the daemon's commands.
fn shell_with(daemon: &TestDaemon, script: &str) -> tokio::process::Command {
    let mut shell = tokio::process::Command::new("/bin/sh");
    shell.env_clear().args(["-c", script]);
    let command = daemon.command(&[]);
    let set = command
        .as_std()
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    shell.envs(set);
    shell
}

/// The command on a terminal of 80 × 24, and the fragment of the link in the code that it shows.
async fn shown(daemon: &TestDaemon, arguments: &[&str]) -> (TerminalOf, String) {
    let terminal = TerminalOf::start(&daemon.command(arguments), 80, 24).await;
    let lines = terminal.until("a code", |lines| scanned(lines).is_some()).await;
    let fragment = scanned(&lines).unwrap();
    (terminal, fragment)
}

/// The fragment of the code that is shown instead of that one.
async fn another(terminal: &TerminalOf, than: &str) -> String {
    let is_other = |lines: &[String]| scanned(lines).is_some_and(|fragment| fragment != than);
    let lines = terminal.until("a fresh code", is_other).await;
    scanned(&lines).unwrap()
}

/// Lets the device in to the end of the command.
async fn pair(terminal: &TerminalOf, mut device: Pairing) {
    let code = device.ask().await;
    terminal.until_shows(&code.grouped()).await;
    terminal.until_shows("y  yes").await;
    terminal.types(b"y").await;
    let exchanged = device.exchange_when_approved().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.status, 204);
    assert_eq!(terminal.exit().await.code, Some(0));
}

/// The fragment of the link in the code on the screen.
fn scanned(lines: &[String]) -> Option<String> {
    let link = scan(lines)?;
    assert!(link.starts_with("HTTPS://"), "{link}");
    link.split_once("/pair#").map(|(_, fragment)| fragment.to_owned())
}

/// The fragment of the link in words, which goes on in the same column of the lines below.
fn link_on(lines: &[String]) -> Option<String> {
    let first = lines.iter().position(|line| line.contains("https://"))?;
    let before = lines[first].split("https://").next()?;
    let column = before.chars().count();
    let below = |line: &String| line.chars().skip(column).collect::<String>();
    let text: String = lines[first..].iter().map(below).collect();
    let fragment = text.split_once("/pair#")?.1;
    let end = fragment.find("sha256/")? + "sha256/".len() + 43;
    fragment.get(..end).map(str::to_owned)
}

fn turned(character: char) -> char {
    match character {
        '█' => ' ',
        ' ' => '█',
        '▀' => '▄',
        '▄' => '▀',
        other => other,
    }
}
