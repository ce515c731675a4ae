//! Whom the keeper serves, and what it does with what is no message.

use std::os::fd::OwnedFd;
use std::time::Duration;

use proptest::prelude::{Strategy, any};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::{TestKeeper, exit, id, shell, soon, until};
use crate::keeper::Origin;
use crate::keeper::message::{Refusal, Reply, Request, Versions};
use crate::keeper::packet;
use crate::keeper::start::connect_to;
use crate::process::PeerProcess;

/// Says hello to the keeper and prints its answer in hexadecimal digits.
const HELLO: &str = r#"perl -MSocket -e '
    socket(S, AF_UNIX, SOCK_SEQPACKET, 0); connect(S, pack_sockaddr_un($ARGV[0])) or die;
    send(S, "\x01\x01\x00\x01\x00", 0); recv(S, $b, 64, 0); print unpack("H*", $b), "\n"'"#;

#[tokio::test]
async fn a_sessions_program_is_refused_also_when_it_left_its_parents() {
    let mut keeper = TestKeeper::start().await;
    let socket = keeper.options.socket.display().to_string();
    let folder = tempfile::tempdir().unwrap();
    for (number, how) in [(1, "sh -c"), (2, "setsid -f sh -c")] {
        let said = folder.path().join(number.to_string());
        let script = HELLO.replace('\'', "'\\''");
        let command = format!("{how} '{script} {socket} > {}' ; read line", said.display());
        drop(keeper.spawn(number, &command).await);
        // While a daemon is served, nobody else is answered.
        keeper.hang_up();
        until("the program is answered", || {
            std::fs::read_to_string(&said).is_ok_and(|text| text.ends_with('\n'))
        })
        .await;
        let expected = Reply::Refused(Refusal::Inside).encode();
        let expected: String = expected
            .bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(std::fs::read_to_string(&said).unwrap().trim(), expected);
        keeper.connect().await;
    }
}

#[tokio::test]
async fn whatever_is_sent_the_keeper_goes_on() {
    let mut keeper = TestKeeper::start().await;
    let held = keeper.spawn(1, "read line; exit 9").await;
    keeper.hang_up();
    let mut runner = TestRunner::deterministic();
    let packets = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..80), 1..6);
    for greets in [false, true].repeat(40) {
        let socket = connect(&keeper).await;
        if greets {
            send(&socket, Request::Hello(Versions::OURS).encode().bytes());
        }
        for packet in packets.new_tree(&mut runner).unwrap().current() {
            // A signal to the program would be no fault.
            if packet[0] != 0x05 {
                send(&socket, &packet);
            }
        }
    }
    keeper.connect().await;
    let again = keeper.client().adopt(id(1)).await.ok();
    // Nothing but its own id names the session, so it was not forgotten.
    let held = again.unwrap_or(held);
    rustix::io::write(&held.master, b"\n").unwrap();
    assert_eq!(exit(&held).await.unwrap().code, Some(9));
}

#[tokio::test]
async fn who_says_nothing_is_not_waited_for() {
    let mut keeper = TestKeeper::start().await;
    drop(keeper.spawn(1, "read line").await);
    keeper.hang_up();
    let _silent = connect_to(&keeper.options.socket)
        .unwrap()
        .expect("the keeper is there");
    let begun = std::time::Instant::now();
    keeper.connect().await;
    assert!(begun.elapsed() < Duration::from_secs(9));
}

#[tokio::test]
async fn a_process_is_known_by_the_reaper_that_it_descends_from() {
    let keeper = TestKeeper::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let connect = format!(
        "perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => \"{}\") or die; sleep 999'",
        path.display()
    );
    let _held = keeper.spawn(1, &format!("setsid -f {connect}; read line")).await;
    let accepting = tokio::task::spawn_blocking(move || listener.accept().unwrap().0);
    let inside = peer(&soon(accepting).await.unwrap().into());
    assert_eq!(keeper.client().origin(&inside, &[]), Origin::Inside(id(1)));
    let (own, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    assert_eq!(keeper.client().origin(&peer(&own.into()), &[]), Origin::Outside);
    let missing = shell("exit").env.len();
    assert_eq!(
        missing, 1,
        "nothing tells a program of its session but its parents"
    );
}

fn peer(socket: &OwnedFd) -> PeerProcess {
    let credentials = rustix::net::sockopt::socket_peercred(socket).unwrap();
    PeerProcess::of(socket, credentials.pid.as_raw_pid()).expect("it lives")
}

/// Connects; while too many wait already, again.
async fn connect(keeper: &TestKeeper) -> OwnedFd {
    loop {
        match connect_to(&keeper.options.socket) {
            Ok(socket) => return socket.expect("the keeper is there"),
            Err(_too_many) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

fn send(socket: &OwnedFd, bytes: &[u8]) {
    // It may have been refused before.
    packet::send(socket, bytes, None).ok();
}
