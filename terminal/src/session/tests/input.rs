//! Typing: in order, and only as long as the gate lets.

use std::future::Future;

use super::{Arc, Mode, Ordering, Right, Start, read_to_end, read_until, run, soon};

#[tokio::test]
async fn input_arrives_in_order() {
    let session = run("stty raw -echo; printf ready; exec head -c 60000").await;
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    read_until(&mut attachment, "ready").await;
    let writer = session.writer(Arc::new(Right::default()));
    let typed: String = (0..10_000).map(|number| format!("{number:05} ")).collect();
    let typing = async {
        for word in typed.as_bytes().chunks(7) {
            writer.write(word).await.unwrap();
        }
    };
    let (seen, ()) = tokio::join!(read_to_end(session.attach(Mode::Lossless, Start::Screen)), typing);
    assert_eq!(String::from_utf8(seen).unwrap(), format!("ready{typed}"));
}

#[tokio::test]
async fn input_that_was_queued_before_a_revocation_is_never_delivered() {
    // A program that does not read: the terminal is full soon, and the rest waits in the queue.
    let session = run("stty raw -echo; printf ready; read line </dev/null; tail -f /dev/null & wait").await;
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    read_until(&mut attachment, "ready").await;
    let (first, second) = (Arc::new(Right::default()), Arc::new(Right::default()));
    let revoked = session.writer(first.clone());
    soon(revoked.write(&[b'x'; 100_000])).await.unwrap();
    first.is_revoked.store(true, Ordering::SeqCst);
    let passed = first.passed.load(Ordering::SeqCst);
    let other = session.writer(second.clone());
    soon(other.write(b"y")).await.unwrap();
    session.stop().await;
    assert_eq!(first.passed.load(Ordering::SeqCst), passed);
}

#[tokio::test]
async fn a_closed_gate_lets_others_type() {
    let session = run("stty raw -echo; printf ready; exec head -c 3").await;
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    read_until(&mut attachment, "ready").await;
    let right = Arc::new(Right::default());
    right.is_revoked.store(true, Ordering::SeqCst);
    soon(session.writer(right).write(b"no")).await.unwrap();
    soon(session.writer(Arc::new(Right::default())).write(b"yes"))
        .await
        .unwrap();
    let seen = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    assert_eq!(seen, b"readyyes");
}

#[tokio::test]
async fn discarded_input_is_not_delivered() {
    let session = run("stty raw -echo; printf ready; exec head -c 1").await;
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    read_until(&mut attachment, "ready").await;
    let writer = session.writer(Arc::new(Right::default()));
    // No await lets the session's task in between.
    let queued = writer.write(b"a");
    tokio::pin!(queued);
    assert!(
        std::future::poll_fn(|context| std::task::Poll::Ready(queued.as_mut().poll(context).is_ready()))
            .await
    );
    writer.discard();
    soon(writer.write(b"b")).await.unwrap();
    let seen = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    assert_eq!(seen, b"readyb");
}

#[tokio::test]
async fn a_session_ends_with_its_program_though_the_terminal_is_full_of_unread_input() {
    let session = run("stty raw -echo; printf ready; tail -f /dev/null & wait").await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
    let writer = session.writer(Arc::new(Right::default()));
    soon(writer.write(&[b'x'; 100_000])).await.unwrap();
    soon(session.stop()).await;
    assert!(session.state().borrow().exit().is_some());
}
