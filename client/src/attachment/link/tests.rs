use std::{future::poll_fn, path::PathBuf, pin::pin, task::Poll};

use futures_util::{SinkExt, StreamExt};
use protocol::{
    attach::{ClientMessage, Hello, Mode, ServerMessage},
    sessions::Size,
};
use tokio::{
    net::{UnixListener, UnixStream},
    sync::mpsc,
    time::Instant,
};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{Request, Response},
    },
};

use super::{Attachment, Event, pass_on};
use crate::{attachment::Begin, requests::Client};

/// Attachments that the test answers itself.
struct Daemon {
    _folder: tempfile::TempDir,
    socket: PathBuf,
    listener: UnixListener,
}

/// One of them, and what it was asked for.
struct Attached {
    socket: WebSocketStream<UnixStream>,
    query: String,
}

impl Daemon {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("transom.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        Self {
            _folder: folder,
            socket,
            listener,
        }
    }

    async fn attached(&self, hello: Hello) -> Attached {
        let (stream, _) = self.listener.accept().await.unwrap();
        let mut query = String::new();
        #[expect(clippy::result_large_err, reason = "the callback's type is the library's")]
        let keep_query = |request: &Request, response: Response| {
            query = request.uri().query().unwrap_or_default().to_owned();
            Ok(response)
        };
        let socket = accept_hdr_async(stream, keep_query).await.unwrap();
        let mut attached = Attached { socket, query };
        attached.says(ServerMessage::Hello(hello)).await;
        attached
    }

    async fn open(&self) -> Attachment {
        let client = Client::at(&self.socket).unwrap();
        Attachment::open(&client, "ses_1", Mode::Write, Begin::Screen, None)
            .await
            .unwrap()
    }
}

impl Attached {
    async fn says(&mut self, message: ServerMessage) {
        let bytes = message.encode().into();
        self.socket.send(Message::Binary(bytes)).await.unwrap();
    }

    /// The next message but pings.
    async fn hears(&mut self) -> ClientMessage {
        loop {
            let Message::Binary(bytes) = self.socket.next().await.unwrap().unwrap() else {
                panic!("messages are binary");
            };
            match ClientMessage::decode(&bytes).unwrap() {
                ClientMessage::Ping { .. } => {}
                message => return message,
            }
        }
    }
}

fn hello(mode: Mode, input_applied: Option<u64>) -> Hello {
    let [session, name, instance, life] = ["ses_1", "build", "i", "l"].map(str::to_owned);
    Hello {
        session,
        name,
        size: Size {
            columns: 80,
            rows: 24,
        },
        mode,
        offset: 0,
        instance,
        life,
        viewers: 0,
        writers: 1,
        input_applied,
    }
}

fn input(sequence: u64) -> ClientMessage {
    ClientMessage::Input {
        sequence,
        bytes: b"ab".to_vec(),
    }
}

#[tokio::test]
async fn who_may_only_look_any_more_types_nothing_at_the_next_connection() {
    let daemon = Daemon::new();
    let (mut link, mut first) = tokio::join!(daemon.open(), daemon.attached(hello(Mode::Write, Some(0))));
    link.say.send(input(1)).unwrap();
    assert_eq!(first.hears().await, input(1));
    first.says(ServerMessage::Hello(hello(Mode::View, Some(0)))).await;
    let told = link.events.recv().await;
    assert!(
        matches!(&told, Some(Event::Message(ServerMessage::Hello(hello))) if hello.mode == Mode::View),
        "{told:?}"
    );
    let given_up = link.events.recv().await;
    assert!(matches!(given_up, Some(Event::Unconfirmed(2))), "{given_up:?}");
    link.say.send(input(2)).unwrap();
    let late = link.events.recv().await;
    assert!(matches!(late, Some(Event::Unconfirmed(2))), "{late:?}");
    drop(first);
    let mut second = daemon.attached(hello(Mode::View, None)).await;
    assert!(second.query.starts_with("mode=view"), "{}", second.query);
    let back = link.events.recv().await;
    assert!(matches!(back, Some(Event::Back(_))), "{back:?}");
    link.say.send(ClientMessage::Ack { offset: 0 }).unwrap();
    assert_eq!(second.hears().await, ClientMessage::Ack { offset: 0 });
}

#[tokio::test]
async fn what_the_program_did_not_get_is_typed_at_the_next_connection() {
    let daemon = Daemon::new();
    let (mut link, mut first) = tokio::join!(daemon.open(), daemon.attached(hello(Mode::Write, Some(0))));
    for sequence in 1..=2 {
        link.say.send(input(sequence)).unwrap();
        assert_eq!(first.hears().await, input(sequence));
    }
    drop(first);
    let mut second = daemon.attached(hello(Mode::Write, Some(1))).await;
    assert_eq!(second.hears().await, input(2));
    let back = link.events.recv().await;
    assert!(
        matches!(&back, Some(Event::Back(hello)) if hello.input_applied == Some(1)),
        "{back:?}"
    );
}

fn output() -> ServerMessage {
    ServerMessage::Output {
        offset: 0,
        bytes: b"x".to_vec(),
    }
}

#[tokio::test]
async fn a_daemon_counts_as_heard_while_nobody_takes_what_it_said() {
    let (events, mut received) = mpsc::channel(1);
    pass_on(output(), &events).await.unwrap();
    let mut passing = pin!(pass_on(output(), &events));
    let is_pending = poll_fn(|context| Poll::Ready(passing.as_mut().poll(context).is_pending()));
    assert!(is_pending.await);
    let taken = Instant::now();
    received.recv().await.unwrap();
    assert!(passing.await.unwrap() >= taken);
}

#[tokio::test]
async fn what_was_typed_before_it_is_left_still_reaches_the_program() {
    let daemon = Daemon::new();
    let (link, mut first) = tokio::join!(daemon.open(), daemon.attached(hello(Mode::Write, Some(0))));
    let Attachment {
        say, events, course, ..
    } = link;
    drop(events);
    // Nobody hears this any more: that is how the link learns that it was left.
    first.says(output()).await;
    tokio::task::yield_now().await;
    say.send(input(1)).unwrap();
    drop(say);
    assert_eq!(first.hears().await, input(1));
    first.says(ServerMessage::InputApplied { sequence: 1 }).await;
    assert_eq!(course.await.unwrap(), 0);
}

#[tokio::test]
async fn keys_that_the_program_did_not_get_before_it_is_left_are_counted() {
    let daemon = Daemon::new();
    let (link, mut first) = tokio::join!(daemon.open(), daemon.attached(hello(Mode::Write, Some(0))));
    let Attachment {
        say, events, course, ..
    } = link;
    for sequence in 1..=2 {
        say.send(input(sequence)).unwrap();
        assert_eq!(first.hears().await, input(sequence));
    }
    first.says(ServerMessage::InputApplied { sequence: 1 }).await;
    drop((say, events));
    assert_eq!(course.await.unwrap(), 2);
}
