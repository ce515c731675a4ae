use std::{
    io::{ErrorKind, Read},
    sync::Arc,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
};

use super::{Socket, Stream};
use crate::{
    connections::Connections,
    limits::Limits,
    peer::{Peer, RemotePeer},
};

fn wrap(socket: Socket) -> (Stream, Connections) {
    let connections = Connections::new(Limits::default());
    let address = "192.0.2.1:1".parse().unwrap();
    let entry = connections.accept(
        Peer::Remote(RemotePeer {
            address,
            listener: address,
            generation: pairing::Generation(1),
            tailnet: None,
        }),
        socket.clone(),
    );
    (Stream::new(socket, entry), connections)
}

async fn tcp() -> (Stream, Connections, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let theirs = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, connections) = wrap(Socket::Tcp(Arc::new(listener.accept().await.unwrap().0)));
    (stream, connections, theirs)
}

fn unix() -> (Stream, Connections, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (stream, connections) = wrap(Socket::Unix(Arc::new(ours)));
    (stream, connections, theirs)
}

/// Writes until the queues of both ends are full.
async fn fill(stream: &mut Stream) -> usize {
    let mut written = 0;
    while let Some(Ok(count)) = futures_util::FutureExt::now_or_never(stream.write(&[7; 65536])) {
        written += count;
    }
    written
}

async fn waits_for_bytes(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    futures_util::FutureExt::now_or_never(stream.read(&mut [0; 1])).is_none()
}

#[tokio::test]
async fn bytes_pass_both_ways_and_the_end_is_seen() {
    let (mut stream, connections, mut theirs) = tcp().await;
    stream.write_all(b"out").await.unwrap();
    theirs.write_all(b"in").await.unwrap();
    let mut buffer = [0; 3];
    theirs.read_exact(&mut buffer).await.unwrap();
    stream.read_exact(&mut buffer[..2]).await.unwrap();
    assert_eq!(&buffer, b"int");
    drop(stream);
    assert_eq!(theirs.read(&mut buffer).await.unwrap(), 0);
    assert_eq!(connections.count(), 0);
}

#[tokio::test]
async fn cutting_wakes_a_read_and_a_write_that_wait() {
    let (stream, connections, _theirs) = tcp().await;
    let connection = Arc::clone(stream.connection());
    let (mut reads, mut writes) = tokio::io::split(stream);
    let reading = tokio::spawn(async move { reads.read(&mut [0; 1]).await.map(|_| ()) });
    let writing = tokio::spawn(async move { while writes.write(&[0; 65536]).await.is_ok() {} });
    tokio::task::yield_now().await;
    connection.cut();
    assert_eq!(
        reading.await.unwrap().unwrap_err().kind(),
        ErrorKind::ConnectionAborted
    );
    writing.await.unwrap();
    assert_eq!(connections.count(), 0);
}

#[tokio::test]
async fn cutting_resets_and_discards_the_queue_though_the_stream_is_still_held() {
    let (mut stream, _connections, theirs) = tcp().await;
    let written = fill(&mut stream).await;
    stream.connection().cut();
    let mut theirs = theirs.into_std().unwrap();
    theirs.set_nonblocking(false).unwrap();
    let mut received = Vec::new();
    let end = theirs.read_to_end(&mut received);
    assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(
        received.len() < written,
        "what was still in the queue did not leave"
    );
}

#[tokio::test]
async fn after_the_cut_nothing_can_be_written() {
    let (mut stream, _connections, mut theirs) = unix();
    stream.write_all(b"before").await.unwrap();
    stream.connection().cut();
    assert_eq!(
        stream.write(b"after").await.unwrap_err().kind(),
        ErrorKind::ConnectionAborted
    );
    let mut received = Vec::new();
    theirs.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"before");
}

#[tokio::test]
async fn a_stream_dropped_after_its_revocation_is_reset_and_not_closed_politely() {
    let (mut stream, connections, theirs) = tcp().await;
    let written = fill(&mut stream).await;
    stream.connection().set_revoked();
    drop(stream);
    assert_eq!(connections.count(), 0);
    let mut theirs = theirs.into_std().unwrap();
    theirs.set_nonblocking(false).unwrap();
    let mut received = Vec::new();
    assert!(theirs.read_to_end(&mut received).is_err());
    assert!(received.len() < written);
}

#[tokio::test]
async fn a_bound_stream_is_read_so_far_and_on_once_the_bound_is_lifted() {
    let (mut stream, _connections, mut theirs) = unix();
    let connection = Arc::clone(stream.connection());
    connection.bound_reads(4);
    theirs.write_all(b"before and after").await.unwrap();
    let mut buffer = [0; 32];
    assert_eq!(stream.read(&mut buffer[..3]).await.unwrap(), 3);
    assert_eq!(stream.read(&mut buffer[3..]).await.unwrap(), 1);
    assert!(waits_for_bytes(&mut stream).await);
    let rest = tokio::spawn(async move {
        let mut rest = [0; 12];
        stream.read_exact(&mut rest).await.map(|_| rest)
    });
    tokio::task::yield_now().await;
    connection.lift_bound();
    assert_eq!(&rest.await.unwrap().unwrap(), b"re and after");
}

#[tokio::test]
async fn an_open_stream_shows_no_end() {
    let (_stream, _connections, mut theirs) = unix();
    assert!(waits_for_bytes(&mut theirs).await);
}

#[tokio::test]
async fn an_end_is_seen_behind_bytes_that_nobody_reads() {
    let (stream, _connections, mut theirs) = tcp().await;
    theirs.write_all(b"unread").await.unwrap();
    assert!(!stream.socket.is_left());
    theirs.shutdown().await.unwrap();
    stream.connection().left().await;
}
