//! What a stranger costs in memory, whatever it does; hence what the pool of them costs at most.

use std::fmt::Write;

use harness::{RawHttp2, TestDaemon, resident_kib, tls, unread, until};
use server::limits::HEAD;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

#[tokio::test]
async fn a_peer_that_says_nothing_or_half_a_hello() {
    cost("says nothing", 32, CROWD, async |daemon| connect(daemon).await).await;
    // Four records of a hello that is longer than they are, and as long as one may be.
    let piece = 15_000;
    cost("says half a hello", 112, CROWD, async |daemon| {
        let mut stream = connect(daemon).await;
        for record in 0..4 {
            let mut bytes = vec![0; piece];
            if record == 0 {
                bytes[..4].copy_from_slice(&[0x01, 0x00, 0xff, 0xfe]);
            }
            let [high, low] = u16::try_from(piece).unwrap().to_be_bytes();
            stream.write_all(&[0x16, 0x03, 0x01, high, low]).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
        }
        stream
    })
    .await;
}

#[tokio::test]
async fn a_peer_that_says_nothing_after_the_handshake() {
    cost("says nothing over TLS", 48, CROWD, async |daemon| {
        http1(daemon).await
    })
    .await;
    cost("says nothing over HTTP/2", 64, CROWD, async |daemon| {
        let mut raw = RawHttp2::open(daemon.address(), daemon.pin(), &[]).await;
        raw.settled().await;
        raw
    })
    .await;
}

#[tokio::test]
async fn a_peer_that_is_slow_with_a_head_or_a_body() {
    cost("is slow with a head", 96, CROWD, async |daemon| {
        let mut stream = http1(daemon).await;
        let head = format!(
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}",
            "x".repeat(HEAD - 100)
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    })
    .await;
    cost("is slow with a body", 96, CROWD, async |daemon| {
        let mut stream = http1(daemon).await;
        let mut head = "POST /v1/auth/proof HTTP/1.1\r\nHost: localhost\r\n".to_owned();
        write!(head, "Authorization: Bearer {}\r\n", "x".repeat(HEAD - 2_000)).unwrap();
        head += "Content-Type: application/json\r\nContent-Length: 4096\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&[b' '; 4000]).await.unwrap();
        stream
    })
    .await;
}

#[tokio::test]
async fn a_peer_that_has_all_its_requests_open_with_heads_as_long_as_may_be() {
    cost("has slow bodies over HTTP/2", MOST, 64, async |daemon| {
        let mut raw = RawHttp2::open(daemon.address(), daemon.pin(), &[]).await;
        let (host, bearer) = (
            daemon.address().to_string(),
            format!("Bearer {}", "x".repeat(4_000)),
        );
        let fields = [
            (":method", "POST"),
            (":scheme", "https"),
            (":path", "/v1/auth/proof"),
            (":authority", &host),
            ("content-type", "application/json"),
            ("authorization", &bearer),
        ];
        // The shortest fields cost the most beside their text.
        let fields = [&fields[..], &[("x", ""); 350]].concat();
        let streams = raw.setting(3).unwrap();
        for stream in (0..streams).map(|number| 2 * number + 1) {
            raw.request(stream, &fields, false).await;
            // Together as much as may be sent before the daemon says that it takes more.
            raw.send(harness::Frame::DATA, 0, stream, &[b' '; 1_000]).await;
        }
        // So many wait, and the others are refused at once.
        answers(&mut raw, streams - 16).await;
        raw.settled().await;
        raw
    })
    .await;
    cost("takes no answers over HTTP/2", MOST, 64, async |daemon| {
        // No byte of a body may be sent to it.
        let mut raw = RawHttp2::open(daemon.address(), daemon.pin(), &[(4, 0)]).await;
        let host = daemon.address().to_string();
        let fields = [
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/"),
            (":authority", host.as_str()),
        ];
        let streams = raw.setting(3).unwrap();
        for stream in (0..streams).map(|number| 2 * number + 1) {
            raw.request(stream, &fields, true).await;
        }
        answers(&mut raw, streams).await;
        raw
    })
    .await;
}

#[tokio::test]
async fn a_websocket_whose_token_does_not_come() {
    cost("opens a WebSocket", 128, CROWD, async |daemon| {
        let mut stream = http1(daemon).await;
        let head = "GET /v1/sessions/ses_0000000000000000/attach HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
                    Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 101");
        // The beginning of a masked text of 100,000 bytes (RFC 6455 section 5.2).
        stream.write_all(&[0x81, 0xff, 0, 0, 0, 0, 0, 1, 0x86, 0xa0, 0, 0, 0, 0]).await.unwrap();
        stream.write_all(&[b'x'; 12_000]).await.unwrap();
        stream
    })
    .await;
}

/// Lets a crowd of strangers do the same, and asserts how many KiB each of them costs at most.
async fn cost<T>(what: &str, most: u64, crowd: u64, join: impl AsyncFn(&TestDaemon) -> T) {
    assert!(most <= MOST);
    let daemon = TestDaemon::start().await;
    let mut strangers = Vec::new();
    // What happens once is not counted.
    for _ in 0..WARM_UP {
        strangers.push(join(&daemon).await);
    }
    let before = resident_kib(daemon.pid());
    for _ in 0..crowd {
        strangers.push(join(&daemon).await);
    }
    until("all of it to be read", || async {
        (unread(daemon.address()) == 0).then_some(())
    })
    .await;
    let each = resident_kib(daemon.pid()).saturating_sub(before) / crowd;
    println!("a stranger that {what} costs {each} KiB");
    assert!(
        each <= most,
        "a stranger that {what} costs {each} KiB, not at most {most}"
    );
}

/// Reads the heads of so many answers.
async fn answers(raw: &mut RawHttp2, count: u32) {
    for _ in 0..count {
        while raw.next().await.unwrap().kind != harness::Frame::HEADERS {}
    }
}

async fn connect(daemon: &TestDaemon) -> TcpStream {
    TcpStream::connect(daemon.address()).await.unwrap()
}

async fn http1(daemon: &TestDaemon) -> TlsStream<TcpStream> {
    tls(daemon.address(), daemon.pin(), &[b"http/1.1"]).await
}

/// KiB of any one stranger: with the 256 of the pool that is 128 MiB, whatever they do.
const MOST: u64 = 512;
/// How many come; fewer than the pool holds, so that all of them are there.
const CROWD: u64 = 200;
const WARM_UP: u64 = 20;
