use std::{path::PathBuf, time::Duration};

use ::client::attachment::{Attachment, Begin};
use futures_util::{SinkExt, StreamExt};
use protocol::{
    attach::{CLOSE_RESTARTING, CLOSE_REVOKED, ClientMessage, Hello, Mode, ServerMessage, UNREADABLE},
    sessions::{Exit, Size},
};
use tokio::{
    net::{UnixListener, UnixStream},
    sync::mpsc,
};
use tokio_tungstenite::{
    WebSocketStream, accept_async,
    tungstenite::{Message, protocol::CloseFrame},
};

use super::{End, MOST_UNCONFIRMED, end_of_input, pass_on, send_input};
use crate::{attach::filter::Filter, client::Client, failure::Failure};

/// A daemon that sends what it is told to, then closes with a code.
struct Daemon {
    _folder: tempfile::TempDir,
    socket: PathBuf,
}

impl Daemon {
    fn new(messages: Vec<ServerMessage>, code: u16) -> Self {
        Self::closing_for(messages, code, "")
    }

    fn closing_for(messages: Vec<ServerMessage>, code: u16, reason: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("transom.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut socket = accept_async(stream).await.unwrap();
            let hello = ServerMessage::Hello(hello());
            for message in std::iter::once(hello).chain(messages) {
                socket
                    .send(Message::Binary(message.encode().into()))
                    .await
                    .unwrap();
            }
            socket
                .close(Some(CloseFrame {
                    code: code.into(),
                    reason: reason.into(),
                }))
                .await
                .ok();
            while socket.next().await.is_some_and(|message| message.is_ok()) {}
        });
        Self {
            _folder: folder,
            socket,
        }
    }

    async fn follow(&self, filter: Option<Filter>) -> (Result<End, Failure>, Vec<u8>) {
        let client = Client::at(&self.socket).unwrap();
        let link = Attachment::open(
            client.inner(),
            "ses_1",
            Mode::Lossless,
            Begin::Output,
            Some(Duration::ZERO),
        )
        .await
        .unwrap();
        let mut written = Vec::new();
        let end = pass_on(link, &mut written, filter).await;
        (end, written)
    }
}

fn hello() -> Hello {
    let [session, name, instance, life] = ["ses_1", "build", "i", "l"].map(str::to_owned);
    Hello {
        session,
        name,
        size: Size {
            columns: 80,
            rows: 24,
        },
        mode: Mode::Lossless,
        offset: 0,
        instance,
        life,
        viewers: 1,
        writers: 0,
        input_applied: None,
    }
}

fn output(offset: u64, bytes: &[u8]) -> ServerMessage {
    ServerMessage::Output {
        offset,
        bytes: bytes.to_vec(),
    }
}

fn exit() -> Exit {
    Exit {
        code: Some(7),
        signal: None,
        duration_ms: 1,
        peak_memory_bytes: 1,
    }
}

async fn failure(messages: Vec<ServerMessage>, code: u16) -> (u8, String) {
    failure_for(messages, code, "").await
}

async fn failure_for(messages: Vec<ServerMessage>, code: u16, reason: &'static str) -> (u8, String) {
    let daemon = Daemon::closing_for(messages, code, reason);
    match daemon.follow(None).await.0.unwrap_err() {
        Failure::Problem { exit, problem } => (exit, problem.code),
        Failure::ClosedPipe => panic!("nothing was closed"),
    }
}

#[tokio::test]
async fn every_byte_is_written_and_the_programs_end_told() {
    let messages = vec![
        output(0, b"a\x1b[6n"),
        output(5, b"\xff\0"),
        ServerMessage::Exit(exit()),
    ];
    let daemon = Daemon::new(messages, 1000);
    let (end, written) = daemon.follow(None).await;
    assert_eq!(
        (end.unwrap(), written),
        (End::Exited(exit()), b"a\x1b[6n\xff\0".to_vec())
    );
}

#[tokio::test]
async fn what_goes_to_a_terminal_holds_no_query() {
    let daemon = Daemon::new(vec![output(0, b"a\x1b[6nb"), ServerMessage::Exit(exit())], 1000);
    let (_, written) = daemon.follow(Some(Filter::default())).await;
    assert!(written.starts_with(b"ab"), "{written:?}");
}

#[tokio::test]
async fn bytes_that_are_gone_are_an_error_and_never_left_out_in_silence() {
    for behind in [&b"jkl"[..], b""] {
        let messages = vec![output(0, b"abc"), output(9, behind), ServerMessage::Exit(exit())];
        assert_eq!(failure(messages, 1000).await, (1, "truncated".to_owned()));
    }
}

#[tokio::test]
async fn each_way_to_be_cut_off_has_its_own_error() {
    assert_eq!(
        failure(vec![output(0, b"a")], CLOSE_RESTARTING).await,
        (3, "connection_lost".to_owned())
    );
    assert_eq!(
        failure_for(vec![output(0, b"a")], CLOSE_RESTARTING, UNREADABLE).await,
        (1, "unreadable".to_owned())
    );
    assert_eq!(failure(vec![], CLOSE_REVOKED).await, (4, "revoked".to_owned()));
    assert_eq!(failure(vec![], 1000).await, (1, "session_ended".to_owned()));
}

#[tokio::test]
async fn input_goes_on_where_a_new_connection_says_that_all_of_it_arrived() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("transom.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let attached = async |input_applied| {
        let (stream, _) = listener.accept().await.unwrap();
        let mut attached = accept_async(stream).await.unwrap();
        let hello = ServerMessage::Hello(Hello {
            mode: Mode::Write,
            input_applied,
            ..hello()
        });
        let bytes = hello.encode().into();
        attached.send(Message::Binary(bytes)).await.unwrap();
        attached
    };
    let client = Client::at(&socket).unwrap();
    let open = Attachment::open(client.inner(), "ses_1", Mode::Write, Begin::Screen, None);
    let (link, mut first) = tokio::join!(open, attached(Some(0)));
    let (chunks, input) = mpsc::channel(1);
    tokio::spawn(send_input(link.unwrap(), input));
    tokio::spawn(async move { while chunks.send(b"x".to_vec()).await.is_ok() {} });
    let until = async |attached: &mut WebSocketStream<UnixStream>, last| loop {
        let message = attached.next().await.unwrap().unwrap();
        let message = ClientMessage::decode(&message.into_data()).unwrap();
        if matches!(message, ClientMessage::Input { sequence, .. } if sequence == last) {
            return;
        }
    };
    until(&mut first, MOST_UNCONFIRMED).await;
    drop(first);
    let mut second = attached(Some(MOST_UNCONFIRMED)).await;
    until(&mut second, 2 * MOST_UNCONFIRMED).await;
}

#[test]
fn the_end_of_input_is_what_a_persons_ctrl_d_would_be() {
    assert_eq!(end_of_input(true), b"\x04");
    assert_eq!(end_of_input(false), b"\x04\x04");
}
