//! The daemon as whoever starts services starts it: with sockets (sd_listen_fds(3)), and told of by it (sd_notify(3)).

use std::{
    fs::Permissions,
    io::ErrorKind,
    net::{SocketAddr, TcpListener, TcpStream},
    os::{
        fd::OwnedFd,
        unix::{
            fs::PermissionsExt,
            net::{UnixDatagram, UnixListener, UnixStream},
        },
    },
    path::Path,
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use harness::{DaemonOptions, Finished, TestDaemon, TlsClient, binary, until, within};
use protocol::access::Status;
use rustix::{
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with},
    process::Signal,
};
use tempfile::TempDir;

#[tokio::test]
async fn it_serves_the_sockets_that_it_is_started_with_and_leaves_them_when_it_ends() {
    let (folder, unix) = folder();
    let (tls, port) = port();
    let options = DaemonOptions {
        passed: vec![Arc::clone(&unix), tls],
        arguments: ["--tls".to_owned(), port.clone()].into(),
        ..DaemonOptions::default()
    };
    let mut daemon = TestDaemon::start_in(folder, &options).await;
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    assert!(status.activated);
    let passed = TlsClient::new(port.parse().unwrap(), daemon.pin());
    assert_eq!(passed.get("/v1/health", None).await.status, 200);
    // The kernel tells of the daemon, and not of the test that made the socket.
    let stream = UnixStream::connect(daemon.socket()).unwrap();
    let peer = rustix::net::sockopt::socket_peercred(&stream).unwrap();
    assert_eq!(peer.pid.as_raw_pid().cast_unsigned(), daemon.pid());
    let ended = daemon.cli(&["shutdown"]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(
        ended.stderr.contains("systemctl --user stop transom.socket"),
        "{ended:?}"
    );
    assert!(daemon.ended().await.success());
    UnixStream::connect(daemon.socket()).expect("somebody else listens on");
    // Whoever starts it again passes the same socket.
    let again = DaemonOptions {
        passed: vec![unix],
        ..DaemonOptions::default()
    };
    daemon.start_again_with(&again).await;
    assert_eq!(daemon.owner().get("/v1/health").await.status, 200);
}

#[tokio::test]
async fn a_restart_in_place_keeps_them_and_tells_that_it_is_ready_again() {
    let (folder, unix) = folder();
    let (environment, told) = notify(folder.path());
    let options = DaemonOptions {
        passed: vec![unix],
        environment,
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_in(folder, &options).await;
    assert!(heard(&told, "READY=1").contains("STATUS=serving"));
    let before: Status = daemon.owner().get("/v1/status").await.ok();
    let restarted = daemon.cli(&["restart"]).await;
    assert_eq!(restarted.code, 0, "{restarted:?}");
    assert!(heard(&told, "RELOADING=1").contains("MONOTONIC_USEC="));
    heard(&told, "READY=1");
    let after: Status = daemon.owner().get("/v1/status").await.ok();
    assert_eq!((after.pid, after.activated), (before.pid, true));
    assert_ne!(after.life, before.life);
    daemon.signal(Signal::TERM);
    heard(&told, "STOPPING=1");
}

#[tokio::test]
async fn nobody_connects_to_a_passed_listener_that_a_lock_down_closed_until_that_is_lifted() {
    let (folder, unix) = folder();
    let (tls, port) = port();
    let address: SocketAddr = port.parse().unwrap();
    let options = DaemonOptions {
        passed: vec![unix, tls],
        arguments: ["--tls".to_owned(), port].into(),
        ..DaemonOptions::default()
    };
    let mut daemon = TestDaemon::start_in(folder, &options).await;
    let tls = TlsClient::new(address, daemon.pin());
    assert_eq!(tls.get("/v1/health", None).await.status, 200);
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    assert!(is_refused(address));
    // Somebody who is killed gives nothing back, and who ends does.
    daemon.kill().await;
    daemon.start_again_with(&options).await;
    assert!(is_refused(address));
    assert_eq!(daemon.cli(&["shutdown"]).await.code, 0);
    let mut waiting = TcpStream::connect(address).unwrap();
    daemon.start_again_with(&options).await;
    let answered = std::io::Read::read(&mut waiting, &mut [0]);
    assert_eq!(answered.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(is_refused(address));
    assert_eq!(daemon.cli(&["lockdown", "--lift"]).await.code, 0);
    assert_eq!(tls.get("/v1/health", None).await.status, 200);
}

#[tokio::test]
async fn a_reload_shuts_and_opens_a_passed_listener_and_says_so_to_who_passed_it() {
    let (folder, unix) = folder();
    let (tls, port) = port();
    let address: SocketAddr = port.parse().unwrap();
    let (environment, told) = notify(folder.path());
    let file = folder.path().join("config.toml");
    std::fs::write(&file, format!("listen.tls = [\"{port}\", \"127.0.0.1:0\"]\n")).unwrap();
    let options = DaemonOptions {
        passed: vec![unix, tls],
        listens_as_configured: true,
        environment,
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_in(folder, &options).await;
    let tls = TlsClient::new(address, daemon.pin());
    heard(&told, "READY=1");
    for (addresses, is_open) in [("\"127.0.0.1:0\"", false), (&format!("\"{port}\""), true)] {
        std::fs::write(&file, format!("listen.tls = [{addresses}]\n")).unwrap();
        daemon.cli(&["reload"]).await;
        assert!(heard(&told, "RELOADING=1").contains("MONOTONIC_USEC="));
        heard(&told, "READY=1");
        assert_eq!(is_refused(address), !is_open);
        let status: Status = daemon.owner().get("/v1/status").await.ok();
        let is_said = status
            .degraded
            .iter()
            .any(|said| said.detail.contains("socket unit"));
        assert_eq!(is_said, !is_open, "{status:?}");
    }
    assert_eq!(tls.get("/v1/health", None).await.status, 200);
}

#[tokio::test]
async fn sockets_of_another_process_are_left_alone_and_unconfigured_ones_refused() {
    let (folder, _unix) = folder();
    std::fs::remove_file(folder.path().join("transom.sock")).unwrap();
    let (tls, port) = port();
    let options = DaemonOptions {
        passed: vec![tls],
        environment: vec![("LISTEN_PID".to_owned(), "1".to_owned())],
        ..DaemonOptions::default()
    };
    let mut daemon = TestDaemon::start_in(Arc::clone(&folder), &options).await;
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    assert!(!status.activated && status.tls.iter().all(|tls| tls.address != port));
    daemon.kill().await;
    let refused = started(folder.path(), &options.passed[0], &[]).await;
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stderr.contains(&port) && refused.stderr.contains("listen.tls"),
        "{refused:?}"
    );
    let elsewhere = UnixListener::bind(folder.path().join("other.sock")).unwrap();
    let refused = started(folder.path(), &Arc::new(elsewhere.into()), &[]).await;
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("other.sock"), "{refused:?}");
    let file = std::fs::File::open("/dev/null").unwrap();
    let refused = started(folder.path(), &Arc::new(file.into()), &[]).await;
    assert!(
        refused.code == 1 && refused.stderr.contains("no socket"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn it_gives_signs_of_life_for_as_long_as_it_answers_and_no_longer() {
    let (folder, unix) = folder();
    let (mut environment, told) = notify(folder.path());
    environment.push(("WATCHDOG_USEC".to_owned(), "300000".to_owned()));
    let options = DaemonOptions {
        passed: vec![unix],
        environment,
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_in(folder, &options).await;
    for _ in 0..5 {
        heard(&told, "WATCHDOG=1");
    }
    // Its timers go on, and nobody can ask it for anything.
    let away = daemon.folder().join("away.sock");
    std::fs::rename(daemon.socket(), &away).unwrap();
    until("the log to say so", || async {
        let logs = std::fs::read_dir(daemon.folder().join("log")).ok()?;
        let texts = logs.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
        texts
            .into_iter()
            .any(|text| text.contains("no sign of life"))
            .then_some(())
    })
    .await;
    told.set_nonblocking(true).unwrap();
    while told.recv(&mut [0; 256]).is_ok() {}
    told.set_nonblocking(false).unwrap();
    // Three times as long as the deadline after which it would be ended.
    told.set_read_timeout(Some(Duration::from_millis(900))).unwrap();
    assert!(told.recv(&mut [0; 256]).is_err());
    std::fs::rename(&away, daemon.socket()).unwrap();
    heard(&told, "WATCHDOG=1");
}

#[tokio::test]
async fn what_it_is_told_as_a_service_reaches_no_program_of_a_session() {
    let (folder, unix) = folder();
    let (mut environment, _told) = notify(folder.path());
    environment.push(("WATCHDOG_USEC".to_owned(), "60000000".to_owned()));
    environment.push(("INVOCATION_ID".to_owned(), "0123".to_owned()));
    environment.push(("KEPT".to_owned(), "yes".to_owned()));
    let options = DaemonOptions {
        passed: vec![unix],
        environment,
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_in(folder, &options).await;
    let session = daemon.owner().shell("env; ls /proc/self/fd").await;
    daemon.owner().ended(&session.id).await;
    let logs = daemon.cli(&["logs", &session.id]).await;
    assert!(logs.stdout.contains("KEPT=yes"), "{logs:?}");
    for name in ["LISTEN_", "NOTIFY_SOCKET", "WATCHDOG_", "INVOCATION_ID"] {
        assert!(!logs.stdout.contains(name), "{name}: {logs:?}");
    }
}

#[tokio::test]
async fn a_keeper_that_is_a_service_of_its_own_keeps_sessions_and_leaves_its_socket() {
    let (folder, unix) = folder();
    let path = folder.path().join("keeper.sock");
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&socket, 8).unwrap();
    let mut keeper = tokio::process::Command::new(binary());
    keeper.args(["keep", "transom-service", "--activated"]);
    let mut keeper = keeper
        .stdin(Stdio::from(socket.try_clone().unwrap()))
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let options = DaemonOptions {
        passed: vec![unix],
        ..DaemonOptions::default()
    };
    let mut daemon = TestDaemon::start_in(folder, &options).await;
    let session = daemon.owner().shell("echo begun; exec cat").await;
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    // It is the process that was started, and no child of that.
    assert_eq!(status.keeper.unwrap().pid, keeper.id().unwrap());
    daemon.kill().await;
    daemon.start_again_with(&options).await;
    assert!(daemon.owner().session(&session.id).await.exit.is_none());
    for words in [&["stop", &session.id][..], &["rm", "--purge", &session.id]] {
        let done = daemon.cli(words).await;
        assert_eq!(done.code, 0, "{done:?}");
    }
    assert_eq!(daemon.cli(&["shutdown"]).await.code, 0);
    let ended = within("the keeper's end", keeper.wait()).await.unwrap();
    assert!(ended.success() && path.exists());
}

/// A folder for a daemon, with the socket that it is started with.
fn folder() -> (Arc<TempDir>, Arc<OwnedFd>) {
    let mut builder = tempfile::Builder::new();
    let builder = builder
        .prefix("transom")
        .permissions(Permissions::from_mode(0o700));
    let folder = builder.tempdir().unwrap();
    let socket = UnixListener::bind(folder.path().join("transom.sock")).unwrap();
    (Arc::new(folder), Arc::new(socket.into()))
}

/// A listener as of a socket unit: bound to a port in particular.
fn port() -> (Arc<OwnedFd>, String) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let listener = TcpListener::bind(free).unwrap();
    (Arc::new(listener.into()), free.to_string())
}

fn is_refused(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

/// Where it tells how it stands, and what lets it know of that.
fn notify(folder: &Path) -> (Vec<(String, String)>, UnixDatagram) {
    let path = folder.join("notify.sock");
    let socket = UnixDatagram::bind(&path).unwrap();
    (
        vec![("NOTIFY_SOCKET".to_owned(), path.display().to_string())],
        socket,
    )
}

/// The next that is told with these words in it.
fn heard(told: &UnixDatagram, words: &str) -> String {
    told.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    loop {
        let mut buffer = [0; 512];
        let length = told
            .recv(&mut buffer)
            .unwrap_or_else(|error| panic!("waited for {words}: {error}"));
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        if text.contains(words) {
            return text;
        }
    }
}

/// Starts a daemon with a socket, to its end.
async fn started(folder: &Path, socket: &Arc<OwnedFd>, arguments: &[&str]) -> Finished {
    let script = "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" up --tls 127.0.0.1:0 \"$@\"";
    let mut command = tokio::process::Command::new("/bin/sh");
    command.args(["-c", script]).arg(binary()).args(arguments);
    command.env("TRANSOM_DIR", folder);
    Finished::of(command.stdin(Stdio::from(socket.try_clone().unwrap()))).await
}
