//! A bad link between the command line and a daemon.

use std::{
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    process::Command,
    sync::Notify,
    task::JoinHandle,
};

use crate::TestDaemon;

/// Stands in a folder of its own between clients and a daemon's Unix socket; it cuts attachments, wherever in a frame that
/// may be, and refuses new connections when told to.
pub struct CuttingProxy {
    folder: TempDir,
    link: Arc<Link>,
    task: JoinHandle<()>,
}

struct Link {
    /// How many bytes of the daemon's pass before the attachment with this number is cut.
    cuts: Box<dyn Fn(usize) -> usize + Send + Sync>,
    attachments: AtomicUsize,
    refused: AtomicUsize,
    is_refusing: AtomicBool,
    cut: Notify,
}

impl CuttingProxy {
    /// Listens; `cuts` says for each attachment, counted from 0, how many bytes of the daemon's pass.
    ///
    /// # Panics
    /// Where no folder can be made.
    pub fn to(daemon: &TestDaemon, cuts: impl Fn(usize) -> usize + Send + Sync + 'static) -> Self {
        let mut builder = tempfile::Builder::new();
        let builder = builder.permissions(std::fs::Permissions::from_mode(0o700));
        let folder = builder.tempdir().expect("a folder can be made");
        let listener = UnixListener::bind(folder.path().join("transom.sock")).expect("the folder is new");
        let link = Arc::new(Link {
            cuts: Box::new(cuts),
            attachments: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            is_refusing: AtomicBool::new(false),
            cut: Notify::new(),
        });
        let (passing, socket) = (link.clone(), daemon.socket());
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if passing.is_refusing.load(Ordering::SeqCst) {
                    passing.refused.fetch_add(1, Ordering::SeqCst);
                    continue;
                }
                let (link, socket) = (passing.clone(), socket.clone());
                tokio::spawn(async move { pass(client, &socket, &link).await });
            }
        });
        Self { folder, link, task }
    }

    /// The command line with this link to the daemon, not yet started.
    pub fn command(&self, daemon: &TestDaemon, arguments: &[&str]) -> Command {
        let mut command = daemon.command(arguments);
        command.env("TRANSOM_DIR", self.folder.path());
        command
    }

    /// Cuts all attachments.
    pub fn cut(&self) {
        self.link.cut.notify_waiters();
    }

    /// From now on connections are refused, or not any more.
    pub fn refuse(&self, is_refusing: bool) {
        self.link.is_refusing.store(is_refusing, Ordering::SeqCst);
    }

    /// How many attachments there were, and how many connections were refused.
    pub fn counts(&self) -> (usize, usize) {
        (
            self.link.attachments.load(Ordering::SeqCst),
            self.link.refused.load(Ordering::SeqCst),
        )
    }
}

impl Drop for CuttingProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(client: UnixStream, socket: &Path, link: &Link) {
    let Ok(daemon) = UnixStream::connect(socket).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_daemon, mut to_daemon) = daemon.into_split();
    let up = async {
        tokio::io::copy(&mut from_client, &mut to_daemon).await.ok();
        to_daemon.shutdown().await.ok();
    };
    let down = async {
        let mut piece = [0; 4096];
        let (mut left, mut is_first) = (usize::MAX, true);
        while let Ok(bytes @ 1..) = from_daemon.read(&mut piece).await {
            if std::mem::take(&mut is_first) && piece.starts_with(b"HTTP/1.1 101") {
                left = (link.cuts)(link.attachments.fetch_add(1, Ordering::SeqCst));
            }
            let passed = bytes.min(left);
            left -= if left == usize::MAX { 0 } else { passed };
            if to_client.write_all(&piece[..passed]).await.is_err() || left == 0 {
                return;
            }
        }
    };
    tokio::select! {
        () = async { tokio::join!(up, std::future::pending::<()>()); } => {}
        () = down => {}
        () = link.cut.notified() => {}
    }
}
