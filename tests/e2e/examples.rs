//! Programs of others: `client/examples/tail.rs` and `docs/examples/tail.py`, run as their first lines say.

use std::{fs, process::Stdio};

use harness::{Elsewhere, Finished, TestDaemon, example, python, within};
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

#[tokio::test]
async fn a_program_in_python_types_a_line_into_a_session_and_tails_it_to_its_end() {
    let daemon = TestDaemon::start().await;
    let session = daemon
        .owner()
        .shell("echo ready; read line; echo \"got $line\"; exit 7")
        .await;
    let token = token(&daemon, &["--dangerous-operator"]).await;
    let ended = tail_py(&daemon, &token, &[&session.name, "hello"]).await;
    assert_eq!(ended.code, 7, "{ended:?}");
    assert!(ended.stdout.starts_with("ready\r\n"), "{ended:?}");
    assert!(ended.stdout.ends_with("got hello\r\n"), "{ended:?}");
}

#[tokio::test]
async fn a_program_in_python_that_may_only_look_tails_a_session_and_types_nothing() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("echo one; echo two").await;
    owner.ended(&session.id).await;
    let token = token(&daemon, &[]).await;
    let ended = tail_py(&daemon, &token, &[&session.name]).await;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (0, "one\r\ntwo\r\n"),
        "{ended:?}"
    );
    let refused = tail_py(&daemon, &token, &[&session.name, "hello"]).await;
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    let unknown = tail_py(&daemon, "tsm_dev_nobody", &[&session.name]).await;
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.stderr.contains("token"), "{unknown:?}");
}

/// The token of a device for a script.
async fn token(daemon: &TestDaemon, rights: &[&str]) -> String {
    let mut arguments = vec!["devices", "add", "tail", "--expires", "1d"];
    arguments.extend(rights);
    let added = daemon.cli(&arguments).await;
    assert_eq!(added.code, 0, "{added:?}");
    added.stdout.trim().to_owned()
}

/// Runs the example by the daemon's own certificate.
async fn tail_py(daemon: &TestDaemon, token: &str, arguments: &[&str]) -> Finished {
    let exported = daemon.cli(&["certs", "export"]).await;
    assert_eq!(exported.code, 0, "{exported:?}");
    let certificate = daemon.folder().join("transom.pem");
    fs::write(&certificate, exported.stdout).unwrap();
    let mut command = Command::new(python());
    command
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/examples/tail.py"
        ))
        .arg(format!("localhost:{}", daemon.address().port()))
        .args(arguments)
        .env("TOKEN", token)
        .env("SSL_CERT_FILE", certificate)
        .stdin(Stdio::null());
    Finished::of(&mut command).await
}
