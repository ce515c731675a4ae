//! Rights that were lost while a request was on its way.

use std::sync::Arc;

use pairing::{Generation, Role};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::client::TlsStream;

use crate::{
    clock,
    connections::Entry,
    peer::{Peer, RemotePeer},
    revocation::{Revoker, revoke},
    stream::Socket,
    testing::{TestDevice, TestServer},
};

/// A connection of nobody yet.
fn accepted(server: &TestServer) -> Entry {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let address = "192.0.2.1:1".parse().unwrap();
    let peer = Peer::Remote(RemotePeer {
        address,
        listener: address,
        generation: Generation(1),
        tailnet: None,
    });
    let socket = Socket::Unix(Arc::new(ours));
    server.access.connections().accept(peer, socket)
}

/// The head of a request with a body that is held back, of a device on a connection of its own.
async fn held_back(server: &TestServer, phone: &TestDevice, path: &str) -> TlsStream<TcpStream> {
    let mut stream = server.tls("http/1.1").await;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n\r\n",
        phone.token
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    while server.access.connections().count_of(phone.id) == 0 {
        tokio::task::yield_now().await;
    }
    stream
}

#[tokio::test]
async fn who_lost_the_right_while_its_request_was_read_locks_nothing_down() {
    let server = TestServer::start().await;
    let phone = server.device(Role::Viewer, true).await;
    let mut stream = held_back(&server, &phone, "/v1/lockdown").await;
    // As when the owner takes it from the device.
    let before = server.access.devices().renew(phone.id, clock::latest()).unwrap();
    before.standing().end();
    stream.write_all(b"{}").await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
    assert!(!server.access.is_locked_down());
    let rows = server.access.store().audit_rows(1).await.unwrap();
    assert_eq!(
        (&*rows[0].action, &*rows[0].outcome),
        ("locked_down", "authentication_ended")
    );
}

#[tokio::test]
async fn who_lost_the_right_ends_nobody_but_itself() {
    let server = TestServer::start().await;
    let (phone, other) = (
        server.device(Role::Viewer, true).await,
        server.device(Role::Viewer, false).await,
    );
    let entry = accepted(&server);
    let before = server.access.devices().renew(phone.id, clock::latest()).unwrap();
    before.standing().end();
    let by = || Revoker {
        authenticated: before.clone(),
        connection: Arc::clone(entry.connection()),
        action: "device_revoked",
    };
    let refused = revoke(&server.access, by(), other.id).await;
    assert_eq!(refused.err().unwrap().code(), "authentication_ended");
    let guest = pairing::GuestId::from_bytes([7; 8]);
    let refused = crate::guests::end(&server.access, by(), guest).await;
    assert_eq!(refused.err().unwrap().code(), "authentication_ended");
    let own = revoke(&server.access, by(), phone.id).await.unwrap();
    assert!(own.answer.is_ok());
}
