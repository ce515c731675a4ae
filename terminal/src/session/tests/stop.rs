//! Ending a program and what it started.

use std::net::{TcpListener, TcpStream};

use super::{Mode, Start, exit, read_until, run, soon};

/// A server in the background that lets SIGHUP and SIGTERM pass and prints its port.
const SERVER: &str = r#"exec perl -MIO::Socket::INET -e '
    $SIG{HUP} = $SIG{TERM} = "IGNORE" if $ARGV[0];
    $s = IO::Socket::INET->new(Listen => 1, ReuseAddr => 1, LocalAddr => "127.0.0.1") or die;
    $| = 1; print "port ", $s->sockport, "\n"; $s->accept while 1'"#;

async fn port(script: &str) -> (super::Session, u16) {
    let session = run(script).await;
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    let seen = read_until(&mut attachment, "\n").await;
    let port = seen.split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
    (session, port)
}

#[tokio::test]
async fn stopping_ends_what_the_program_started_and_frees_its_port() {
    let (session, port) = port(&format!("({SERVER}) & wait")).await;
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    soon(session.stop()).await;
    TcpListener::bind(("127.0.0.1", port)).unwrap();
    assert!(exit(&session).await.signal.is_some());
}

#[tokio::test]
async fn stopping_ends_what_does_not_want_to_end() {
    let (session, port) = port(&format!("{SERVER} 1")).await;
    soon(session.stop()).await;
    TcpListener::bind(("127.0.0.1", port)).unwrap();
    assert_eq!(exit(&session).await.signal, Some(libc::SIGKILL));
}

#[tokio::test]
async fn stopping_finds_a_child_in_a_session_of_its_own() {
    let (session, port) = port(&format!(
        "setsid sh -c '{}' & wait",
        SERVER.replace('\'', "'\\''")
    ))
    .await;
    soon(session.stop()).await;
    TcpListener::bind(("127.0.0.1", port)).unwrap();
}

#[tokio::test]
async fn stopping_finds_a_daemon_that_left_its_session_and_its_parents() {
    let daemon = SERVER.replace('\'', "'\\''");
    let (session, port) = port(&format!("setsid sh -c '({daemon}) & exit' & wait; sleep 999")).await;
    soon(session.stop()).await;
    TcpListener::bind(("127.0.0.1", port)).unwrap();
}

#[tokio::test]
async fn stopping_ends_what_an_ended_program_left_behind() {
    let (session, port) = port(&format!("(trap '' HUP; {SERVER} 1) & read line </dev/null; wait")).await;
    let leader = rustix::process::Pid::from_raw(session.process_id().unwrap() as i32).unwrap();
    rustix::process::kill_process(leader, rustix::process::Signal::KILL).unwrap();
    exit(&session).await;
    assert!(
        TcpStream::connect(("127.0.0.1", port)).is_ok(),
        "it is still there"
    );
    soon(session.stop()).await;
    TcpListener::bind(("127.0.0.1", port)).unwrap();
}
