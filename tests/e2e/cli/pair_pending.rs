//! `transom pair --pending`, and codes that do not say who is meant.

use std::{
    io::{Read, Write},
    os::unix::net::UnixListener,
    thread,
};

use harness::{Elsewhere, Pairing, TerminalOf, TestDaemon};
use protocol::pairing::{Poll, PollStatus};

#[tokio::test]
async fn who_asks_without_an_offer_is_picked_from_a_live_list() {
    let daemon = TestDaemon::start().await;
    let pending = daemon.command(&["pair", "--pending", "--role", "operator"]);
    let terminal = TerminalOf::start(&pending, 80, 24).await;
    terminal.until_shows("nobody asks").await;
    let mut one = Pairing::without_offer(daemon.address(), daemon.pin());
    let mut other = Pairing::without_offer(daemon.address(), daemon.pin());
    let first = one.ask_as("a tablet").await.grouped();
    terminal.until_shows(&first).await;
    let second = other.ask_as("a stranger").await.grouped();
    let lines = terminal.until_shows(&second).await;
    assert_eq!(lines[0], "Pairing  2 devices ask");
    assert!(
        lines[3].contains(&first) && lines[3].contains("a tablet"),
        "{lines:#?}"
    );
    terminal.types(b"2").await;
    terminal.until_shows("\"a stranger\" asks to be paired").await;
    terminal.types(b"n").await;
    let poll: Poll = other.poll(20).await.ok();
    assert_eq!(poll.status, PollStatus::AccessDenied);
    terminal.until_shows("1 device asks").await;
    terminal.types(b"\x1b[B\r").await;
    terminal.until_shows("y  yes: pair it as operator").await;
    terminal.types(b"y").await;
    terminal.until_shows("finishing").await;
    let exchanged = one.exchange_when_approved().await;
    assert_eq!(exchanged.role, pairing::Role::Operator);
    assert_eq!(one.try_commit(exchanged.token.expose()).await.status, 204);
    terminal.until_shows("Paired \"a tablet\"").await;
    terminal.types(b"q").await;
    assert_eq!(terminal.exit().await.code, Some(0));
    let lines = terminal.until_shows("cuts it off").await;
    assert_eq!(
        lines[0],
        format!("paired \"a tablet\" as operator: {}", exchanged.device_id)
    );
    let snapshot = terminal.snapshot();
    assert!(
        !snapshot.contains("?1049h") && !snapshot.contains("?25l"),
        "{snapshot:?}"
    );
}

#[tokio::test]
async fn elsewhere_than_on_a_terminal_those_who_ask_are_listed_once() {
    let daemon = TestDaemon::start().await;
    let nobody = daemon.cli(&["pair", "--pending"]).await;
    assert_eq!((nobody.code, nobody.stdout.as_str()), (0, ""), "{nobody:?}");
    assert_eq!(
        daemon.cli(&["pair", "--pending", "--json"]).await.json(),
        serde_json::json!([])
    );
    let mut device = Pairing::without_offer(daemon.address(), daemon.pin());
    let code = device.ask().await;
    let listed = daemon.cli(&["pair", "--pending"]).await;
    assert!(
        listed.stdout.contains(&code.grouped()) && listed.stdout.contains("a test's phone"),
        "{listed:?}"
    );
    let json = daemon.cli(&["pair", "--pending", "--json"]).await.json();
    assert_eq!(
        (&json[0]["code"], &json[0]["state"]),
        (&code.to_string().into(), &"pending".into())
    );
    let both = daemon.cli(&["pair", "--pending", "--yes"]).await;
    assert_eq!(both.code, 2, "{both:?}");
}

#[tokio::test]
async fn a_code_that_two_devices_show_approves_and_rejects_none_of_them() {
    let machine = Elsewhere::new();
    let listener = UnixListener::bind(machine.folder().join("transom.sock")).unwrap();
    let asked = thread::spawn(move || {
        (0..2)
            .map(|_| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 4096];
                let length = stream.read(&mut request).unwrap();
                let one = |id: u8| {
                    serde_json::json!({
                        "id": format!("req_000000000000000{id}"), "state": "pending", "code": "493027",
                        "label": "phone", "peer": format!("192.0.2.{id}"), "tailnet": null, "role": "viewer",
                        "offer_id": null, "device_id": null, "expires_at": "2100-01-01T00:00:00Z",
                    })
                };
                let body = serde_json::json!([one(1), one(2)]).to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                stream.write_all((head + &body).as_bytes()).unwrap();
                String::from_utf8_lossy(&request[..length])
                    .lines()
                    .next()
                    .unwrap()
                    .to_owned()
            })
            .collect::<Vec<_>>()
    });
    for verb in ["approve", "reject"] {
        let refused = machine.cli(&[verb, "493-027"]).await;
        assert_eq!(refused.code, 1, "{refused:?}");
        let said = "2 devices show the code 493-027, and nothing was done: phone from 192.0.2.1 (req_0000000000000001)";
        assert!(
            refused.stderr.contains(said) && refused.stderr.contains("reject all"),
            "{refused:?}"
        );
    }
    assert_eq!(asked.join().unwrap(), ["GET /v1/pairing/requests HTTP/1.1"; 2]);
}
