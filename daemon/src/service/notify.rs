//! What the daemon tells whoever started it as a service (sd_notify(3)).

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
};

use rustix::time::{ClockId, clock_gettime};

/// Tells it, where somebody listens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notifier {
    /// A path, or `@` and an abstract name.
    socket: Option<OsString>,
}

impl Notifier {
    /// The one that the environment names.
    pub(crate) fn of_environment() -> Self {
        Self {
            socket: env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()),
        }
    }

    /// It serves.
    pub(crate) fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={}\n", status.replace('\n', " ")));
    }

    /// It ends.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=ending; sessions go on\n");
    }

    /// It starts again in its own place, with the same process id: it is ready once more when the new one is.
    pub(crate) fn restarting(&self) {
        self.changing("restarting; sessions go on");
    }

    /// It takes up another configuration, and is ready once more when that is done.
    pub(crate) fn reloading(&self) {
        self.changing("reloading");
    }

    fn changing(&self, status: &str) {
        let now = clock_gettime(ClockId::Monotonic);
        let now = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1_000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={now}\nSTATUS={status}\n"));
    }

    /// It lives.
    pub(crate) fn alive(&self) {
        self.tell("WATCHDOG=1\n");
    }

    fn tell(&self, state: &str) {
        let Some(socket) = &self.socket else { return };
        let told = address(socket).and_then(|address| {
            let own = UnixDatagram::unbound()?;
            // Whoever does not read keeps nobody waiting.
            own.set_nonblocking(true)?;
            own.send_to_addr(state.as_bytes(), &address)
        });
        if let Err(error) = told {
            tracing::warn!(%error, "the service manager cannot be told how it stands");
        }
    }
}

fn address(socket: &OsStr) -> io::Result<SocketAddr> {
    match socket.as_bytes().split_first() {
        Some((b'@', name)) => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(socket),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        os::{
            linux::net::SocketAddrExt,
            unix::net::{SocketAddr, UnixDatagram},
        },
        time::Duration,
    };

    use super::Notifier;

    fn heard(listener: &UnixDatagram) -> String {
        listener.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut buffer = [0; 256];
        let length = listener.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[test]
    fn it_tells_at_a_path_and_at_an_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let at_path = UnixDatagram::bind(&path).unwrap();
        let notifier = Notifier {
            socket: Some(path.into()),
        };
        notifier.ready("it\nserves");
        assert_eq!(heard(&at_path), "READY=1\nSTATUS=it serves\n");
        let name = format!("transom-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let abstracted = UnixDatagram::bind_addr(&address).unwrap();
        let notifier = Notifier {
            socket: Some(format!("@{name}").into()),
        };
        notifier.restarting();
        assert!(heard(&abstracted).starts_with("RELOADING=1\nMONOTONIC_USEC="));
    }

    #[test]
    fn nobody_who_listens_is_no_failure() {
        Notifier::default().alive();
        let folder = tempfile::tempdir().unwrap();
        let socket = Some(folder.path().join("nobody").into());
        Notifier { socket }.alive();
    }
}
