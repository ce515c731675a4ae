//! A bad link between devices and a daemon.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinHandle,
};

use crate::patience;

/// Passes on what is said both ways in pieces of any size, some of them late, and cuts each connection once it has carried so many
/// bytes of either side, wherever in a frame that is. All of it follows from a seed and the connection's number.
pub struct BadLink {
    address: SocketAddr,
    cuts: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl BadLink {
    /// Listens on a free port of loopback. Each connection carries at least so many bytes of the daemon's before it is cut: who takes
    /// messages of some size gets no further over one that carries less.
    ///
    /// # Panics
    /// Where there is no port.
    pub async fn to(daemon: SocketAddr, seed: u64, least: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let cuts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&cuts);
        let task = tokio::spawn(async move {
            let mut seeds = Random(seed);
            while let Ok((client, _)) = listener.accept().await {
                let (cuts, random) = (Arc::clone(&counted), Random(seeds.next()));
                tokio::spawn(async move {
                    if pass(client, daemon, random, least).await {
                        cuts.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        Self { address, cuts, task }
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections it has cut.
    pub fn cuts(&self) -> usize {
        self.cuts.load(Ordering::SeqCst)
    }
}

impl Drop for BadLink {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Numbers that follow from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        let next = self.next() % end as u64;
        usize::try_from(next).expect("it is below a usize")
    }
}

/// Passes on a connection, and says whether it was cut.
async fn pass(client: TcpStream, daemon: SocketAddr, mut random: Random, least: usize) -> bool {
    let Ok(daemon) = TcpStream::connect(daemon).await else {
        return false;
    };
    let (from_client, to_client) = client.into_split();
    let (from_daemon, to_daemon) = daemon.into_split();
    let up = UNHURT + random.below(MOST);
    let down = least + random.below(MOST);
    let other = Random(random.next());
    tokio::select! {
        is_cut = carry(from_client, to_daemon, up, random) => is_cut,
        is_cut = carry(from_daemon, to_client, down, other) => is_cut,
    }
}

/// Carries at most `left` bytes, and says whether there were as many.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut left: usize, mut random: Random) -> bool {
    let mut piece = [0; 4096];
    loop {
        let room = 1 + random.below(piece.len());
        let Ok(bytes @ 1..) = from.read(&mut piece[..room]).await else {
            return false;
        };
        if random.below(EVERY) == 0 {
            let late = random.below(LATEST_MS);
            patience::pause(Duration::from_millis(late as u64)).await;
        }
        let passed = bytes.min(left);
        if to.write_all(&piece[..passed]).await.is_err() {
            return false;
        }
        left -= passed;
        if left == 0 {
            return true;
        }
    }
}

/// Bytes of a client's that a connection carries unhurt: a handshake, and requests without which nobody comes as far as an attachment.
const UNHURT: usize = 8 * 1024;
/// Bytes beyond, at most.
const MOST: usize = 24 * 1024;
/// One piece of so many is late.
const EVERY: usize = 4;
/// Milliseconds.
const LATEST_MS: usize = 12;
