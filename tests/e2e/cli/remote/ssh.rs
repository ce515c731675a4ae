//! Ways over SSH, by a real server on the loopback.

use std::{fs, net::SocketAddr, os::unix::fs::PermissionsExt, process::Stdio};

use harness::{
    Elsewhere, Finished, KnownHost, Running, Sshd, SshdOptions, TerminalOf, TestDaemon, TlsClient,
    descendants, until, within,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{net::TcpListener, process::Command};

#[tokio::test]
async fn open_says_where_a_checked_tunnel_begins_and_ends_by_ctrl_c_with_its_ssh() {
    let daemon = TestDaemon::start().await;
    let sshd = Sshd::start(daemon.folder()).await;
    let elsewhere = Elsewhere::new();
    let destination = sshd.destination();
    let (mut open, opened) = opened(&elsewhere, &sshd, &[&destination]).await;
    assert_eq!(opened["instance"], daemon.ready().instance);
    assert_eq!(opened["pin"], daemon.pin());
    let near = near(&opened);
    assert!(
        opened["url"]
            .as_str()
            .unwrap()
            .ends_with(&format!("localhost:{}/", near.port()))
    );
    // It leads to the listener, where who comes is nobody, and not to the owner's socket.
    let client = TlsClient::new(near, daemon.pin());
    assert_eq!(client.get("/v1/health", None).await.status, 200);
    assert_eq!(client.get("/v1/whoami", None).await.status, 401);
    assert_eq!(client.get("/v1/status", None).await.status, 401);
    let below = descendants(open.pid());
    assert!(!below.is_empty());
    signal(open.pid(), Signal::INT);
    assert_eq!(open.line().await, None);
    let ended = open.finish().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    until("the end of its ssh", || async {
        below.iter().all(|pid| is_gone(*pid)).then_some(())
    })
    .await;
    assert!(tokio::net::TcpStream::connect(near).await.is_err());
    assert!(sockets(&elsewhere).is_empty());
}

#[tokio::test]
async fn open_goes_by_the_daemons_own_name_where_that_leads_here_and_opens_the_browser() {
    let daemon = TestDaemon::start().await;
    let sshd = Sshd::start(daemon.folder()).await;
    let elsewhere = Elsewhere::new();
    let name = format!("{}.localhost", daemon.ready().instance);
    let at = |file: &str| elsewhere.folder().join(file);
    fs::write(at("hosts"), format!("127.0.0.1 localhost {name}\n")).unwrap();
    // In the place of the desktop's.
    let browser = at("xdg-open");
    fs::write(
        &browser,
        "#!/bin/sh\necho \"$1\" >\"$HOME/new\" && mv \"$HOME/new\" \"$HOME/opened\"\n",
    )
    .unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let script = "mount --bind \"$HOME/hosts\" /etc/hosts && PATH=\"$HOME:$PATH\" exec \"$0\" \"$@\"";
    let plain = command(&elsewhere, &sshd, &["open", "--json", &sshd.destination()]);
    let plain = plain.as_std();
    let mut with_hosts = Command::new("unshare");
    with_hosts
        .args(["-m", "sh", "-c", script])
        .arg(plain.get_program())
        .args(plain.get_args())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("DISPLAY", ":0");
    let mut open = Running::start(&mut with_hosts);
    let opened: Value = serde_json::from_str(&open.line_with("{").await).unwrap();
    let url = format!("https://{name}:{}/", near(&opened).port());
    assert_eq!(opened["url"], url, "this test needs root");
    let shown = until("the browser", async || fs::read_to_string(at("opened")).ok()).await;
    assert_eq!(shown.trim(), url);
    signal(open.pid(), Signal::INT);
    assert_eq!(open.finish().await.code, 0);
}

#[tokio::test]
async fn ctrl_c_ends_open_without_a_word_though_its_ssh_ends_first() {
    let daemon = TestDaemon::start().await;
    let sshd = Sshd::start(daemon.folder()).await;
    let elsewhere = Elsewhere::new();
    let (open, _) = opened(&elsewhere, &sshd, &[&sshd.destination()]).await;
    // As a terminal does it, to all of its foreground.
    for pid in descendants(open.pid()) {
        signal(pid, Signal::INT);
    }
    signal(open.pid(), Signal::INT);
    let ended = open.finish().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    assert_eq!(ended.stdout.lines().count(), 1, "{ended:?}");
}

#[tokio::test]
async fn open_uses_the_same_port_for_the_same_daemon_and_says_so_where_it_cannot() {
    let daemon = TestDaemon::start().await;
    let sshd = Sshd::start(daemon.folder()).await;
    let elsewhere = Elsewhere::new();
    let destination = sshd.destination();
    let (first, opened_first) = opened(&elsewhere, &sshd, &[&destination]).await;
    let (second, opened_second) = opened(&elsewhere, &sshd, &[&destination]).await;
    assert_ne!(near(&opened_first), near(&opened_second));
    signal(second.pid(), Signal::TERM);
    let second = second.finish().await;
    assert!(
        second
            .stderr
            .contains(&format!("port {}", near(&opened_first).port())),
        "{second:?}"
    );
    signal(first.pid(), Signal::INT);
    first.finish().await;
    let (third, opened_third) = opened(&elsewhere, &sshd, &[&destination]).await;
    assert_eq!(near(&opened_first), near(&opened_third));
    signal(third.pid(), Signal::INT);
    third.finish().await;
}

#[tokio::test]
async fn open_ends_and_says_so_when_its_ssh_ends() {
    let daemon = TestDaemon::start().await;
    let sshd = Sshd::start(daemon.folder()).await;
    let elsewhere = Elsewhere::new();
    let (open, _) = opened(&elsewhere, &sshd, &[&sshd.destination()]).await;
    for pid in descendants(open.pid()) {
        signal(pid, Signal::TERM);
    }
    let ended = open.finish().await;
    assert_eq!(ended.code, 3, "{ended:?}");
    let problem: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(problem["code"], "ssh_unreachable");
}

#[tokio::test]
async fn nothing_of_it_is_left_where_the_command_is_killed() {
    let daemon = TestDaemon::start().await;
    let sshd = Sshd::start(daemon.folder()).await;
    let elsewhere = Elsewhere::new();
    let (open, _) = opened(&elsewhere, &sshd, &[&sshd.destination()]).await;
    let below = descendants(open.pid());
    signal(open.pid(), Signal::KILL);
    open.finish().await;
    until("the end of its ssh", || async {
        below.iter().all(|pid| is_gone(*pid)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_remote_is_added_over_ssh_and_verbs_with_on_go_by_a_tunnel_of_their_own() {
    let daemon = TestDaemon::start().await;
    let sshd = Sshd::start(daemon.folder()).await;
    let elsewhere = Elsewhere::new();
    added(&daemon, &sshd, &elsewhere).await;
    let listed = elsewhere.cli(&["remote", "list", "--json"]).await;
    let remote = &listed.json()[0];
    assert_eq!(remote["ssh"], sshd.destination());
    assert_eq!(remote["address"], daemon.address().to_string());
    assert_eq!(remote["pin"], daemon.pin());
    let me = run(&elsewhere, &sshd, &["--on", "desk", "whoami", "--json"]).await;
    assert_eq!(me.json()["principal"], "device", "{me:?}");
    let made = run(&elsewhere, &sshd, &["--on", "desk", "new", "--json", "cat"]).await;
    assert_eq!(made.code, 0, "{made:?}");
    let removed = run(&elsewhere, &sshd, &["remote", "rm", "desk"]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    assert!(daemon.owner().devices().await.is_empty());
    assert!(sockets(&elsewhere).is_empty());
}

#[tokio::test]
async fn an_attachment_goes_on_over_a_new_tunnel_where_its_ssh_ended() {
    let daemon = TestDaemon::start().await;
    let sshd = Sshd::start(daemon.folder()).await;
    let elsewhere = Elsewhere::new();
    added(&daemon, &sshd, &elsewhere).await;
    let session = daemon.owner().shell("echo ready; exec cat").await;
    let terminal = TerminalOf::start(
        &command(&elsewhere, &sshd, &["--on", "desk", "attach", &session.id]),
        100,
        30,
    )
    .await;
    terminal.until_shows("ready").await;
    let ssh = until("its ssh", || async { ssh_of(&elsewhere).into_iter().next() }).await;
    signal(ssh, Signal::KILL);
    until("another ssh", || async {
        ssh_of(&elsewhere).into_iter().find(|pid| *pid != ssh)
    })
    .await;
    terminal.types(b"after\r").await;
    terminal.until_shows("after").await;
}

#[tokio::test]
async fn the_pin_of_a_remote_holds_whatever_the_far_side_says() {
    let daemon = TestDaemon::start().await;
    let sshd = Sshd::start(daemon.folder()).await;
    let elsewhere = Elsewhere::new();
    added(&daemon, &sshd, &elsewhere).await;
    let wrong = "sha256/LHDhK3oGRvkiefQnx7OOczTY5Tic_xZ6HcMOc_gmtoM";
    let text = std::fs::read_to_string(elsewhere.desk_file()).unwrap();
    std::fs::write(elsewhere.desk_file(), text.replace(daemon.pin(), wrong)).unwrap();
    for verb in [&["open", "desk", "--no-browser"][..], &["--on", "desk", "ls"]] {
        let refused = run(&elsewhere, &sshd, verb).await;
        assert_eq!(refused.code, 4, "{refused:?}");
        assert!(refused.stderr.contains(wrong) && refused.stderr.contains(daemon.pin()));
    }
}

#[tokio::test]
async fn each_way_to_fail_has_its_own_error_and_exit_code() {
    let daemon = TestDaemon::start().await;
    let options = SshdOptions::default;
    let cases = [
        (
            SshdOptions {
                known: KnownHost::Unknown,
                ..options()
            },
            4,
            "ssh_host_key",
        ),
        (
            SshdOptions {
                known: KnownHost::Wrong,
                ..options()
            },
            4,
            "ssh_host_key",
        ),
        (
            SshdOptions {
                client: "IdentityFile /dev/null\nPubkeyAuthentication no".to_owned(),
                ..options()
            },
            4,
            "ssh_not_permitted",
        ),
        (
            SshdOptions {
                client: "Port 1".to_owned(),
                ..options()
            },
            3,
            "ssh_unreachable",
        ),
        (
            SshdOptions {
                is_without_transom: true,
                ..options()
            },
            3,
            "no_transom_there",
        ),
        (
            SshdOptions {
                server: "AllowTcpForwarding no".to_owned(),
                ..options()
            },
            4,
            "forwarding_refused",
        ),
    ];
    for (options, code, name) in cases {
        let sshd = Sshd::start_with(daemon.folder(), options).await;
        refused(&sshd, &[], code, name).await;
    }
}

#[tokio::test]
async fn no_daemon_there_no_listener_there_and_a_port_in_use_here_are_told_apart() {
    let nowhere = tempfile::tempdir().unwrap();
    let sshd = Sshd::start(nowhere.path()).await;
    refused(&sshd, &[], 3, "no_daemon_there").await;
    let daemon = TestDaemon::start().await;
    let sshd = Sshd::start(daemon.folder()).await;
    let held = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = held.local_addr().unwrap().port().to_string();
    refused(&sshd, &["--port", &port], 1, "port_in_use").await;
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    refused(&sshd, &[], 3, "no_listener_there").await;
}

#[tokio::test]
async fn without_an_ssh_it_says_what_to_install_and_an_option_is_no_destination() {
    let elsewhere = Elsewhere::new();
    let empty = tempfile::tempdir().unwrap();
    let mut command = elsewhere.command(&["open", "ann@desk", "--no-browser", "--json"]);
    command.env("PATH", empty.path()).stdin(Stdio::null());
    let missing = Finished::of(&mut command).await;
    assert_eq!(
        (missing.code, missing.json()["code"].as_str()),
        (1, Some("no_ssh"))
    );
    for destination in ["-oProxyCommand=touch /tmp/x", "ann@desk -v", ""] {
        let refused = elsewhere.cli(&["open", "--no-browser", "--", destination]).await;
        assert_eq!(refused.code, 2, "{refused:?}");
    }
}

#[tokio::test]
async fn the_command_there_may_be_called_otherwise() {
    let daemon = TestDaemon::start().await;
    let options = SshdOptions {
        is_without_transom: true,
        ..SshdOptions::default()
    };
    let sshd = Sshd::start_with(daemon.folder(), options).await;
    let elsewhere = Elsewhere::new();
    let program = harness::binary().display().to_string();
    let (open, opened) = opened(&elsewhere, &sshd, &[&sshd.destination(), "--program", &program]).await;
    assert_eq!(opened["instance"], daemon.ready().instance);
    signal(open.pid(), Signal::INT);
    assert_eq!(open.finish().await.code, 0);
}

/// Opens, and reads what it says when it has.
async fn opened(elsewhere: &Elsewhere, sshd: &Sshd, arguments: &[&str]) -> (Running, Value) {
    let mut all = vec!["open", "--no-browser", "--json"];
    all.extend(arguments);
    let mut open = Running::start(&mut command(elsewhere, sshd, &all));
    let line = open.line_with("{").await;
    let opened: Value = serde_json::from_str(&line).unwrap();
    assert!(opened["url"].is_string(), "{line}");
    (open, opened)
}

fn near(opened: &Value) -> SocketAddr {
    let port = opened["port"].as_u64().unwrap();
    format!("127.0.0.1:{port}").parse().unwrap()
}

#[tokio::test]
async fn doctor_goes_the_way_over_ssh_step_by_step() {
    let daemon = TestDaemon::start().await;
    let sshd = Sshd::start(daemon.folder()).await;
    let elsewhere = Elsewhere::new();
    added(&daemon, &sshd, &elsewhere).await;
    let doctor = ["--on", "desk", "doctor", "--json"];
    let state = |said: &Finished, check: &str| {
        let found = said.json();
        let mut found = found.as_array().unwrap().iter();
        let found = found.find(|found| found["check"] == check);
        found.map(|found| (found["state"].clone(), found["detail"].to_string()))
    };
    let said = run(&elsewhere, &sshd, &doctor).await;
    assert_eq!(said.code, 0, "{said:?}");
    for check in ["ssh", "tls", "token"] {
        assert_eq!(state(&said, check).unwrap().0, "ok", "{said:?}");
    }
    assert_eq!(daemon.cli(&["shutdown"]).await.code, 0);
    let said = run(&elsewhere, &sshd, &doctor).await;
    assert_eq!(said.code, 1, "{said:?}");
    let (state, detail) = state(&said, "ssh").unwrap();
    assert!(state == "failed" && detail.contains("no daemon runs"), "{said:?}");
}

/// Pairs over SSH as an operator, under the name `desk`.
async fn added(daemon: &TestDaemon, sshd: &Sshd, elsewhere: &Elsewhere) {
    let destination = sshd.destination();
    let mut add = command(
        elsewhere,
        sshd,
        &["remote", "add", "--label", "a laptop", &destination],
    );
    let (added, seen) = tokio::join!(Finished::of(add.stdin(Stdio::null())), async {
        let request = daemon.owner().asked().await;
        let code = request.code.clone().unwrap();
        let approved = daemon.cli(&["approve", &code, "--role", "operator"]).await;
        assert_eq!(approved.code, 0, "{approved:?}");
        code
    });
    assert_eq!(added.code, 0, "{added:?}");
    let code: pairing::PairingCode = seen.parse().unwrap();
    let how = format!("ssh {destination} transom approve {}", code.grouped());
    assert!(
        added.stderr.contains(&how) && added.stdout.contains("paired with desk"),
        "{added:?}"
    );
}

async fn refused(sshd: &Sshd, arguments: &[&str], code: i32, name: &str) {
    let (elsewhere, destination) = (Elsewhere::new(), sshd.destination());
    let mut all = vec!["open", &destination, "--no-browser", "--json"];
    all.extend(arguments);
    let refused = run(&elsewhere, sshd, &all).await;
    assert_eq!(
        (refused.code, refused.json()["code"].as_str()),
        (code, Some(name)),
        "{refused:?}"
    );
    assert!(!refused.json()["hint"].as_str().unwrap().is_empty());
    assert!(sockets(&elsewhere).is_empty());
}

fn command(elsewhere: &Elsewhere, sshd: &Sshd, arguments: &[&str]) -> Command {
    let mut command = elsewhere.command(arguments);
    sshd.on_path(&mut command);
    command
}

async fn run(elsewhere: &Elsewhere, sshd: &Sshd, arguments: &[&str]) -> Finished {
    within(
        "a command over SSH",
        Finished::of(command(elsewhere, sshd, arguments).stdin(Stdio::null())),
    )
    .await
}

/// The sockets by which one `ssh` speaks to another, in the folder of the machine.
fn sockets(elsewhere: &Elsewhere) -> Vec<String> {
    let entries = std::fs::read_dir(elsewhere.folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.starts_with('s') && name.len() == 9)
        .collect()
}

/// The processes of `ssh` that carry a tunnel of the machine.
fn ssh_of(elsewhere: &Elsewhere) -> Vec<u32> {
    let path = format!("ControlPath={}/", elsewhere.folder().display());
    let pids = std::fs::read_dir("/proc").unwrap();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&path)
    })
    .collect()
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).ok();
}

fn is_gone(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state
        .rsplit_once(") ")
        .is_none_or(|(_, state)| state.starts_with('Z'))
}
