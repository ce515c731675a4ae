//! Where an attachment starts, and how far it goes without a word.

use std::time::Duration;

use super::{Attachment, Mode, Offset, Session, Size, Start, Update, exit, read_to_end, run, soon};

async fn written(bytes: u32) -> Session {
    let session = run(&format!("yes | head -c {bytes} | tr -d '\\n' | tr y x")).await;
    exit(&session).await;
    session
}

/// Output bytes that come without an acknowledgement.
async fn window(attachment: &mut Attachment) -> usize {
    let mut received = 0;
    while let Ok(Some(update)) = tokio::time::timeout(Duration::ZERO, attachment.next()).await {
        match update {
            Update::Output { bytes, .. } => received += bytes.len(),
            update => panic!("{update:?}"),
        }
    }
    received
}

#[tokio::test]
async fn a_window_is_all_that_comes_without_a_word() {
    let session = written(1_600_000).await;
    assert_eq!(session.end(), Offset(800_000));
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    assert_eq!(window(&mut attachment).await, 512 * 1024);
    attachment.acked(Offset(1_000));
    assert_eq!(window(&mut attachment).await, 1_000);
    let acks = attachment.acks();
    let acknowledging = tokio::spawn(async move { acks.acked(Offset(500_000)) });
    assert!(matches!(
        soon(attachment.next()).await,
        Some(Update::Output { .. })
    ));
    acknowledging.await.unwrap();
}

#[tokio::test]
async fn a_viewer_that_missed_more_than_a_window_gets_a_snapshot() {
    let session = written(1_600_000).await;
    let end = session.end();
    let mut close = session.attach(Mode::View, Start::Offset(end.minus(512 * 1024)));
    assert!(matches!(soon(close.next()).await, Some(Update::Output { .. })));
    let mut far = session.attach(Mode::View, Start::Offset(end.minus(512 * 1024 + 1)));
    assert!(matches!(soon(far.next()).await, Some(Update::Snapshot(_))));
}

#[tokio::test]
async fn a_recording_starts_where_it_is_told() {
    let session = run("printf 0123456789").await;
    exit(&session).await;
    let mut attachment = session.attach(Mode::Lossless, Start::Offset(Offset(7)));
    let rest = Update::Output {
        offset: Offset(7),
        bytes: b"789".to_vec(),
    };
    assert_eq!(soon(attachment.next()).await, Some(rest));
    let all = read_to_end(session.attach(Mode::Lossless, Start::Offset(Offset::START))).await;
    assert_eq!(all, b"0123456789");
}

#[tokio::test]
async fn sizes_come_at_their_offsets_also_to_who_comes_back() {
    let session = run("printf 0123; read a; printf 4567; read b").await;
    let mut first = session.attach(Mode::Lossless, Start::Screen);
    super::read_until(&mut first, "0123").await;
    session.resize(Size::new(50, 5));
    session.resize(Size::new(60, 6));
    let writer = session.writer(std::sync::Arc::new(super::Right::default()));
    soon(writer.write(b"\n")).await.unwrap();
    super::read_until(&mut first, "4567").await;
    let mut again = session.attach(Mode::Lossless, Start::Offset(Offset(2)));
    let updates = [
        soon(again.next()).await,
        soon(again.next()).await,
        soon(again.next()).await,
    ];
    let at = Offset(4);
    assert_eq!(
        updates,
        [
            Some(Update::Output {
                offset: Offset(2),
                bytes: b"23".to_vec()
            }),
            Some(Update::Size {
                offset: at,
                size: Size::new(50, 5)
            }),
            Some(Update::Size {
                offset: at,
                size: Size::new(60, 6)
            }),
        ]
    );
    session.stop().await;
}

#[tokio::test]
async fn many_viewers_at_different_speeds_each_get_every_byte() {
    let session = run("seq 1 20000").await;
    let readers: Vec<_> = (0..10)
        .map(|_| tokio::spawn(read_to_end(session.attach(Mode::Lossless, Start::Screen))))
        .collect();
    let expected: String = (1..=20_000).map(|number| format!("{number}\r\n")).collect();
    for reader in readers {
        assert_eq!(String::from_utf8(soon(reader).await.unwrap()).unwrap(), expected);
    }
}
