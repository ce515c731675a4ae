//! Attachments of several people: who is there, and whose size it is.

use harness::TestDaemon;
use pairing::Role;
use protocol::{
    attach::{ClientMessage, Mode, ServerMessage},
    sessions::Size,
};

fn size(columns: u16, rows: u16) -> (ClientMessage, Size) {
    (ClientMessage::Size { columns, rows }, Size { columns, rows })
}

#[tokio::test]
async fn everybody_is_told_who_is_there_at_each_change() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("echo ready; read x").await;
    let device = daemon.device(Role::Operator).await;
    let mut viewer = owner.attach(&session.id, Mode::View, "0").await;
    assert!(viewer.until_present(1, 0).await.typing.is_empty());
    let mut writer = owner.attach(&session.id, Mode::Write, "0").await;
    let mut remote = device.attach(&session.id, Mode::Write, "0").await;
    let told = remote.until_present(1, 2).await;
    assert_eq!(told.typing.len(), 2);
    let label = "a test's phone";
    assert_eq!(told.typing[0], label, "people are told what a device is called");
    assert_ne!(told.typing[1], label);
    assert_eq!(
        writer.until_present(1, 2).await.typing[0],
        told.typing[1],
        "one's own name comes first"
    );
    drop(viewer);
    writer.until_present(0, 2).await;
    drop(remote);
    assert_eq!(writer.until_present(0, 1).await.typing, [told.typing[1].clone()]);
}

#[tokio::test]
async fn a_ping_is_answered() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("echo ready; read x").await;
    let mut viewer = daemon.owner().attach(&session.id, Mode::View, "0").await;
    viewer.until("ready").await;
    viewer.send(&ClientMessage::Ping { number: 77 }).await;
    while viewer.next().await.expect("it is open") != (ServerMessage::Pong { number: 77 }) {}
}

#[tokio::test]
async fn a_page_gets_the_size_when_its_person_says_so_and_gives_it_back() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("echo ready; read x").await;
    let device = daemon.device(Role::Operator).await;
    let mut terminal = owner.attach(&session.id, Mode::Write, "0").await;
    let (offer, desktop) = size(160, 40);
    terminal.send(&offer).await;
    terminal.until_size(desktop).await;
    let mut page = device.attach_like_a_browser(&session.id, Mode::Write, "0").await;
    let (offer, phone) = size(50, 20);
    page.until("ready").await;
    page.send(&offer).await;
    page.send(&ClientMessage::Claim).await;
    let told = terminal.until_claim(|claim| claim.taken_from).await;
    assert!(!told.holder && told.by.is_some(), "{told:?}");
    terminal.until_size(phone).await;
    page.send(&ClientMessage::Yield).await;
    let told = terminal.until_claim(|claim| claim.holder).await;
    assert!(!told.taken_from);
    page.until_size(desktop).await;
    assert!(
        !page.until_claim(|claim| !claim.holder).await.taken_from,
        "it was given, not taken"
    );
}

#[tokio::test]
async fn who_lost_the_size_is_told_once() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("echo ready; read x").await;
    let device = daemon.device(Role::Operator).await;
    let mut terminal = owner.attach(&session.id, Mode::Write, "0").await;
    let (offer, desktop) = size(160, 40);
    terminal.send(&offer).await;
    terminal.until_size(desktop).await;
    let mut page = device.attach_like_a_browser(&session.id, Mode::Write, "0").await;
    page.send(&size(50, 20).0).await;
    for _ in 0..2 {
        page.send(&ClientMessage::Claim).await;
        terminal.until_claim(|claim| claim.taken_from).await;
        for (offer, now) in [size(60, 20), size(50, 20)] {
            page.send(&offer).await;
            terminal.until_size(now).await;
            let told = terminal.until_claim(|_| true).await;
            assert!(!told.taken_from && !told.holder && told.by.is_some(), "{told:?}");
        }
        page.send(&ClientMessage::Yield).await;
        terminal.until_claim(|claim| claim.holder).await;
    }
}

#[tokio::test]
async fn a_viewer_that_asks_for_the_size_changes_nothing() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("echo ready; read x; stty size").await;
    let mut viewer = owner.attach(&session.id, Mode::View, "0").await;
    viewer.until("ready").await;
    viewer.send(&size(40, 10).0).await;
    viewer.send(&ClientMessage::Claim).await;
    let visibility = ClientMessage::Visibility {
        visible: false,
        at_live_edge: false,
    };
    viewer.send(&visibility).await;
    viewer.send(&ClientMessage::Ping { number: 1 }).await;
    while viewer.next().await.expect("it is open") != (ServerMessage::Pong { number: 1 }) {}
    let mut writer = owner.attach(&session.id, Mode::Write, "0").await;
    writer.send_input(b"\r").await;
    writer.until("30 100").await;
}

#[tokio::test]
async fn who_does_not_look_gets_everything_all_the_same() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let script = "read x; i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i; done; read x";
    let session = owner.shell(script).await;
    let mut hidden = owner.attach(&session.id, Mode::Write, "0").await;
    let visibility = ClientMessage::Visibility {
        visible: false,
        at_live_edge: true,
    };
    hidden.send(&visibility).await;
    hidden.send_input(b"\r").await;
    hidden.until("\r\n300\r\n").await;
    let numbers: Vec<u32> = hidden
        .text()
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect();
    assert_eq!(numbers, (1..=300).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_interrupt_reaches_a_flooding_program_past_what_its_writer_pasted_before() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    // A shell's background program does not mind an interrupt.
    let script = "stty raw -echo isig; trap 'stty -isig; echo INTERRUPTED; exit 9' INT; echo ready; \
                  head -c 1 >/dev/null; yes flood & wait";
    let session = owner.shell(script).await;
    // Before the flood, behind which it would get a screen of that and nothing more.
    let mut stalled = owner.attach(&session.id, Mode::View, "0").await.without_acks();
    stalled.until("ready").await;
    let mut writer = owner.attach(&session.id, Mode::Write, "screen").await;
    writer.send_input(b"g").await;
    writer.until("flood").await;
    writer.send_input(b"some words first").await;
    writer.send_input(b"\x03").await;
    assert_eq!(writer.until_exit().await.code, Some(9));
    drop(stalled);
}
