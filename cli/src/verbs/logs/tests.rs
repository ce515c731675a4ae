use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use futures_util::SinkExt;
use protocol::{attach::ServerMessage, sessions::Exit};
use tokio::net::{UnixListener, UnixStream};
use tokio_tungstenite::{
    WebSocketStream, accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{Request, Response},
    },
};

use super::{Logs, sink::Sink};
use crate::{client::Client, patience};

/// What was written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The next attachment, with the query it asked with.
#[expect(clippy::result_large_err, reason = "the callback's type is the library's")]
async fn attached(listener: &UnixListener) -> (WebSocketStream<UnixStream>, String) {
    let (stream, _) = listener.accept().await.unwrap();
    let mut query = String::new();
    let note = |request: &Request, response: Response| {
        request.uri().query().unwrap_or_default().clone_into(&mut query);
        Ok(response)
    };
    let socket = accept_hdr_async(stream, note).await.unwrap();
    (socket, query)
}

fn output(offset: u64, bytes: &[u8]) -> Message {
    let message = ServerMessage::Output {
        offset,
        bytes: bytes.to_vec(),
    };
    Message::binary(message.encode())
}

fn exit() -> Message {
    let exit = Exit {
        code: Some(0),
        signal: None,
        duration_ms: 1,
        peak_memory_bytes: 1,
    };
    Message::binary(ServerMessage::Exit(exit).encode())
}

fn logs(client: Client, written: Written) -> Logs {
    Logs {
        client,
        session: crate::verbs::ls::tests::session("a", "idle", 1),
        patience: patience::bounded(),
        sink: Sink::of_bytes(written),
        next: Some(0),
        lacks: false,
    }
}

#[tokio::test]
async fn a_restart_of_the_daemon_doubles_and_loses_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("transom.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let written = Written::default();
    let mut logs = logs(Client::at(&socket).unwrap(), written.clone());
    let daemon = async {
        let (mut stream, query) = attached(&listener).await;
        assert!(
            query.contains("mode=lossless") && query.contains("from=0"),
            "{query}"
        );
        stream.send(output(0, b"abc")).await.unwrap();
        stream.send(output(3, b"def")).await.unwrap();
        stream.close(None).await.unwrap();
        drop(stream);
        // It comes back with a connection that breaks off at once, and then with one that repeats what was sent.
        drop(listener.accept().await.unwrap());
        let (mut stream, query) = attached(&listener).await;
        assert!(query.contains("from=6"), "{query}");
        stream.send(output(4, b"efgh")).await.unwrap();
        stream.send(output(8, b"i")).await.unwrap();
        stream.send(exit()).await.unwrap();
        stream
    };
    let (followed, _stream) = tokio::join!(logs.follow(), daemon);
    followed.unwrap();
    assert_eq!(*written.0.lock().unwrap(), b"abcdefghi");
    assert!(!logs.lacks);
}

#[tokio::test]
async fn bytes_that_are_gone_are_noticed_and_the_rest_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("transom.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let written = Written::default();
    let mut logs = logs(Client::at(&socket).unwrap(), written.clone());
    let daemon = async {
        let (mut stream, _) = attached(&listener).await;
        stream.send(output(0, b"abc")).await.unwrap();
        stream.send(output(9, b"xyz")).await.unwrap();
        stream.send(exit()).await.unwrap();
        stream
    };
    let (followed, _stream) = tokio::join!(logs.follow(), daemon);
    followed.unwrap();
    assert_eq!(*written.0.lock().unwrap(), b"abcxyz");
    assert!(logs.lacks);
}
