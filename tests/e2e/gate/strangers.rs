//! Peers that connect and say nothing.

use std::time::{Duration, Instant};

use harness::{TestDaemon, TlsClient, tls, within};
use pairing::Role;
use protocol::attach::Mode;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};

#[tokio::test]
async fn a_peer_that_never_speaks_tls_or_http_is_dropped_within_its_limit_and_others_notice_nothing() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let session = daemon
        .owner()
        .shell("i=0; while :; do i=$((i+1)); echo n$i; sleep 0.05; done")
        .await;
    let begun = Instant::now();
    let silent = async {
        let stream = TcpStream::connect(daemon.address()).await.unwrap();
        assert_eq!(bytes_until_closed(stream, b"").await, 0);
        begun.elapsed()
    };
    let half = async {
        // The beginning of a record that never goes on.
        let stream = TcpStream::connect(daemon.address()).await.unwrap();
        bytes_until_closed(stream, &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]).await;
        begun.elapsed()
    };
    let headless = async {
        let stream = tls(daemon.address(), daemon.pin(), &[b"http/1.1"]).await;
        bytes_until_closed(stream, b"GET / HTTP/1.1\r\n").await;
        begun.elapsed()
    };
    let wordless = async {
        // The preface of HTTP/2, and no request.
        let stream = tls(daemon.address(), daemon.pin(), &[b"h2"]).await;
        bytes_until_closed(stream, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await;
        begun.elapsed()
    };
    let second = async {
        // A request, and half of another.
        let stream = tls(daemon.address(), daemon.pin(), &[b"http/1.1"]).await;
        let said = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /v1/health HTTP/1.1\r\n";
        assert!(
            bytes_until_closed(stream, said).await > 0,
            "the first is answered"
        );
        begun.elapsed()
    };
    let viewer = async {
        let mut attached = device.attach(&session.id, Mode::View, "0").await;
        attached.until("n100\r\n").await;
    };
    let (silent, half, headless, wordless, second, ()) =
        tokio::join!(silent, half, headless, wordless, second, viewer);
    for (elapsed, limit) in [
        (silent, 5),
        (half, 5),
        (headless, 10),
        (wordless, 10),
        (second, 10),
    ] {
        let limit = Duration::from_secs(limit);
        assert!(
            elapsed >= limit.mul_f32(0.9) && elapsed < limit + Duration::from_secs(5),
            "{elapsed:?} of {limit:?}"
        );
    }
}

#[tokio::test]
async fn more_silent_peers_than_the_pool_holds_stop_nobody_and_the_oldest_goes_first() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let session = daemon
        .owner()
        .shell("i=0; while :; do i=$((i+1)); echo n$i; sleep 0.01; done")
        .await;
    let mut attached = device.attach(&session.id, Mode::View, "0").await;
    attached.until("n1\r\n").await;
    let oldest = TcpStream::connect(daemon.address()).await.unwrap();
    let begun = Instant::now();
    let mut crowd = Vec::new();
    for _ in 0..300 {
        crowd.push(TcpStream::connect(daemon.address()).await.unwrap());
        if crowd.len() % 100 == 0 {
            let newcomer = TlsClient::new(daemon.address(), daemon.pin());
            assert_eq!(newcomer.get("/v1/health", None).await.verdict(), "200");
            assert_eq!(
                device
                    .client()
                    .get("/v1/whoami", Some(&device.access().await))
                    .await
                    .verdict(),
                "200"
            );
        }
    }
    bytes_until_closed(oldest, b"").await;
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "it was dropped for room, before its time was over"
    );
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
    attached.until("n200\r\n").await;
    daemon.device(Role::Viewer).await;
}

/// How many bytes come after what was said, until the other side closes.
pub(super) async fn bytes_until_closed(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    said: &[u8],
) -> usize {
    stream.write_all(said).await.ok();
    let mut bytes = 0;
    let mut piece = [0; 1024];
    // A reset is an end as well.
    while let Ok(read @ 1..) = within("the peer to be dropped", stream.read(&mut piece)).await {
        bytes += read;
    }
    bytes
}
