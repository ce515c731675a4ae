//! `GET /v1/sessions/{id}/output` and `screen`.

use harness::TestDaemon;
use protocol::sessions::{Output, Screen};

#[tokio::test]
async fn output_by_offset_says_what_it_returned() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("printf 0123456789").await;
    owner.ended(&session.id).await;
    let path = format!("/v1/sessions/{}/output", session.id);
    let some: Output = owner.get(&format!("{path}?from=3&limit=4")).await.ok();
    assert_eq!(some.data.0, b"3456");
    assert_eq!((some.offset, some.next_offset, some.end), (3, 7, 10));
    assert!(!some.truncated && !some.running);
    assert_eq!(some.exit.and_then(|exit| exit.code), Some(0));
    let all: Output = owner.get(&path).await.ok();
    assert_eq!(all.data.0, b"0123456789");
    let beyond: Output = owner.get(&format!("{path}?from=99")).await.ok();
    assert_eq!(
        (beyond.data.0.len(), beyond.offset, beyond.next_offset),
        (0, 10, 10)
    );
    let unknown = owner.get("/v1/sessions/ses_00000000000000ff/output").await;
    assert_eq!(unknown.verdict(), "404 session_not_found");
}

#[tokio::test]
async fn all_output_can_be_read_piece_by_piece_while_the_program_writes() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("seq 1 30000").await;
    let mut all = Vec::new();
    loop {
        let path = format!(
            "/v1/sessions/{}/output?from={}&limit=10000",
            session.id,
            all.len()
        );
        let some: Output = owner.get(&path).await.ok();
        assert_eq!(some.offset, all.len() as u64);
        assert!(some.data.0.len() <= 10000);
        all.extend(some.data.0);
        if !some.running && all.len() as u64 == some.end {
            break;
        }
    }
    let expected: String = (1..=30000).map(|number| format!("{number}\r\n")).collect();
    assert!(all == expected.as_bytes(), "{} bytes", all.len());
}

#[tokio::test]
async fn the_screen_and_the_scrollback_are_shown_as_text_colours_and_objects() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("seq 1 100; printf '\\033[31mred\\033[m'").await;
    owner.ended(&session.id).await;
    let path = format!("/v1/sessions/{}/screen", session.id);
    let text = owner.get(&path).await;
    assert_eq!(text.headers["content-type"], "text/plain; charset=utf-8");
    assert!(text.body.starts_with("72\n73\n"), "{}", text.body);
    assert!(text.body.ends_with("\n100\nred\n"), "{}", text.body);
    let ansi = owner.get(&format!("{path}?format=ansi")).await.body;
    assert!(
        ansi.contains("\x1b[31mred") || ansi.contains("\x1b[0;31mred"),
        "{ansi:?}"
    );
    let more: Screen = owner.get(&format!("{path}?format=json&lines=2")).await.ok();
    assert_eq!(more.lines[0].text, "70");
    assert_eq!(more.cursor, (3, 29));
    let above = format!("{path}?format=json&lines=3&before={}", more.lines[0].number);
    let above: Screen = owner.get(&above).await.ok();
    let texts: Vec<&str> = above.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts, ["67", "68", "69"]);
    let many = owner.get(&format!("{path}?lines=10001")).await;
    assert_eq!(many.verdict(), "400 too_large");
}

#[tokio::test]
async fn the_last_commands_output_is_shown_where_the_shell_marks_it() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let script = "printf '\\033]133;A\\a$ \\033]133;B\\als\\r\\n\\033]133;C\\a'; echo files; printf '\\033]133;D;0\\a\\033]133;A\\a$ '";
    let session = owner.shell(script).await;
    owner.ended(&session.id).await;
    let answer = owner
        .get(&format!("/v1/sessions/{}/screen?last_command=true", session.id))
        .await;
    assert_eq!(answer.body, "files\n");
    let plain = owner.shell("echo files").await;
    owner.ended(&plain.id).await;
    let answer = owner
        .get(&format!("/v1/sessions/{}/screen?last_command=true", plain.id))
        .await;
    assert_eq!(answer.verdict(), "409 no_marks");
}

#[tokio::test]
async fn scrollback_that_is_asked_for_under_output_joins_without_a_gap() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    // Each line says its own number.
    let session = owner
        .shell("n=0; while :; do echo $n; n=$((n+1)); [ $((n % 100)) = 0 ] && sleep 0.01; done")
        .await;
    let path = format!("/v1/sessions/{}", session.id);
    owner.get(&format!("{path}/wait?text=300")).await;
    for _ in 0..20 {
        let screen: Screen = owner.get(&format!("{path}/screen?format=json")).await.ok();
        let before = screen.lines[0].number;
        let above = format!("{path}/screen?format=json&lines=100&before={before}");
        let above: Screen = owner.get(&above).await.ok();
        let lines: Vec<_> = above.lines.iter().chain(&screen.lines).collect();
        assert_eq!(lines[0].number + 100, before);
        for (line, number) in lines.iter().zip(lines[0].number..) {
            let is_begun = number.to_string().starts_with(&line.text);
            // The cursor's line may be written just now.
            let is_whole = line.text == number.to_string() || number + 1 >= screen.top_line + 30 && is_begun;
            assert!(line.number == number && is_whole, "{number}: {line:?}");
        }
    }
}
