//! A TCP proxy that stamps what arrives, and may be slow.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Stands between clients and a daemon, as a tunnel does, and remembers when each piece from the daemon came.
pub struct StampingProxy {
    address: SocketAddr,
    arrivals: Arrivals,
    task: JoinHandle<()>,
}

type Arrivals = Arc<Mutex<Vec<(Instant, usize)>>>;

impl StampingProxy {
    /// Listens on a free port of loopback and passes everything on to the address.
    ///
    /// # Panics
    /// Where there is no free port.
    pub async fn to(daemon: SocketAddr) -> Self {
        Self::with(daemon, None).await
    }

    /// The same, but passes so many bytes of the daemon's on in a second, and takes no more from it.
    ///
    /// # Panics
    /// Where there is no free port.
    pub async fn slow(daemon: SocketAddr, bytes_per_second: u32) -> Self {
        Self::with(daemon, Some(bytes_per_second)).await
    }

    async fn with(daemon: SocketAddr, pace: Option<u32>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let arrivals = Arrivals::default();
        let stamps = arrivals.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let stamps = stamps.clone();
                tokio::spawn(async move {
                    if let Ok(daemon) = TcpStream::connect(daemon).await {
                        pass(client, daemon, stamps, pace).await;
                    }
                });
            }
        });
        Self {
            address,
            arrivals,
            task,
        }
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many bytes of the daemon's came after the moment.
    pub fn bytes_after(&self, moment: Instant) -> usize {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals
            .iter()
            .filter(|(at, _)| *at > moment)
            .map(|(_, bytes)| bytes)
            .sum()
    }

    /// How many bytes of the daemon's came in all.
    pub fn bytes(&self) -> usize {
        self.arrivals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(|(_, bytes)| bytes)
            .sum()
    }
}

impl Drop for StampingProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(client: TcpStream, daemon: TcpStream, arrivals: Arrivals, pace: Option<u32>) {
    let (from_client, to_client) = client.into_split();
    let (from_daemon, to_daemon) = daemon.into_split();
    let up = copy(from_client, to_daemon, None, |_| ());
    let down = copy(from_daemon, to_client, pace, |bytes| {
        arrivals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((Instant::now(), bytes));
    });
    tokio::join!(up, down);
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    pace: Option<u32>,
    stamp: impl Fn(usize),
) {
    let mut piece = vec![0; if pace.is_some() { 512 } else { 16 * 1024 }];
    let mut free_at = tokio::time::Instant::now();
    while let Ok(bytes) = from.read(&mut piece).await {
        if bytes == 0 {
            break;
        }
        stamp(bytes);
        if let Some(pace) = pace {
            let takes = Duration::from_secs_f64(bytes as f64 / f64::from(pace));
            free_at = free_at.max(tokio::time::Instant::now()) + takes;
            tokio::time::sleep_until(free_at).await;
        }
        if to.write_all(&piece[..bytes]).await.is_err() {
            break;
        }
    }
    to.shutdown().await.ok();
}
