//! The verbs that steer, look at and keep sessions, as scripts use them.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, process::Stdio};

use harness::{TerminalOf, TestDaemon, within};
use protocol::sessions::Session;
use tokio::io::AsyncWriteExt;

const ECHO: &str = "stty -echo; echo ready; while read line; do echo got:$line:; done";

/// A session that says what it reads, and is ready to.
async fn echoing(daemon: &TestDaemon) -> Session {
    let session = daemon.owner().shell(ECHO).await;
    let ready = daemon.cli(&["wait", &session.name, "--text", "^ready$"]).await;
    assert_eq!((ready.code, ready.stdout.as_str()), (0, "ready\n"), "{ready:?}");
    session
}

#[tokio::test]
async fn what_is_sent_and_pressed_reaches_the_program() {
    let daemon = TestDaemon::start().await;
    let session = echoing(&daemon).await;
    let name = session.name.as_str();
    assert_eq!(daemon.cli(&["send", name, "--enter", "hello"]).await.code, 0);
    assert_eq!(daemon.cli(&["wait", name, "--text", "got:hello:"]).await.code, 0);
    assert_eq!(daemon.cli(&["send", name, "--", "--not-a-flag"]).await.code, 0);
    assert_eq!(daemon.cli(&["send", name, "--enter"]).await.code, 0);
    assert_eq!(
        daemon
            .cli(&["wait", name, "--text", "got:--not-a-flag:"])
            .await
            .code,
        0
    );
    let pressed = daemon.cli(&["keys", name, "a", "b", "Backspace", "Enter"]).await;
    assert_eq!(pressed.code, 0, "{pressed:?}");
    assert_eq!(daemon.cli(&["wait", name, "--text", "got:a:"]).await.code, 0);
    let json = daemon.cli(&["keys", "--json", name, "C-c"]).await.json();
    assert_eq!(json["id"], session.id);
    assert_eq!(daemon.cli(&["wait", name]).await.code, 0);
}

#[tokio::test]
async fn a_variable_that_is_not_text_is_named_to_who_starts_a_program() {
    let daemon = TestDaemon::start().await;
    for verb in ["run", "new"] {
        let mut command = daemon.command(&[verb, "true"]);
        command.env("LATIN", OsString::from_vec(b"caf\xe9".to_vec()));
        let finished = within("the verb", command.output()).await.unwrap();
        assert!(finished.status.success(), "{finished:?}");
        let said = String::from_utf8(finished.stderr).unwrap();
        assert!(said.contains("variables: LATIN\n"), "{said}");
    }
}

#[tokio::test]
async fn a_pipe_is_sent_whole() {
    let daemon = TestDaemon::start().await;
    let session = echoing(&daemon).await;
    let mut command = daemon.command(&["send", &session.name, "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"one\ntwo\n").await.unwrap();
    drop(input);
    let output = within("the end of send", child.wait_with_output()).await.unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert_eq!(
        daemon
            .cli(&["wait", &session.name, "--text", "got:two:"])
            .await
            .code,
        0
    );
    let screen = daemon.cli(&["screen", &session.name]).await;
    assert_eq!(screen.stdout, "ready\ngot:one:\ngot:two:\n", "{screen:?}");
}

#[tokio::test]
async fn wait_tells_what_came_true_by_its_exit_code() {
    let daemon = TestDaemon::start().await;
    let session = echoing(&daemon).await;
    let name = session.name.as_str();
    let late = daemon.cli(&["wait", name, "--exit", "--timeout", "50ms"]).await;
    assert_eq!(late.code, 5, "{late:?}");
    assert!(late.stderr.contains("did not come true in time"), "{late:?}");
    let idle = daemon.cli(&["wait", name, "--idle", "50ms"]).await;
    assert_eq!((idle.code, idle.stdout), (0, format!("{name} is idle\n")));
    let bad = daemon
        .cli(&["wait", name, "--text", "(", "--timeout", "1s"])
        .await;
    assert_eq!(bad.code, 1, "{bad:?}");
    daemon.cli(&["keys", name, "C-c"]).await;
    let ended = daemon.cli(&["wait", name, "--exit"]).await;
    assert_eq!(
        (ended.code, ended.stdout),
        (0, format!("{name} was ended by SIGINT\n"))
    );
    let never = daemon.cli(&["wait", name, "--text", "never"]).await;
    assert_eq!(never.code, 1, "{never:?}");
    assert!(never.stderr.contains("before it came true"), "{never:?}");
    let json = daemon.cli(&["wait", name, "--json"]).await.json();
    assert_eq!(
        (&json["reason"], &json["session"]["exit"]["signal"]),
        (&"exit".into(), &2.into())
    );
}

#[tokio::test]
async fn logs_give_every_byte_its_last_lines_and_its_rest() {
    let daemon = TestDaemon::start().await;
    let session = daemon
        .owner()
        .shell("seq 1 20000; printf '\\033[?1003h\\033[31mred'")
        .await;
    daemon.owner().ended(&session.id).await;
    let name = session.name.as_str();
    let all = daemon.cli(&["logs", name]).await;
    let numbers: String = (1..=20_000).map(|number| format!("{number}\r\n")).collect();
    assert_eq!(all.stdout, format!("{numbers}\x1b[?1003h\x1b[31mred"));
    let followed = daemon.cli(&["logs", "-f", name]).await;
    assert_eq!((followed.code, followed.stdout), (0, all.stdout.clone()));
    let last = daemon.cli(&["logs", "-n", "2", name]).await;
    assert_eq!(last.stdout, "20000\r\n\x1b[?1003h\x1b[31mred");
    let rest = daemon.cli(&["logs", name, "--from", "100000"]).await;
    assert_eq!(rest.stdout, all.stdout[100_000..]);
    let beyond = daemon.cli(&["logs", name, "--from", "9999999"]).await;
    assert_eq!((beyond.code, beyond.stdout.as_str()), (1, ""), "{beyond:?}");
    let json = daemon.cli(&["logs", "-n", "1", "--json", name]).await.json();
    assert_eq!(json["next_offset"], json["end"]);
    assert_eq!(
        (&json["running"], &json["exit"]["code"]),
        (&false.into(), &0.into())
    );
}

#[tokio::test]
async fn logs_that_follow_give_each_byte_once_until_the_end() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("echo ready; read x; seq 1 50000").await;
    let child = daemon
        .command(&["logs", "-f", &session.name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    daemon.cli(&["wait", &session.name, "--text", "ready"]).await;
    daemon.cli(&["send", "--enter", &session.name]).await;
    let output = within("the end of logs", child.wait_with_output()).await.unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{:?}",
        output.stderr
    );
    let numbers: String = (1..=50_000).map(|number| format!("{number}\r\n")).collect();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        format!("ready\r\n\r\n{numbers}")
    );
}

#[tokio::test]
async fn logs_on_a_terminal_leave_it_as_it_was() {
    let daemon = TestDaemon::start().await;
    let session = daemon
        .owner()
        .shell("printf 'plain\\n\\033[?1049h\\033[?1003h\\033[2J\\033[5;5H\\033]0;mine\\007\\033[31mred'")
        .await;
    daemon.owner().ended(&session.id).await;
    let terminal = TerminalOf::start(&daemon.command(&["logs", &session.name]), 60, 10).await;
    assert_eq!(terminal.exit().await.code, Some(0));
    let lines = terminal.until_shows("red").await;
    assert_eq!(&lines[..2], ["plain", "red"]);
    let snapshot = terminal.snapshot();
    for mode in ["?1049h", "?1003h", "mine"] {
        assert!(!snapshot.contains(mode), "{mode} is left: {snapshot:?}");
    }
}

#[tokio::test]
async fn screen_shows_text_colours_or_json_and_lines_above() {
    let daemon = TestDaemon::start().await;
    let session = daemon
        .owner()
        .shell("seq 1 40; printf '\\033[31mred\\033[m'; read x")
        .await;
    let name = session.name.as_str();
    daemon.cli(&["wait", name, "--text", "red"]).await;
    let text = daemon.cli(&["screen", name]).await.stdout;
    assert!(text.starts_with("12\n") && text.ends_with("40\nred\n"), "{text}");
    let ansi = daemon.cli(&["screen", "--ansi", name]).await.stdout;
    assert!(ansi.contains("\x1b[") && ansi.contains("31m"), "{ansi:?}");
    let more = daemon.cli(&["screen", "-n", "3", name]).await.stdout;
    assert!(more.starts_with("9\n"), "{more}");
    let json = daemon.cli(&["screen", "--json", name]).await.json();
    assert_eq!(
        (&json["size"]["columns"], &json["alternate"]),
        (&100.into(), &false.into())
    );
    let unmarked = daemon.cli(&["screen", "--last-command", name]).await;
    assert_eq!(unmarked.code, 1, "{unmarked:?}");
}

#[tokio::test]
async fn a_deleted_session_comes_back_until_it_is_purged() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("echo kept; read x").await;
    let name = session.name.as_str();
    daemon.cli(&["wait", name, "--text", "kept"]).await;
    let removed = daemon.cli(&["rm", name]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    assert!(
        removed.stdout.contains(&format!("`transom restore {name}`")),
        "{removed:?}"
    );
    assert_eq!(daemon.cli(&["ls", "--json"]).await.json(), serde_json::json!([]));
    let deleted = daemon.cli(&["ls", "--deleted", "--json"]).await.json();
    assert_eq!(deleted[0]["id"], session.id);
    assert!(daemon.cli(&["ls", "--deleted"]).await.stdout.contains("kept"));
    assert_eq!(daemon.cli(&["restore", "nobody"]).await.code, 1);
    assert_eq!(daemon.cli(&["restore", name]).await.code, 0);
    let screen = daemon.cli(&["screen", name]).await;
    assert_eq!(screen.stdout, "kept\n", "{screen:?}");
    assert_eq!(daemon.cli(&["rm", name]).await.code, 0);
    let purged = daemon.cli(&["rm", "--purge", "--json", name]).await;
    assert_eq!(purged.json()[0]["id"], session.id);
    assert_eq!(
        daemon.cli(&["ls", "--deleted", "--json"]).await.json(),
        serde_json::json!([])
    );
}

#[tokio::test]
async fn who_names_a_deleted_session_or_restores_one_that_is_not_is_told_so() {
    let daemon = TestDaemon::start().await;
    let session = echoing(&daemon).await;
    let name = session.name.as_str();
    let live = daemon.cli(&["restore", name]).await;
    assert!(
        live.code == 1 && live.stderr.contains(&format!("`{name}` is not deleted")),
        "{live:?}"
    );
    let removed = daemon.cli(&["rm", name]).await;
    assert!(removed.stdout.contains("for 24 hours"), "{removed:?}");
    for verb in ["rm", "stop", "screen"] {
        let gone = daemon.cli(&[verb, name]).await;
        assert_eq!(gone.code, 1, "{gone:?}");
        for word in ["is deleted", "`transom restore", "`transom ls --deleted`"] {
            assert!(gone.stderr.contains(word), "{verb}: {gone:?}");
        }
    }
    let nobody = daemon.cli(&["rm", "nobody"]).await;
    assert!(nobody.stderr.contains("there is no session"), "{nobody:?}");
}

#[tokio::test]
async fn a_session_can_be_renamed_and_noted() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read x").await;
    let renamed = daemon.cli(&["rename", &session.name, "mine", "--json"]).await;
    assert_eq!(renamed.json()["name"], "mine");
    assert_eq!(
        daemon
            .cli(&["note", "mi", "waits for Eve", "--ttl", "10m"])
            .await
            .code,
        0
    );
    let listed = daemon.cli(&["ls"]).await.stdout;
    assert!(
        listed.contains("mine") && listed.contains("waits for Eve"),
        "{listed}"
    );
    let noted = daemon.cli(&["ls", "--json"]).await.json();
    assert!(noted[0]["note"]["expires_at"].is_string(), "{noted}");
    assert_eq!(daemon.cli(&["note", "mine", ""]).await.code, 0);
    assert!(daemon.cli(&["ls", "--json"]).await.json()[0]["note"].is_null());
    let nowhere = daemon.cli(&["note", "of no session"]).await;
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
}

#[tokio::test]
async fn a_note_inside_of_a_session_is_on_that_session() {
    let daemon = TestDaemon::start().await;
    let script = format!(
        "unset TRANSOM_DIR; {} note 'from within'; read x",
        harness::binary().display()
    );
    let session = daemon.owner().shell(&script).await;
    let noted = harness::until("the note", || async {
        let session = daemon.owner().session(&session.id).await;
        assert_eq!(session.last_line, "", "the verb says nothing");
        session.note
    })
    .await;
    assert_eq!(noted.text, "from within");
}

#[tokio::test]
async fn a_recording_goes_into_a_file_and_never_onto_a_terminal() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("echo recorded").await;
    daemon.owner().ended(&session.id).await;
    let file = daemon.folder().join("it.cast");
    let file = file.to_str().unwrap();
    let written = daemon.cli(&["record", &session.name, file]).await;
    assert_eq!(written.code, 0, "{written:?}");
    assert!(written.stderr.is_empty(), "{written:?}");
    let recording = std::fs::read_to_string(file).unwrap();
    let header: serde_json::Value = serde_json::from_str(recording.lines().next().unwrap()).unwrap();
    assert_eq!(header["version"], 3);
    assert!(recording.contains("recorded"), "{recording}");
    let again = daemon.cli(&["record", &session.name, file]).await;
    assert_eq!(again.code, 1, "{again:?}");
    let piped = daemon.cli(&["record", &session.name]).await;
    assert_eq!(piped.stdout, recording);
    let terminal = TerminalOf::start(&daemon.command(&["record", &session.name]), 80, 10).await;
    assert_eq!(terminal.exit().await.code, Some(2));
    let lines = terminal.until_shows("error:").await;
    assert!(!lines.iter().any(|line| line.contains("recorded")), "{lines:?}");
}

#[tokio::test]
async fn who_waits_for_a_program_that_does_not_end_is_told_so() {
    let daemon = TestDaemon::start().await;
    let stubborn = "trap '' HUP TERM; echo ready; while :; do sleep 600; done";
    for verb in ["stop", "rm"] {
        let session = daemon.owner().shell(stubborn).await;
        daemon.cli(&["wait", &session.name, "--text", "ready"]).await;
        let said = daemon.cli(&[verb, &session.name]).await;
        assert_eq!(said.code, 0, "{said:?}");
        let told = format!(
            "waiting for {} to end; what is left after 5 s is killed\n",
            session.name
        );
        assert_eq!(said.stderr, told, "{said:?}");
        let quick = daemon.owner().shell("read x").await;
        let said = daemon.cli(&[verb, &quick.name]).await;
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:?}");
    }
}
