//! A program inside of a session that asks for the test.

use std::{
    io::{self, IoSliceMut, Read, Write},
    mem::MaybeUninit,
    os::{
        fd::OwnedFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::PathBuf,
};

use protocol::sessions::{NewSession, Session};
use rustix::io::retry_on_intr;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg, sockopt::socket_peercred};

use crate::{Owner, PATIENCE, TestDaemon, until};

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

/// Connections to the daemon that an orphan of a session made and handed to the test: at their other end the daemon sees the orphan,
/// also when that has ended.
#[derive(Debug)]
pub struct Lent {
    /// The session.
    pub session: Session,
    /// The orphan.
    pub pid: u32,
    /// The connections, none of which has said anything.
    pub connections: Vec<Connection>,
    /// It stays as long as this does.
    _lender: UnixStream,
}

/// One of them, for one request after the other.
#[derive(Debug)]
pub struct Connection(UnixStream);

impl Lent {
    /// Makes a session with an orphan that lends so many connections, and does nothing else until it is killed.
    ///
    /// # Panics
    /// Where it lends none.
    pub async fn of(daemon: &TestDaemon, count: usize) -> Self {
        let desk = daemon.folder().join(format!("lent-{}", unique()));
        let listener = UnixListener::bind(&desk).expect("the folder is writable");
        let script = format!(
            "setsid -f python3 -c '{LENDER}' {} {} {count} </dev/null; read line",
            desk.display(),
            daemon.socket().display()
        );
        let session = daemon.owner().shell(&script).await;
        let borrowing = move || {
            let (lender, _) = listener.accept()?;
            lender.set_read_timeout(Some(PATIENCE))?;
            let connections = (0..count).map(|_| borrow(&lender));
            let connections = connections.collect::<io::Result<Vec<_>>>()?;
            let pid = socket_peercred(&lender)?.pid.as_raw_pid().unsigned_abs();
            Ok::<_, io::Error>((pid, connections, lender))
        };
        let borrowed = crate::within("the connections", tokio::task::spawn_blocking(borrowing)).await;
        let (pid, connections, lender) = borrowed
            .expect("it does not panic")
            .expect("the orphan lends them");
        Self {
            session,
            pid,
            connections,
            _lender: lender,
        }
    }

    /// Whether the orphan runs. One that nobody has waited for does not.
    pub fn is_alive(&self) -> bool {
        // Who has ended has no command line any more.
        std::fs::read(format!("/proc/{}/cmdline", self.pid)).is_ok_and(|line| !line.is_empty())
    }
}

impl Connection {
    /// Sends a request, whose answer may be read later; a body makes it a POST.
    pub fn send(&mut self, path: &str, body: Option<&str>) {
        let method = if body.is_some() { "POST" } else { "GET" };
        let body = body.unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        // Where the daemon has cut the connection, no answer tells it.
        self.0.write_all(format!("{head}{body}").as_bytes()).ok();
    }

    /// The next answer's status and body; none where the daemon has cut the connection. Blocks.
    ///
    /// # Panics
    /// Where the daemon neither answers nor closes.
    pub fn answer(&mut self) -> Option<(u16, String)> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match self.0.read(&mut byte) {
                Ok(0) => return None,
                Ok(_) => head.extend(byte),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return None,
                // A child of another test's has ended.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => panic!("no answer: {error}"),
            }
        }
        let head = String::from_utf8(head).expect("a head is text");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        self.0
            .read_exact(&mut body)
            .expect("an answer is as long as it says");
        let body = String::from_utf8(body).expect("answers are text");
        Some((status.expect("an answer begins with its status"), body))
    }
}

/// Takes the next connection that is handed over.
fn borrow(lender: &UnixStream) -> io::Result<Connection> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    retry_on_intr(|| {
        let mut parts = [IoSliceMut::new(&mut byte)];
        recvmsg(lender, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    let descriptor: Option<OwnedFd> = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let stream = UnixStream::from(descriptor.ok_or(io::ErrorKind::UnexpectedEof)?);
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(Connection(stream))
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

/// Connects to its second argument as often as its third says, hands the connections over at its first, and stays.
const LENDER: &str = "
import socket, sys
desk, daemon, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
lender = socket.socket(socket.AF_UNIX)
lender.connect(desk)
for _ in range(count):
    made = socket.socket(socket.AF_UNIX)
    made.connect(daemon)
    socket.send_fds(lender, [b\"x\"], [made.fileno()])
    made.close()
lender.recv(1)
";
