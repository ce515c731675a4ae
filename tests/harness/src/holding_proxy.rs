//! A link between a device and a daemon that keeps answers for a while.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Notify, watch},
    task::JoinHandle,
};

use crate::within;

/// Passes everything on. When told to, it keeps the first answer on each new connection until it is told to let it go.
pub struct HoldingProxy {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    is_holding: AtomicBool,
    /// How many answers were kept so far.
    held: watch::Sender<usize>,
    /// How many of these may go.
    let_go: watch::Sender<usize>,
    cut: Notify,
}

impl HoldingProxy {
    /// Listens on a free port of loopback.
    ///
    /// # Panics
    /// Where there is none.
    pub async fn to(daemon: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let state = Arc::new(State::default());
        let passing = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let state = Arc::clone(&passing);
                tokio::spawn(async move {
                    tokio::select! {
                        () = pass(client, daemon, &state) => {}
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

    /// From now on keeps the first answer on each new connection, or of none any more.
    pub fn hold(&self, is_holding: bool) {
        self.state.is_holding.store(is_holding, Ordering::SeqCst);
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.state.cut.notify_waiters();
    }

    /// Waits until so many answers in all were kept.
    ///
    /// # Panics
    /// Where they do not come.
    pub async fn until_held(&self, count: usize) {
        let mut held = self.state.held.subscribe();
        let waited = within("an answer to keep", held.wait_for(|held| *held >= count)).await;
        waited.expect("the proxy lives");
    }

    /// Lets all go that were kept so far.
    pub fn let_go(&self) {
        self.state.let_go.send_replace(*self.state.held.borrow());
    }
}

impl Drop for HoldingProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(client: TcpStream, daemon: SocketAddr, state: &State) {
    let Ok(daemon) = TcpStream::connect(daemon).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_daemon, mut to_daemon) = daemon.into_split();
    let encrypted = AtomicUsize::new(0);
    tokio::select! {
        () = up(&mut from_client, &mut to_daemon, &encrypted) => {}
        () = down(&mut from_daemon, &mut to_client, &encrypted, state) => {}
    }
}

/// Passes on record by record what the client says, and counts the encrypted ones (RFC 8446, 5.1).
async fn up(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, encrypted: &AtomicUsize) {
    loop {
        let mut record = vec![0; HEAD];
        if from.read_exact(&mut record).await.is_err() {
            return;
        }
        let length = usize::from(u16::from_be_bytes([record[3], record[4]]));
        if record[0] == APPLICATION_DATA {
            encrypted.fetch_add(1, Ordering::SeqCst);
        }
        record.resize(HEAD + length, 0);
        if from.read_exact(&mut record[HEAD..]).await.is_err() || to.write_all(&record).await.is_err() {
            return;
        }
    }
}

async fn down(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, encrypted: &AtomicUsize, state: &State) {
    let mut piece = [0; 16 * 1024];
    let mut was_held = false;
    while let Ok(bytes @ 1..) = from.read(&mut piece).await {
        let is_asked = encrypted.load(Ordering::SeqCst) >= FINISHED_AND_A_REQUEST;
        if is_asked && !was_held && state.is_holding.load(Ordering::SeqCst) {
            was_held = true;
            let mut own = 0;
            state.held.send_modify(|held| {
                *held += 1;
                own = *held;
            });
            let mut let_go = state.let_go.subscribe();
            let_go.wait_for(|let_go| *let_go >= own).await.ok();
        }
        if to.write_all(&piece[..bytes]).await.is_err() {
            return;
        }
    }
}

/// Bytes before the body of a record.
const HEAD: usize = 5;
/// The kind of encrypted records.
const APPLICATION_DATA: u8 = 23;
const FINISHED_AND_A_REQUEST: usize = 2;
