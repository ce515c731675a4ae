//! A TCP proxy that stamps what arrives.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
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
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let arrivals = Arrivals::default();
        let stamps = arrivals.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let stamps = stamps.clone();
                tokio::spawn(async move {
                    if let Ok(daemon) = TcpStream::connect(daemon).await {
                        pass(client, daemon, stamps).await;
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

async fn pass(client: TcpStream, daemon: TcpStream, arrivals: Arrivals) {
    let (from_client, to_client) = client.into_split();
    let (from_daemon, to_daemon) = daemon.into_split();
    let up = copy(from_client, to_daemon, |_| ());
    let down = copy(from_daemon, to_client, |bytes| {
        arrivals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((Instant::now(), bytes));
    });
    tokio::join!(up, down);
}

async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, stamp: impl Fn(usize)) {
    let mut piece = vec![0; 16 * 1024];
    while let Ok(bytes) = from.read(&mut piece).await {
        if bytes == 0 {
            break;
        }
        stamp(bytes);
        if to.write_all(&piece[..bytes]).await.is_err() {
            break;
        }
    }
    to.shutdown().await.ok();
}
