use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use pairing::{Role, TailnetIdentity};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex},
    net::UnixStream,
    sync::{Mutex, mpsc},
};
use tokio_rustls::TlsConnector;

use super::{Gate, OFFERED, UserspaceListener, UserspaceStream, carry};
use crate::{
    listen::Listener,
    peer::{NoTailnet, RemotePeer, WhoIs, WhoIsAnswer},
    reload::DoorChange,
    router::Routes,
    testing::{Client, PATIENCE, Tailnet, TestServer},
};

/// A stack that accepts what the test gives it.
#[derive(Debug)]
struct Stack(Mutex<mpsc::Receiver<UserspaceStream>>);

impl UserspaceListener for Stack {
    fn address(&self) -> SocketAddr {
        at()
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<UserspaceStream>> {
        Box::pin(async {
            let next = self.0.lock().await.recv().await;
            next.ok_or_else(|| io::ErrorKind::BrokenPipe.into())
        })
    }
}

fn at() -> SocketAddr {
    "100.64.0.1:7443".parse().unwrap()
}

fn phone() -> TailnetIdentity {
    TailnetIdentity {
        user_id: String::new(),
        user: String::new(),
        node_id: "nPhone".to_owned(),
        node: "phone.tail1234.ts.net".to_owned(),
        tags: vec!["tag:phone".to_owned()],
    }
}

/// A server that also accepts what comes from a stack in this process, and the way into that.
async fn start() -> (TestServer, Arc<Tailnet>, mpsc::Sender<UserspaceStream>) {
    let (server, tailnet) = TestServer::start_in_a_tailnet(Routes::new()).await;
    let (into, streams) = mpsc::channel(1);
    let listener = Listener::Userspace {
        listener: Box::new(Stack(Mutex::new(streams))),
        config: Arc::clone(&server.config),
    };
    let change = DoorChange {
        open: vec![listener],
        ..DoorChange::default()
    };
    server.access.hold_doors().await.change(change, None).await;
    (server, tailnet, into)
}

async fn connect(into: &mpsc::Sender<UserspaceStream>) -> DuplexStream {
    let (ours, theirs) = duplex(1024);
    let accepted = UserspaceStream {
        peer: "100.64.0.7:9".parse().unwrap(),
        stream: Box::new(theirs),
    };
    into.send(accepted).await.unwrap();
    ours
}

async fn client(server: &TestServer, into: &mpsc::Sender<UserspaceStream>) -> Client {
    let mut config = certs::client_config(server.pin);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let name = ServerName::try_from(certs::IDENTITY_SERVER_NAME).unwrap();
    let stream = connect(into).await;
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
    Client::http1(connecting.await.unwrap(), &at().to_string()).await
}

#[tokio::test]
async fn a_device_is_served_over_a_stack_in_this_process_and_cut_off_like_any_other() {
    let (server, tailnet, into) = start().await;
    tailnet.everybody_is(WhoIsAnswer::Known(phone()));
    let device = server.device(Role::Viewer, false).await;
    let mut phone = client(&server, &into).await;
    let answer = phone.get("/v1/whoami", Some(&device)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(server.access.connections().count_of(device.id), 1);
    let revoked = server
        .owner()
        .await
        .delete(&format!("/v1/devices/{}", device.id), None)
        .await;
    assert_eq!(revoked.json()["closed"], 1);
    phone.closed().await;
}

#[tokio::test]
async fn who_may_not_come_is_closed_before_a_byte_of_tls() {
    let (_server, tailnet, into) = start().await;
    tailnet.everybody_is(WhoIsAnswer::Refused);
    let mut stranger = connect(&into).await;
    let mut told = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stranger.read_to_end(&mut told));
    read.await.expect("it is closed").unwrap();
    assert!(told.is_empty());
}

#[tokio::test]
async fn a_listener_that_closes_closes_what_it_accepted() {
    let (server, tailnet, into) = start().await;
    tailnet.everybody_is(WhoIsAnswer::Known(phone()));
    let mut phone = client(&server, &into).await;
    assert_eq!(phone.get("/v1/health", None).await.status, 200);
    let change = DoorChange {
        close: vec![at()],
        ..DoorChange::default()
    };
    assert_eq!(server.access.hold_doors().await.change(change, None).await, 1);
    phone.closed().await;
    assert!(into.is_closed(), "the stack is told");
}

#[tokio::test]
async fn without_anybody_who_knows_the_stack_nobody_comes_by_it() {
    let peer = RemotePeer {
        address: "100.64.0.7:9".parse().unwrap(),
        listener: at(),
        generation: pairing::Generation(1),
        tailnet: None,
    };
    assert_eq!(NoTailnet.who_is(&peer).await, WhoIsAnswer::NotATailnet);
    assert_eq!(NoTailnet.who_is_in_userspace(&peer).await, WhoIsAnswer::Refused);
}

#[tokio::test]
async fn bytes_pass_both_ways_and_each_end_is_seen_by_the_other() {
    let (mut near, far) = UnixStream::pair().unwrap();
    let (mut ours, theirs) = duplex(64);
    let carrying = tokio::spawn(carry(Box::new(theirs), far, Arc::default()));
    near.write_all(b"out").await.unwrap();
    ours.write_all(b"in").await.unwrap();
    let mut buffer = [0; 3];
    ours.read_exact(&mut buffer).await.unwrap();
    near.read_exact(&mut buffer[..2]).await.unwrap();
    assert_eq!(&buffer, b"int");
    ours.shutdown().await.unwrap();
    assert_eq!(near.read(&mut buffer).await.unwrap(), 0);
    near.write_all(b"and").await.unwrap();
    drop(near);
    let mut rest = Vec::new();
    ours.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"and", "what was on its way arrives");
    carrying.await.unwrap();
}

#[tokio::test]
async fn once_the_gate_is_shut_nothing_passes_into_the_stack() {
    let (mut near, far) = UnixStream::pair().unwrap();
    let (mut ours, theirs) = duplex(8);
    let gate = Arc::new(Gate::default());
    let carrying = tokio::spawn(carry(Box::new(theirs), far, Arc::clone(&gate)));
    near.write_all(&[7; 4096]).await.unwrap();
    let mut first = [0; 1];
    ours.read_exact(&mut first).await.unwrap();
    gate.shut();
    let mut rest = Vec::new();
    ours.read_to_end(&mut rest).await.unwrap();
    assert!(rest.len() <= 16, "{}", rest.len());
    carrying.await.unwrap();
}

#[tokio::test]
async fn a_shut_gate_ends_what_waits_for_the_stack_which_was_offered_but_a_little() {
    /// It takes nothing, and notes the most that it was offered.
    struct Stuck(Arc<AtomicUsize>);
    impl AsyncRead for Stuck {
        fn poll_read(
            self: Pin<&mut Self>,
            _context: &mut Context<'_>,
            _buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }
    impl AsyncWrite for Stuck {
        fn poll_write(
            self: Pin<&mut Self>,
            _context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.0.fetch_max(bytes.len(), Ordering::SeqCst);
            Poll::Pending
        }
        fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
        fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }
    let (mut near, far) = UnixStream::pair().unwrap();
    let gate = Arc::new(Gate::default());
    let most = Arc::new(AtomicUsize::new(0));
    let stuck = Box::new(Stuck(Arc::clone(&most)));
    near.write_all(&[7; 2 * OFFERED]).await.unwrap();
    let carrying = tokio::spawn(carry(stuck, far, Arc::clone(&gate)));
    while most.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    gate.shut();
    tokio::time::timeout(PATIENCE, carrying)
        .await
        .expect("it ends")
        .unwrap();
    assert_eq!(most.load(Ordering::SeqCst), OFFERED);
}
