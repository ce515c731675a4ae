//! Pipes, JSON and exit codes.

use std::process::Stdio;

use harness::{TestDaemon, within};
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn run_into_a_pipe_gives_every_byte_and_the_programs_code() {
    let daemon = TestDaemon::start().await;
    let finished = daemon
        .cli(&["run", "--", "sh", "-c", "printf 'one\\ntwo'; exit 7"])
        .await;
    assert_eq!(
        (finished.code, finished.stdout.as_str()),
        (7, "one\r\ntwo"),
        "{finished:?}"
    );
    let signal = daemon.cli(&["run", "--", "sh", "-c", "kill -TERM $$"]).await;
    assert_eq!(signal.code, 128 + 15, "{signal:?}");
}

#[tokio::test]
async fn run_into_a_pipe_is_lossless_for_more_than_any_buffer() {
    let daemon = TestDaemon::start().await;
    let finished = daemon.cli(&["run", "--", "seq", "1", "200000"]).await;
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let numbers = finished.stdout.lines().map(|line| line.parse::<u32>().unwrap());
    assert!(numbers.eq(1..=200_000), "every number once and in order");
}

#[tokio::test]
async fn run_passes_a_pipe_on_to_the_program() {
    let daemon = TestDaemon::start().await;
    let mut command = daemon.command(&["run", "--", "sh", "-c", "stty -echo; read a; read b; echo $b $a"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"first\nsecond\n").await.unwrap();
    drop(input);
    let output = within("the end of run", child.wait_with_output()).await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.ends_with("second first\r\n"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_is_said_and_nothing_is_written() {
    let daemon = TestDaemon::start().await;
    let finished = daemon.cli(&["run", "--", "no-such-program"]).await;
    assert_eq!((finished.code, finished.stdout.as_str()), (1, ""), "{finished:?}");
    assert!(finished.stderr.contains("no-such-program"), "{finished:?}");
}

#[tokio::test]
async fn new_and_ls_speak_json_of_the_apis_own_shape() {
    let daemon = TestDaemon::start().await;
    let made = daemon
        .cli(&["new", "--json", "--name", "build", "--", "sleep", "600"])
        .await
        .json();
    let list = daemon.cli(&["ls", "--json"]).await.json();
    assert_eq!(list[0]["id"], made["id"]);
    assert_eq!(
        (&list[0]["name"], &list[0]["state"]),
        (&"build".into(), &"running".into())
    );
    let stopped = daemon.cli(&["stop", "--json", "bui"]).await;
    assert_eq!(stopped.code, 0, "a unique prefix is enough: {stopped:?}");
    let devices = daemon.cli(&["devices", "--json"]).await.json();
    assert_eq!(devices, serde_json::json!([]));
    let status = daemon.cli(&["status", "--json"]).await.json();
    assert_eq!(status["instance"], daemon.ready().instance);
}

#[tokio::test]
async fn run_starts_a_daemon_where_none_runs_and_says_so() {
    let daemon = TestDaemon::start().await;
    let folder = daemon.keep_folder();
    std::fs::write(
        folder.path().join("config.toml"),
        "[listen]\ntls = [\"127.0.0.1:0\"]\n",
    )
    .unwrap();
    let mut ended = daemon;
    ended.signal(rustix::process::Signal::TERM);
    ended.ended().await;
    let finished = ended.cli(&["run", "--", "sh", "-c", "exit 4"]).await;
    assert_eq!(finished.code, 4, "{finished:?}");
    assert!(finished.stderr.contains("started one"), "{finished:?}");
    let down = ended.cli(&["shutdown"]).await;
    assert_eq!(down.code, 0, "{down:?}");
    assert!(!folder.path().join("transom.sock").exists());
}
