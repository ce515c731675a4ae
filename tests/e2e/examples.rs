//! Programs of others: `client/examples/tail.rs`, run as its first line says.

use std::process::Stdio;

use harness::{Elsewhere, TestDaemon, example, within};
use pairing::Role;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::Command,
};

#[tokio::test]
async fn a_program_in_rust_pairs_by_a_link_and_tails_a_session() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("echo ready; read line; echo \"got $line\"").await;
    let link = Elsewhere::link(&daemon, Role::Viewer, daemon.address()).await;
    let mut tail = Command::new(example("client", "tail"))
        .arg(&session.name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = tail.stdin.take().unwrap();
    stdin.write_all(link.as_bytes()).await.unwrap();
    drop(stdin);

    let said = BufReader::new(tail.stderr.take().unwrap());
    let digits = within("the digits", said.lines().next_line()).await;
    let digits = digits.unwrap().expect("the program shows its digits");
    let request = owner.asked().await;
    let shown: String = digits.chars().filter(char::is_ascii_digit).collect();
    assert_eq!(request.code.as_deref(), Some(shown.as_str()));
    assert_eq!(owner.approve(request.id).await.status / 100, 2);

    let mut output = BufReader::new(tail.stdout.take().unwrap());
    let mut text = String::new();
    within("the first line", output.read_line(&mut text))
        .await
        .unwrap();
    assert_eq!(text, "ready\r\n");
    let sent = daemon.cli(&["send", &session.name, "--enter", "hello"]).await;
    assert_eq!(sent.code, 0, "{sent:?}");
    within("the rest", output.read_to_string(&mut text))
        .await
        .unwrap();
    assert!(text.ends_with("got hello\r\n"), "{text:?}");
    assert!(within("its end", tail.wait()).await.unwrap().success());
    assert_eq!(owner.devices().await[0].label, "tail");
}
