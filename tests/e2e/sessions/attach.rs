//! `GET /v1/sessions/{id}/attach`.

use harness::{Pacer, TestDaemon, descendants, open_files, until};
use pairing::Role;
use protocol::{
    attach::{CLOSE_GONE, CLOSE_NOT_PERMITTED, CLOSE_REVOKED, ClientMessage, Mode, ServerMessage},
    sessions::Size,
};

#[tokio::test]
async fn a_viewer_that_attaches_late_gets_every_byte_and_the_exit_code_a_hundred_times() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    // The first session starts the keeper, to which the daemon stays connected.
    let first = owner.shell("exit").await;
    owner.ended(&first.id).await;
    let open_before = settled(&daemon).await;
    for _ in 0..100 {
        let session = owner.shell("printf x; exit 7").await;
        let mut late = owner.attach(&session.id, Mode::View, "0").await;
        let exit = late.until_exit().await;
        assert_eq!(
            (late.text().as_str(), exit.code, exit.signal),
            ("x", Some(7), None)
        );
    }
    until("no zombie", || async {
        (descendants(daemon.pid()).is_empty() && daemon.programs().is_empty()).then_some(())
    })
    .await;
    // The list of connections settles a moment after the last client has gone.
    until("no leaked descriptor", || async {
        (open_files(daemon.pid()).len() <= open_before).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_attachment_begins_with_hello_and_a_snapshot_and_goes_on_from_its_ground_offset() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner
        .shell("i=0; while [ $i -lt 4000 ]; do i=$((i+1)); echo line-$i; done; read x")
        .await;
    let mut numbers = Vec::new();
    for _ in 0..20 {
        let mut attached = owner.attach(&session.id, Mode::View, "screen").await;
        assert!(matches!(attached.next().await, Ok(ServerMessage::Hello(_))));
        assert!(matches!(
            attached.next().await,
            Ok(ServerMessage::Snapshot { .. })
        ));
        attached.until("line-4000").await;
        let lines = attached.screen_lines();
        numbers.clear();
        numbers.extend(
            lines
                .iter()
                .filter_map(|line| line.strip_prefix("line-")?.parse::<u32>().ok()),
        );
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{lines:?}");
        assert_eq!(numbers.last(), Some(&4000));
    }
}

#[tokio::test]
async fn under_a_program_that_never_stops_output_joins_the_snapshot_without_loss_or_double() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let pacer = Pacer::start(daemon.folder(), 1);
    let script = format!(
        "exec 3<{}; i=0; while read x <&3; do for n in 1 2 3 4 5 6 7 8 9 10; do i=$((i+1)); echo line-$i; done; done",
        pacer.gate(0).path().display()
    );
    let session = owner.shell(&script).await;
    for _ in 0..20 {
        let mut attached = owner.attach(&session.id, Mode::View, "screen").await;
        // What the last snapshot shows, and what came since.
        let (mut text, mut beyond) = (String::new(), 0);
        while attached.snapshots() == 0 || beyond < 1_000 {
            match attached.next().await.unwrap() {
                ServerMessage::Snapshot { size, bytes, .. } => {
                    let mut screen = terminal::screen(terminal::Size::new(size.columns, size.rows));
                    screen.feed(&bytes);
                    text = screen.text_lines()[..=usize::from(screen.cursor().1)].join("\n");
                    beyond = 0;
                }
                ServerMessage::Output { bytes, .. } => {
                    let more = String::from_utf8(bytes).unwrap();
                    beyond += more.matches('\n').count();
                    text.push_str(&more);
                }
                _ => {}
            }
        }
        let whole = text.rsplit_once('\n').unwrap().0;
        let numbers: Vec<u32> = whole
            .lines()
            .map(|line| line.trim_end().strip_prefix("line-").unwrap().parse().unwrap())
            .collect();
        assert!(numbers.len() >= 1_000 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
    }
}

#[tokio::test]
async fn after_the_programs_end_an_attachment_is_closed_and_no_longer_counted() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read line; exit 3").await;
    let mut writer = owner.attach(&session.id, Mode::Write, "0").await;
    writer.send_input(b"\r").await;
    assert_eq!(writer.until_exit().await.code, Some(3));
    assert_eq!(writer.until_closed().await, 1000);
    until("nobody to be left", || async {
        (owner.session(&session.id).await.writers == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn resuming_at_an_offset_gives_exactly_what_was_missed() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner
        .shell("echo one; read x; echo two; read x; echo three")
        .await;
    let mut first = owner.attach(&session.id, Mode::Write, "0").await;
    first.until("one\r\n").await;
    let seen = first.output().len();
    first.send_input(b"\r").await;
    first.until("two").await;
    let mut second = owner.attach(&session.id, Mode::Write, &seen.to_string()).await;
    second.send_input(b"\r").await;
    second.until_exit().await;
    first.until_exit().await;
    assert_eq!(second.snapshots(), 0);
    assert_eq!(&first.output()[seen..], second.output());
}

#[tokio::test]
async fn an_offset_beyond_the_end_is_answered_with_a_snapshot() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("echo here; read x").await;
    let mut attached = daemon.owner().attach(&session.id, Mode::View, "999999").await;
    attached.until("here").await;
    assert!(attached.snapshots() > 0);
}

#[tokio::test]
async fn what_a_viewer_sends_never_reaches_the_program() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read line; echo got:$line:").await;
    let viewer = daemon.device(Role::Viewer).await;
    let refused = viewer.try_attach(&session.id, Mode::Write, "0").await;
    let code = match refused {
        Ok(mut attached) => attached.until_closed().await,
        Err(answer) => panic!("a write attach of a viewer is closed, not refused at the door: {answer:?}"),
    };
    assert_eq!(code, CLOSE_NOT_PERMITTED);
    // Looking is allowed; typing all the same goes nowhere.
    let mut looking = viewer.attach(&session.id, Mode::View, "0").await;
    looking.send_input(b"evil\r").await;
    let mut browser = viewer.attach_like_a_browser(&session.id, Mode::View, "0").await;
    browser.send_input(b"evil\r").await;
    let mut writer = daemon.owner().attach(&session.id, Mode::Write, "0").await;
    writer.send_input(b"good\r").await;
    writer.until("got:good:").await;
}

#[tokio::test]
async fn a_browser_that_says_nothing_or_a_wrong_token_is_closed_as_unauthenticated() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read x").await;
    let device = daemon.device(Role::Viewer).await;
    let mut wrong = device
        .attach_with_first_frame(&session.id, "tsm_dev_nonsense")
        .await;
    assert_eq!(wrong.until_closed().await, CLOSE_REVOKED);
    let token = device.access().await;
    let mut cut = device
        .attach_with_first_frame(&session.id, &token[..token.len() - 1])
        .await;
    assert_eq!(cut.until_closed().await, CLOSE_REVOKED);
    // The token of a device with a key is none of these, and opens as little.
    let mut unproven = device.attach_with_first_frame(&session.id, device.token()).await;
    assert_eq!(
        unproven.until_closed_for().await,
        (CLOSE_REVOKED, "proof_required".to_owned())
    );
}

#[tokio::test]
async fn attaching_to_what_is_not_there_closes_with_gone() {
    let daemon = TestDaemon::start().await;
    let mut attached = daemon
        .owner()
        .attach("ses_00000000000000ff", Mode::View, "screen")
        .await;
    assert_eq!(attached.until_closed().await, CLOSE_GONE);
}

#[tokio::test]
async fn a_gap_that_reaches_the_end_is_told_before_the_exit() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("seq 1 100; exit 7").await;
    let end = owner.ended(&session.id).await.end;
    let folder = daemon.folder().join("sessions").join(&session.id);
    // Until the disk has all of it, the memory does as well.
    until("the gap to be told", || async {
        let files = std::fs::read_dir(&folder).unwrap().flatten();
        let segments = files.map(|file| file.path());
        let segments = segments.filter(|path| path.extension().is_some_and(|ending| ending == "seg"));
        segments.for_each(|path| std::fs::remove_file(path).unwrap());
        let mut attached = owner.attach(&session.id, Mode::Lossless, "0").await;
        let mut told = false;
        while let Ok(message) = attached.next().await {
            told |= matches!(message, ServerMessage::Output { offset, bytes } if offset == end && bytes.is_empty());
        }
        assert_eq!(attached.until_exit().await.code, Some(7));
        told.then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_newest_writer_with_a_terminal_sets_the_size_and_the_former_is_told() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner
        .shell("trap 'stty size' WINCH; echo ready; while :; do read x; done")
        .await;
    let mut first = owner.attach(&session.id, Mode::Write, "0").await;
    first.until("ready").await;
    first
        .send(&ClientMessage::Size {
            columns: 120,
            rows: 40,
        })
        .await;
    first
        .until_size(Size {
            columns: 120,
            rows: 40,
        })
        .await;
    let mut second = owner.attach(&session.id, Mode::Write, "screen").await;
    second
        .send(&ClientMessage::Size {
            columns: 70,
            rows: 20,
        })
        .await;
    let told = first.until_claim(|claim| claim.taken_from).await;
    assert!(!told.holder && told.by.is_some(), "{told:?}");
    first
        .until_size(Size {
            columns: 70,
            rows: 20,
        })
        .await;
    drop(second);
    first
        .until_size(Size {
            columns: 120,
            rows: 40,
        })
        .await;
}

#[tokio::test]
async fn a_viewer_and_a_browser_never_change_the_size() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("echo ready; read x; stty size").await;
    let operator = daemon.device(Role::Operator).await;
    let mut viewer = operator.attach(&session.id, Mode::View, "0").await;
    let mut browser = operator
        .attach_like_a_browser(&session.id, Mode::Write, "0")
        .await;
    for attached in [&mut viewer, &mut browser] {
        attached.until("ready").await;
        attached
            .send(&ClientMessage::Size {
                columns: 40,
                rows: 10,
            })
            .await;
    }
    browser.send_input(b"\r").await;
    browser.until("30 100").await;
}

#[tokio::test]
async fn wide_characters_and_colours_survive_the_snapshot() {
    let daemon = TestDaemon::start().await;
    let script = "printf '\\033[1;31mred\\033[0m 한글 e\\314\\201 \\360\\237\\221\\251|\\n'; read x";
    let session = daemon.owner().shell(script).await;
    daemon
        .owner()
        .attach(&session.id, Mode::View, "0")
        .await
        .until("|")
        .await;
    let mut attached = daemon.owner().attach(&session.id, Mode::View, "screen").await;
    attached.until("red").await;
    assert_eq!(attached.screen_lines()[0], "red 한글 e\u{301} 👩|");
    assert!(attached.text().contains("\x1b["), "colours are in it");
}

#[tokio::test]
async fn a_message_that_is_not_of_the_protocol_ends_the_attachment_and_nothing_else() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read line; echo got $line").await;
    let mut bad = owner.attach(&session.id, Mode::Write, "0").await;
    bad.send_raw(b"\x7fnonsense").await;
    assert_eq!(bad.until_closed().await, 1002);
    let mut good = owner.attach(&session.id, Mode::Write, "0").await;
    good.send_input(b"it\r").await;
    good.until("got it").await;
}

#[tokio::test]
async fn a_writer_that_leaves_while_the_program_takes_no_input_is_counted_no_more() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("stty raw -echo; echo ready; sleep 600").await;
    let operator = daemon.device(Role::Operator).await;
    let mut writer = operator.attach(&session.id, Mode::Write, "0").await;
    writer.until("ready").await;
    // More than the terminal and the queue before it take, less than what keeps the client's own end on its machine.
    for _ in 0..6 {
        writer.send_input(&[b'x'; 64 * 1024]).await;
    }
    assert_eq!(owner.session(&session.id).await.writers, 1);
    drop(writer);
    until("nobody types", || async {
        (owner.session(&session.id).await.writers == 0).then_some(())
    })
    .await;
}

/// How many descriptors a daemon has open once nothing is left of its sessions but what the disk keeps.
async fn settled(daemon: &TestDaemon) -> usize {
    until("nothing to be left of the sessions", || async {
        let files = open_files(daemon.pid());
        let is_of_a_session = |file: &String| {
            ["memfd:", "/cgroup", "ptmx", "/sessions/"]
                .iter()
                .any(|part| file.contains(part))
        };
        (!files.iter().any(is_of_a_session)).then_some(files.len())
    })
    .await
}
