//! A tunnel to a daemon's TLS listener, which breaks when told to.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

/// Passes everything on, as `ssh -L` does, and remembers the first bytes of each connection.
pub struct Tunnel {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    is_closed: AtomicBool,
    refused: AtomicUsize,
    cut: Notify,
    first_bytes: Mutex<Vec<Vec<u8>>>,
}

impl Tunnel {
    /// Listens on a free port of loopback.
    pub async fn to(daemon: SocketAddr) -> Self {
        Self::between(None, daemon).await
    }

    /// The same, as if what it passes on came from a machine of this address.
    pub async fn from(source: &str, daemon: SocketAddr) -> Self {
        let source = source.parse().expect("the test writes addresses");
        Self::between(Some(SocketAddr::new(source, 0)), daemon).await
    }

    async fn between(source: Option<SocketAddr>, daemon: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let state = Arc::new(State::default());
        let passing = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if passing.is_closed.load(Ordering::SeqCst) {
                    passing.refused.fetch_add(1, Ordering::SeqCst);
                    continue;
                }
                let state = Arc::clone(&passing);
                tokio::spawn(async move {
                    tokio::select! {
                        () = pass(client, source, daemon, &state) => {}
                        () = state.cut.notified() => {}
                    }
                });
            }
        });
        Self { address, state, task }
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts all connections, and takes no more until it is opened again.
    pub fn close(&self) {
        self.state.is_closed.store(true, Ordering::SeqCst);
        self.state.cut.notify_waiters();
    }

    /// Takes connections again.
    pub fn open(&self) {
        self.state.is_closed.store(false, Ordering::SeqCst);
    }

    /// How many connections came while it was closed.
    pub fn refused(&self) -> usize {
        self.state.refused.load(Ordering::SeqCst)
    }

    /// What each client said first: the hello of TLS, most of which is in plain.
    pub fn first_bytes(&self) -> Vec<Vec<u8>> {
        let first = self.state.first_bytes.lock();
        first.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(mut client: TcpStream, source: Option<SocketAddr>, daemon: SocketAddr, state: &State) {
    let Ok(mut daemon) = dial(source, daemon).await else {
        return;
    };
    let mut first = vec![0; 4096];
    let Ok(bytes @ 1..) = client.read(&mut first).await else {
        return;
    };
    first.truncate(bytes);
    if daemon.write_all(&first).await.is_err() {
        return;
    }
    state
        .first_bytes
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(first);
    copy_bidirectional(&mut client, &mut daemon).await.ok();
}

async fn dial(source: Option<SocketAddr>, to: SocketAddr) -> io::Result<TcpStream> {
    let Some(source) = source else {
        return TcpStream::connect(to).await;
    };
    let socket = TcpSocket::new_v4()?;
    socket.bind(source)?;
    socket.connect(to).await
}
