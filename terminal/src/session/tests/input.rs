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

/// Types numbered input as a connection does.
async fn types(writer: &crate::Writer, sequence: u64, bytes: &[u8]) {
    if let Some(input) = writer.take_in(sequence, bytes.to_vec()).unwrap() {
        soon(writer.queue(&input)).await.unwrap();
    }
}

#[tokio::test]
async fn numbered_input_that_comes_again_on_another_connection_is_typed_once() {
    let session = run("stty raw -echo; printf ready; exec head -c 10009").await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
    let client = [7; 16];
    assert_eq!(session.input_applied(client), None);
    assert_eq!(session.input_applied(client), Some(0));
    let long = [b'l'; 10_000];
    let first = session.writer_of(Arc::new(Right::default()), client);
    types(&first, 1, b"abc").await;
    types(&first, 2, &long).await;
    soon(first.applied().wait_for(|applied| *applied == 2))
        .await
        .unwrap();
    let second = session.writer_of(Arc::new(Right::default()), client);
    assert_eq!(
        [1, 2, 3].map(|sequence| second.has_taken(sequence)),
        [true, true, false]
    );
    types(&second, 1, b"abc").await;
    types(&second, 2, &long).await;
    types(&second, 3, b"def").await;
    let other = session.writer_of(Arc::new(Right::default()), [8; 16]);
    soon(second.applied().wait_for(|applied| *applied == 3))
        .await
        .unwrap();
    types(&other, 1, b"ghi").await;
    let seen = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    let expected = [b"readyabc", &long[..], b"defghi"].concat();
    assert!(seen == expected, "{}", String::from_utf8_lossy(&seen));
    assert_eq!(session.input_applied(client), Some(3));
}

#[tokio::test]
async fn a_long_message_is_typed_in_one_piece_whoever_else_types() {
    let session = run("stty raw -echo; printf ready; exec head -c 300006").await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
    let writer = |client| session.writer_of(Arc::new(Right::default()), [client; 16]);
    let (one, other, third) = (writer(7), writer(8), session.writer(Arc::new(Right::default())));
    let long = "l".repeat(300_000);
    let typing = async {
        tokio::join!(
            types(&one, 1, long.as_bytes()),
            types(&other, 1, b"abc"),
            third.write(b"def")
        )
    };
    let reading = read_to_end(session.attach(Mode::Lossless, Start::Screen));
    let (seen, (.., third)) = tokio::join!(reading, typing);
    third.unwrap();
    let seen = String::from_utf8(seen).unwrap();
    let pieces = [&long, "abc", "def"];
    assert_eq!(pieces.map(|piece| seen.contains(piece)), [true; 3]);
}

#[tokio::test]
async fn an_answer_waits_for_the_end_of_what_is_being_typed() {
    let script = r"stty raw -echo; printf ready; dd bs=1 count=1 >/dev/null 2>&1; printf '\033[6n'; exec head -c 20005";
    let session = run(script).await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
    let writer = session.writer_of(Arc::new(Right::default()), [7; 16]);
    types(&writer, 1, &[b'l'; 20_000]).await;
    let seen = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    let rest = [b'l'; 19_999];
    assert!(
        seen == [b"ready\x1b[6n", &rest[..], b"\x1b[1;6R"].concat(),
        "{} bytes",
        seen.len()
    );
}

#[tokio::test]
async fn an_interrupt_drops_what_its_writer_had_not_sent_yet_and_nobody_elses() {
    let script = "stty -echo; trap 'stty raw; printf INT; exec head -c 5' INT; printf ready; while :; do sleep 0.02; done";
    let session = run(script).await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
    let writer = session.writer_of(Arc::new(Right::default()), [7; 16]);
    let unsent = writer.take_in(1, b"unsent".to_vec()).unwrap().unwrap();
    types(&writer, 2, b"before\x03").await;
    soon(writer.queue(&unsent)).await.unwrap();
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "INT").await;
    types(&session.writer_of(Arc::new(Right::default()), [8; 16]), 1, b"oth").await;
    types(&writer, 3, b"er").await;
    let seen = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    assert_eq!(String::from_utf8_lossy(&seen), "readyINTother");
}

#[tokio::test]
async fn an_interrupt_reaches_a_program_that_does_not_read_what_others_type() {
    // Nobody reads what the other types.
    let script = "stty raw -echo isig; trap 'stty -isig; printf INT; exec cat >/dev/null' INT; printf ready; while :; do sleep 0.02; done";
    let session = run(script).await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
    let (one, other) = (
        session.writer_of(Arc::new(Right::default()), [7; 16]),
        session.writer_of(Arc::new(Right::default()), [8; 16]),
    );
    types(&other, 1, &[b'x'; 3_000]).await;
    types(&one, 1, b"\x03").await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "INT").await;
    session.stop().await;
}

#[tokio::test]
async fn an_interrupt_reaches_a_program_whose_terminal_is_full() {
    let script = "stty raw -echo isig; trap 'stty -isig; printf INT; exec cat >/dev/null' INT; printf ready; while :; do sleep 0.02; done";
    let session = run(script).await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
    let (one, other) = (
        session.writer_of(Arc::new(Right::default()), [7; 16]),
        session.writer_of(Arc::new(Right::default()), [8; 16]),
    );
    types(&other, 1, &[b'x'; 100_000]).await;
    types(&one, 1, b"\x03rest").await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "INT").await;
    soon(one.applied().wait_for(|applied| *applied == 1))
        .await
        .unwrap();
    session.stop().await;
}

#[tokio::test]
async fn an_interrupt_reaches_a_program_that_reads_no_answers() {
    let script = "stty raw -echo isig; trap 'stty -isig; printf INT; exec cat >/dev/null' INT; yes \"$(printf '\\033[6n')\" | head -n 30000; printf ready; while :; do sleep 0.02; done";
    let session = run(script).await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
    let writer = session.writer_of(Arc::new(Right::default()), [7; 16]);
    soon(session.drawn()).await;
    types(&writer, 1, b"\x03").await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "INT").await;
    session.stop().await;
}

#[tokio::test]
async fn a_number_that_cannot_be_is_refused() {
    let session = run("read x").await;
    let writer = session.writer_of(Arc::new(Right::default()), [7; 16]);
    for sequence in [0, u64::MAX] {
        assert_eq!(
            writer.take_in(sequence, vec![b'a']).unwrap_err(),
            crate::InputError::Malformed
        );
    }
    session.stop().await;
}

#[tokio::test]
async fn an_interrupt_does_not_wait_behind_what_a_terminal_holds_unread() {
    for modes in ["raw -echo isig", "raw echo isig", "sane"] {
        let script = format!(
            "stty {modes}; trap 'stty -isig; printf INT; exec cat >/dev/null' INT; printf ready; while :; do sleep 0.02; done"
        );
        let session = run(&script).await;
        read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
        let (one, other) = (
            session.writer_of(Arc::new(Right::default()), [7; 16]),
            session.writer_of(Arc::new(Right::default()), [8; 16]),
        );
        // More than it looks at before the program reads, and less than it refuses.
        types(&other, 1, &b"0123456789\n".repeat(600)).await;
        soon(other.applied().wait_for(|applied| *applied == 1))
            .await
            .unwrap();
        types(&one, 1, b"\x03").await;
        read_until(&mut session.attach(Mode::Lossless, Start::Screen), "INT").await;
        session.stop().await;
    }
}

#[tokio::test]
async fn an_interrupt_is_echoed_where_the_terminal_echoes() {
    let session = run("trap 'printf INT; exit 3' INT; printf ready; while :; do sleep 0.02; done").await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
    let writer = session.writer_of(Arc::new(Right::default()), [7; 16]);
    types(&writer, 1, b"\x03").await;
    let seen = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    assert_eq!(String::from_utf8_lossy(&seen), "ready^CINT");
}

#[tokio::test]
async fn an_interrupt_lets_output_go_on_that_was_stopped() {
    let script =
        "stty raw -echo isig ixon; trap 'printf INT; exit 3' INT; printf ready; while :; do sleep 0.02; done";
    let session = run(script).await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
    let writer = session.writer_of(Arc::new(Right::default()), [7; 16]);
    types(&writer, 1, b"\x13").await;
    soon(writer.applied().wait_for(|applied| *applied == 1))
        .await
        .unwrap();
    types(&writer, 2, b"\x03").await;
    let seen = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    assert_eq!(String::from_utf8_lossy(&seen), "readyINT");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_that_minds_no_interrupt_goes_on_behind_each() {
    let session = run("stty raw -echo isig; trap '' INT; printf ready; exec yes").await;
    read_until(&mut session.attach(Mode::Lossless, Start::Screen), "ready").await;
    let writer = session.writer_of(Arc::new(Right::default()), [7; 16]);
    let mut changes = session.changes();
    for sequence in 1..=100 {
        types(&writer, sequence, b"\x03").await;
        soon(writer.applied().wait_for(|applied| *applied == sequence))
            .await
            .unwrap();
        // More than was on its way.
        let end = session.end();
        soon(async {
            while session.end().since(end) < 128 * 1024 {
                changes.changed().await;
            }
        })
        .await;
    }
    session.stop().await;
}
