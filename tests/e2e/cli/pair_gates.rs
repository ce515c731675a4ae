//! The gates on the way of a phone, which `transom pair` looks at before it shows a code.

use std::{
    fs::File,
    time::{Duration, SystemTime},
};

use harness::{
    Authority, DaemonOptions, Elsewhere, Finished, Running, Tailscaled, TerminalOf, TestDaemon, scan,
};
use protocol::pairing::{OfferMade, OfferView};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, UnixListener},
};

const NODE: &str = "127.0.0.2";

async fn offers(daemon: &TestDaemon) -> usize {
    let offers: Vec<OfferView> = daemon.owner().get("/v1/pairing/offers").await.ok();
    offers.len()
}

#[tokio::test]
async fn a_gate_that_is_shut_is_named_with_what_opens_it_before_anything_is_offered() {
    let tailscaled = Tailscaled::start(&[NODE]);
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    for (shut, says, advice) in [
        ("Stopped", "switched off", "sudo tailscale up"),
        ("NeedsLogin", "not signed in", "sudo tailscale up"),
        ("hangs", "does not answer", "restart tailscaled"),
    ] {
        match shut {
            "hangs" => tailscaled.hang(true),
            phase => tailscaled.is_now(phase),
        }
        let said = daemon.cli(&["pair", "--json"]).await;
        assert_eq!(said.code, 1, "{said:?}");
        let problem = said.json();
        assert_eq!(problem["code"], "way_is_shut", "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
        let hint = problem["hint"].as_str().unwrap();
        assert!(hint.contains(advice) && hint.contains("--force"), "{hint}");
        assert_eq!(offers(&daemon).await, 0);
    }
}

#[tokio::test]
async fn a_list_that_lets_nobody_in_is_a_gate_that_is_shut() {
    let tailscaled = Tailscaled::start(&[NODE]);
    let daemon = tailscaled.daemon("[]").await;
    let said = daemon.cli(&["pair"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.stderr.contains("nobody may come") && said.stderr.contains("\"self\""),
        "{said:?}"
    );
    assert_eq!(offers(&daemon).await, 0);
}

#[tokio::test]
async fn a_tailnet_that_waits_for_a_restart_is_a_gate_that_is_shut() {
    let tailscaled = Tailscaled::start(&[NODE]);
    let daemon = TestDaemon::start().await;
    let config = tailscaled.config(r#"["self"]"#);
    std::fs::write(daemon.folder().join("config.toml"), config).unwrap();
    let said = daemon.cli(&["pair"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.stderr.contains("began without it") && said.stderr.contains("`transom restart`"),
        "{said:?}"
    );
    assert_eq!(offers(&daemon).await, 0);
}

#[tokio::test]
async fn the_owner_has_the_code_all_the_same_with_a_word_of_what_is_shut() {
    let tailscaled = Tailscaled::start(&[NODE]);
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    tailscaled.is_now("Stopped");
    let mut pair = Running::start(&mut daemon.command(&["pair", "--json", "--force"]));
    let made: OfferMade = serde_json::from_str(&pair.line().await.unwrap()).unwrap();
    assert!(made.url.expose().starts_with("https://"));
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    let ended = pair.finish().await;
    assert!(
        ended.stderr.contains("warning: the tailnet is switched off"),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("hint: `sudo tailscale up`"), "{ended:?}");
}

#[tokio::test]
async fn what_only_warns_is_said_and_the_code_is_shown() {
    let tailscaled = Tailscaled::start(&[NODE]);
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let terminal = TerminalOf::start(&daemon.command(&["pair"]), 120, 40).await;
    let lines = terminal.until("a code", |lines| scan(lines).is_some()).await;
    let text = lines.join(" ");
    assert!(text.contains("HTTPS is not switched on"), "{lines:#?}");
    terminal.types(b"q").await;
    terminal.exit().await;
    // What was said before the screen is there again behind it.
    let lines = terminal.until_shows("sign in as alice@example.com").await;
    assert!(
        lines.iter().any(|line| line.starts_with("warning: ")),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn a_daemon_without_a_tailnet_shows_its_code_as_ever() {
    let daemon = TestDaemon::start().await;
    let mut pair = Running::start(&mut daemon.command(&["pair", "--json"]));
    let made: OfferMade = serde_json::from_str(&pair.line().await.unwrap()).unwrap();
    assert!(made.url.expose().starts_with("https://localhost:"));
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    let ended = pair.finish().await;
    assert!(!ended.stderr.contains("tailnet"), "{ended:?}");
}

#[tokio::test]
async fn a_certificate_that_is_over_and_a_clock_that_is_behind_are_said_with_the_code() {
    let authority = Authority::new();
    let pair = authority.issue_for_days("desk", &["desk.example"], -1);
    let daemon = TestDaemon::start_with(DaemonOptions {
        config: format!("{}names = [\"desk.example\"]\n", pair.config()),
        ..DaemonOptions::default()
    })
    .await;
    let epoch = File::options()
        .write(true)
        .open(daemon.folder().join("keys/epoch"));
    let later = SystemTime::now() + Duration::from_secs(50 * 60 * 60);
    epoch.unwrap().set_modified(later).unwrap();
    let mut pair = Running::start(&mut daemon.command(&["pair", "--json"]));
    let made: OfferMade = serde_json::from_str(&pair.line().await.unwrap()).unwrap();
    assert!(made.url.expose().starts_with("https://"));
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    let said = pair.finish().await.stderr;
    for words in ["has expired", "renew", "2d behind", "set-ntp"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[tokio::test]
async fn a_listener_that_does_not_answer_is_a_gate_that_is_shut_and_a_missing_app_is_said() {
    let real = TestDaemon::start().await;
    let health: Value = real.owner().get("/v1/health").await.ok();
    let mut status: Value = real.owner().get("/v1/status").await.ok();
    // Bound, so that nobody else is there either, and not listened at.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = socket.local_addr().unwrap().to_string();
    status["tls"][0]["address"] = nobody.as_str().into();
    status["link_authority"] = nobody.as_str().into();
    status["web_app"] = false.into();
    let folder = Elsewhere::new();
    let listener = UnixListener::bind(folder.folder().join("transom.sock")).unwrap();
    let answers = [health, status].map(|answer| answer.to_string());
    let said = stood_in_for(&listener, &answers, folder.cli(&["pair", "--json"])).await;
    assert_eq!(said.code, 1, "{said:?}");
    let problem = said.json();
    assert_eq!(problem["code"], "way_is_shut", "{problem}");
    assert!(problem["detail"].to_string().contains(&nobody), "{problem}");
    let said = stood_in_for(&listener, &answers, folder.cli(&["pair", "--force"])).await;
    assert!(
        said.stderr.contains("browsers find no page") && said.stderr.contains("cargo xtask web"),
        "{said:?}"
    );
}

/// What a command says to whom this answers in the place of a daemon: its health, and to all else its status.
async fn stood_in_for(
    listener: &UnixListener,
    [health, status]: &[String; 2],
    command: impl Future<Output = Finished>,
) -> Finished {
    let answer = async {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let body = match head.starts_with(b"GET /v1/health ") {
                true => health,
                false => status,
            };
            let length = body.len();
            let answer =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    };
    tokio::select! {
        said = command => said,
        () = answer => unreachable!("it answers for good"),
    }
}
