use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Attachment, Mode, Offset, Start, Step, Update};
use crate::{Command, Session, Size, keeper};

/// A session whose program has ended, or waits, and wrote so many bytes.
async fn wrote(script: &str, bytes: u64) -> Session {
    let command = Command {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        env: Vec::new(),
        size: Size::default(),
        descriptor_limit: None,
    };
    let session = keeper::tests::run(command).await.unwrap();
    let mut changes = session.changes();
    let drawn = async {
        while session.shared.drawn.borrow().seen < Offset(bytes) {
            changes.changed().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), drawn)
        .await
        .unwrap();
    session
}

fn delivered(step: Step) -> Update {
    match step {
        Step::Deliver(update) => update,
        _ => panic!("there is something to deliver"),
    }
}

fn output(attachment: &mut Attachment, now: Instant) -> Vec<u8> {
    match delivered(attachment.step(false, now)) {
        Update::Output { bytes, .. } => bytes,
        update => panic!("{update:?}"),
    }
}

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn an_acknowledgement_that_comes_before_the_wait_for_it_is_seen() {
    let session = wrote("yes | head -c 700000", 1_050_000).await;
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    let version = loop {
        match attachment.step(true, Instant::now()) {
            Step::WaitForAck { version } => break version,
            Step::Deliver(_) => {}
            _ => panic!("the window ends before the output does"),
        }
    };
    // The client's last word, while the attachment is between its look and its wait.
    attachment.acked(attachment.offset());
    let waited = tokio::time::timeout(Duration::from_secs(60), attachment.acks.moved_beyond(version));
    waited.await.unwrap();
}

#[tokio::test]
async fn what_is_drawn_in_one_goes_out_in_one_or_in_time() {
    let began = Instant::now();
    let session = wrote("printf 'a\\033[?2026hb'; read x", 10).await;
    let mut attachment = session.attach(Mode::View, Start::Offset(Offset::START));
    assert_eq!(output(&mut attachment, began), b"a");
    assert!(matches!(
        attachment.step(false, began),
        Step::WaitForOutput { until: Some(_) }
    ));
    assert_eq!(output(&mut attachment, began + HOUR), b"\x1b[?2026hb");
    let mut lossless = session.attach(Mode::Lossless, Start::Screen);
    assert_eq!(output(&mut lossless, began), b"a\x1b[?2026hb");
    let mut ended = session.attach(Mode::View, Start::Offset(Offset::START));
    assert!(matches!(
        delivered(ended.step(true, began)),
        Update::Output { bytes, .. } if bytes.len() == 10
    ));
    session.stop().await;
}

#[tokio::test]
async fn an_update_whose_beginning_was_sent_before_it_was_known_goes_on_in_one() {
    let began = Instant::now();
    let session = wrote(
        "stty -echo; printf 'a\\033[?20'; read x; printf '26hb'; read y",
        6,
    )
    .await;
    let mut attachment = session.attach(Mode::View, Start::Offset(Offset::START));
    assert_eq!(output(&mut attachment, began), b"a\x1b[?20");
    let writer = session.writer(Arc::new(Anyone));
    writer.write(b"\n").await.unwrap();
    let mut output_came = session.shared.output.subscribe();
    while session.end() < Offset(10) {
        output_came.changed().await.unwrap();
    }
    assert!(matches!(
        attachment.step(false, began),
        Step::WaitForOutput { until: Some(_) }
    ));
    assert_eq!(output(&mut attachment, began + HOUR), b"26hb");
    session.stop().await;
}

/// Lets everything through.
struct Anyone;

impl crate::Gate for Anyone {
    fn pass(&self, write: &mut dyn FnMut()) -> bool {
        write();
        true
    }
}

#[tokio::test]
async fn who_does_not_look_is_sent_little_and_everything_once_it_looks() {
    let session = wrote("yes | head -c 66 | tr -d '\\n' | tr y x", 33).await;
    let mut attachment = session.attach(Mode::View, Start::Offset(Offset::START));
    attachment.acks().visible(false);
    let now = Instant::now();
    attachment.delivered_at = Some(now);
    assert!(matches!(attachment.step(false, now), Step::Pause { .. }));
    assert_eq!(output(&mut attachment, now + HOUR).len(), 33);
    attachment.cursor = Offset::START;
    assert!(matches!(attachment.step(false, now + HOUR), Step::Pause { .. }));
    attachment.acks().visible(true);
    assert_eq!(output(&mut attachment, now + HOUR).len(), 33);
}

#[tokio::test]
async fn a_late_viewer_draws_what_it_has_then_gets_one_snapshot_and_nothing_behind_that_until_it_is_drawn() {
    let session = wrote("yes | head -c 200000", 300_000).await;
    let mut attachment = session.attach(Mode::View, Start::Offset(Offset::START));
    let now = Instant::now();
    while let Step::Deliver(_) = attachment.step(true, now) {}
    let sent = attachment.offset();
    assert_eq!(
        sent,
        Offset(16 * 1024),
        "a viewer of which nothing is known gets little"
    );
    // 10 KB in a second.
    attachment.acks.ack(Offset(10_000), now + Duration::from_secs(1));
    let later = now + Duration::from_secs(1);
    assert!(matches!(attachment.step(true, later), Step::WaitForAck { .. }));
    attachment.acks.ack(sent, later);
    assert!(matches!(attachment.step(true, later), Step::Again));
    let Update::Snapshot(snapshot) = delivered(attachment.step(true, later)) else {
        panic!("a snapshot stands for the backlog");
    };
    assert_eq!(snapshot.ground, session.end());
    assert!(matches!(attachment.step(true, later), Step::WaitForAck { .. }));
    attachment.acks.ack(snapshot.ground, later);
    assert!(matches!(
        attachment.step(true, later),
        Step::WaitForOutput { until: None }
    ));
}
