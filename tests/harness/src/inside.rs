//! A program inside of a session that asks for the test.

use std::path::PathBuf;

use protocol::sessions::{NewSession, Session};

use crate::{Owner, TestDaemon, until};

/// A session in which a program passes on to the daemon whatever comes on a socket of its own: the daemon sees that program.
#[derive(Debug)]
pub struct Inside {
    /// The session. A line on its terminal ends it.
    pub session: Session,
    /// Speaks through the program.
    pub client: Owner,
    /// The program's socket.
    pub socket: PathBuf,
}

impl Inside {
    /// Makes the session, with the program as a child of its shell.
    pub async fn of(daemon: &TestDaemon) -> Self {
        Self::start(daemon, "", false).await
    }

    /// The same with a program that left its parents: an orphan of the session.
    pub async fn orphan(daemon: &TestDaemon) -> Self {
        Self::start(daemon, "setsid -f ", false).await
    }

    /// The same in a session whose programs are the owner.
    pub async fn trusted(daemon: &TestDaemon) -> Self {
        Self::start(daemon, "", true).await
    }

    async fn start(daemon: &TestDaemon, how: &str, trusted: bool) -> Self {
        let folder = daemon.folder().join(format!("inside-{}", unique()));
        std::fs::create_dir(&folder).expect("the folder is writable");
        let socket = folder.join("socket");
        let background = if how.is_empty() { " &" } else { "" };
        let script = format!(
            "{how}perl -MIO::Socket::UNIX -MIO::Select -e '{RELAY}' {} {} </dev/null{background}\nread line",
            socket.display(),
            daemon.socket().display()
        );
        let session = NewSession {
            command: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), script],
            trusted,
            ..NewSession::default()
        };
        let session = daemon.owner().post("/v1/sessions", &session).await.ok();
        until("the program inside of the session", || async {
            std::os::unix::net::UnixStream::connect(&socket).ok()
        })
        .await;
        Self {
            session,
            client: Owner::new(socket.clone()),
            socket,
        }
    }
}

fn unique() -> usize {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// Listens at its first argument; each connection is passed on, both ways, to one of its own to the second.
const RELAY: &str = r#"
$SIG{CHLD} = $SIG{HUP} = "IGNORE";
$l = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 64) or die;
while ($c = $l->accept) {
    if (fork) { close $c; next }
    $d = IO::Socket::UNIX->new(Peer => $ARGV[1]) or exit;
    $s = IO::Select->new($c, $d);
    while (@r = $s->can_read) {
        for (@r) {
            sysread($_, $b, 65536) or exit;
            syswrite($_ == $c ? $d : $c, $b);
        }
    }
}"#;
