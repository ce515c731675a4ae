//! `GET /v1/sessions/{id}/recording`.

use harness::TestDaemon;
use protocol::sessions::Screen;
use serde_json::{Value, json};
use terminal::Size;

#[tokio::test]
async fn a_recording_that_is_played_again_gives_the_live_screen() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let script = "seq 1 200; printf '\\033[31m한글 é👩\\033[m\\n'; read x; stty size; printf '\\033[5;5Hhere'; read x; exit 4";
    let session = owner.shell(script).await;
    let path = format!("/v1/sessions/{}", session.id);
    owner.get(&format!("{path}/wait?text=200")).await;
    owner
        .post(&format!("{path}/size"), &json!({ "columns": 60, "rows": 15 }))
        .await;
    let enter = json!({ "keys": ["Enter"] });
    owner.post(&format!("{path}/keys"), &enter).await;
    owner.get(&format!("{path}/wait?text=here")).await;
    owner.post(&format!("{path}/keys"), &enter).await;
    owner.ended(&session.id).await;
    let live: Screen = owner
        .get(&format!("{path}/screen?format=json&lines=1000"))
        .await
        .ok();
    let recording = owner.get(&format!("{path}/recording")).await;
    assert_eq!(recording.headers["content-type"], "application/x-asciicast");
    let mut lines = recording.body.lines();
    let head: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(head["version"], 3);
    assert_eq!(head["timestamp"], session.created_at.as_second());
    let side = |name: &str| u16::try_from(head["term"][name].as_u64().unwrap()).unwrap();
    let mut screen = terminal::screen(Size::new(side("cols"), side("rows")));
    let mut exit = None;
    for line in lines {
        let (interval, code, data): (f64, String, String) = serde_json::from_str(line).unwrap();
        assert!(interval >= 0.0);
        match code.as_str() {
            "o" => screen.feed(data.as_bytes()),
            "r" => {
                let (columns, rows) = data.split_once('x').unwrap();
                screen.resize(Size::new(columns.parse().unwrap(), rows.parse().unwrap()));
            }
            "x" => exit = Some(data),
            other => panic!("{other}"),
        }
    }
    assert_eq!(exit.as_deref(), Some("4"));
    let first = live.lines[0].number;
    let played = screen.lines(first..first + live.lines.len() as u64);
    let texts: Vec<&str> = played.iter().map(|line| line.ansi.as_str()).collect();
    let lived: Vec<&str> = live.lines.iter().map(|line| line.ansi.as_str()).collect();
    assert_eq!(texts, lived);
    assert_eq!(screen.cursor(), live.cursor);
}
