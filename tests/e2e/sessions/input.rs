//! `POST /v1/sessions/{id}/input`, `keys` and `size`.

use harness::{Owner, TestDaemon};
use pairing::Role;
use protocol::{
    Bytes64,
    attach::Mode,
    sessions::{Input, Keys, Output, Session, Size},
};
use serde_json::json;

async fn input(owner: &Owner, session: &Session, input: &Input) -> harness::Answer {
    owner
        .post(&format!("/v1/sessions/{}/input", session.id), input)
        .await
}

async fn keys(owner: &Owner, session: &Session, keys: &[&str]) -> harness::Answer {
    let keys = Keys {
        keys: keys.iter().map(ToString::to_string).collect(),
    };
    owner
        .post(&format!("/v1/sessions/{}/keys", session.id), &keys)
        .await
}

#[tokio::test]
async fn text_bytes_and_keys_reach_the_program_in_order() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read a; read b; read c; echo \"<$a|$b|$c>\"").await;
    let text = Input {
        text: Some("one".to_owned()),
        enter: true,
        ..Input::default()
    };
    assert_eq!(input(&owner, &session, &text).await.status, 204);
    let data = Input {
        data: Some(Bytes64(b"two\r".to_vec())),
        ..Input::default()
    };
    assert_eq!(input(&owner, &session, &data).await.status, 204);
    let pressed = keys(&owner, &session, &["t", "x", "Backspace", "h", "Enter"]).await;
    assert_eq!(pressed.status, 204);
    let mut attached = owner.attach(&session.id, Mode::View, "0").await;
    attached.until("<one|two|th>").await;
}

#[tokio::test]
async fn several_lines_are_pasted_where_the_program_asked_for_brackets() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let script = "stty raw -echo; printf '\\033[?2004hready'; head -c 17 | od -An -c";
    let session = owner.shell(script).await;
    let mut attached = owner.attach(&session.id, Mode::View, "0").await;
    attached.until("ready").await;
    let text = Input {
        text: Some("a\n\x1b[201~bcd".to_owned()),
        ..Input::default()
    };
    input(&owner, &session, &text).await;
    attached.until("033   [   2   0   0   ~   a").await;
    attached.until("b   c   d 033").await;
}

#[tokio::test]
async fn cursor_keys_are_what_the_program_asked_for() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let script = "stty raw -echo; printf '\\033[?1hready'; head -c 3 | od -An -c";
    let session = owner.shell(script).await;
    let mut attached = owner.attach(&session.id, Mode::View, "0").await;
    attached.until("ready").await;
    keys(&owner, &session, &["Up"]).await;
    attached.until("033   O   A").await;
}

#[tokio::test]
async fn what_cannot_be_typed_is_said() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read x").await;
    let refused = keys(&owner, &session, &["a", "Entr"]).await;
    assert_eq!(refused.verdict(), "400 unknown_key");
    assert!(refused.problem().detail.contains("`Enter`"), "{refused:?}");
    let neither = input(&owner, &session, &Input::default()).await;
    assert_eq!(neither.verdict(), "400 ambiguous_input");
    let viewer = daemon.device(Role::Viewer).await;
    let path = format!("/v1/sessions/{}/keys", session.id);
    let forbidden = viewer.post(&path, &json!({ "keys": ["Enter"] })).await;
    assert_eq!(forbidden.verdict(), "403 not_permitted");
    keys(&owner, &session, &["Enter"]).await;
    owner.ended(&session.id).await;
    let late = keys(&owner, &session, &["Enter"]).await;
    assert_eq!(late.verdict(), "409 program_ended");
}

#[tokio::test]
async fn a_size_that_was_asked_for_is_the_programs() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read x; stty size").await;
    let size = Size {
        columns: 61,
        rows: 12,
    };
    let path = format!("/v1/sessions/{}/size", session.id);
    let resized: Session = owner.post(&path, &size).await.ok();
    assert_eq!(resized.size, size);
    keys(&owner, &session, &["Enter"]).await;
    owner.ended(&session.id).await;
    let output = format!("/v1/sessions/{}/output", session.id);
    let output: Output = owner.get(&output).await.ok();
    let output = String::from_utf8(output.data.0).unwrap();
    assert!(output.ends_with("12 61\r\n"), "{output:?}");
}

#[tokio::test]
async fn input_by_request_is_in_the_audit_trail_by_its_length() {
    let mut daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read a; read b").await;
    for _ in 0..2 {
        let text = Input {
            text: Some("secret words".to_owned()),
            enter: true,
            ..Input::default()
        };
        input(&owner, &session, &text).await;
    }
    let folder = daemon.keep_folder();
    owner.post("/v1/shutdown", &json!({ "sessions": true })).await;
    daemon.ended().await;
    let store = rusqlite::Connection::open(folder.path().join("transom.db")).unwrap();
    let rows: Vec<String> = store
        .prepare("SELECT detail FROM audit WHERE action = 'input'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(rows[0].starts_with("26 bytes from "), "{rows:?}");
}

#[tokio::test]
async fn a_key_that_interrupts_reaches_a_program_that_reads_nothing() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let text = Input {
        data: Some(Bytes64(b"\x03".to_vec())),
        ..Input::default()
    };
    for by_name in [true, false] {
        let script = "stty raw -echo isig; trap 'exit 7' INT; printf ready; while :; do sleep 0.02; done";
        let session = owner.shell(script).await;
        owner
            .attach(&session.id, Mode::View, "0")
            .await
            .until("ready")
            .await;
        // More than its terminal takes.
        let unread = Input {
            data: Some(Bytes64(vec![b'x'; 64 * 1024])),
            ..Input::default()
        };
        assert_eq!(input(&owner, &session, &unread).await.status, 204);
        let interrupted = match by_name {
            true => keys(&owner, &session, &["C-c"]).await,
            false => input(&owner, &session, &text).await,
        };
        assert_eq!(interrupted.status, 204);
        let ended = owner.ended(&session.id).await;
        assert_eq!(
            ended.exit.and_then(|exit| exit.code),
            Some(7),
            "by name: {by_name}"
        );
    }
}
