//! What an attachment shows of a full-screen program that has written more than is kept.

use harness::{DaemonOptions, TestDaemon};
use protocol::attach::{Mode, ServerMessage};

/// Shows one page of a file after the other, and stays in the middle of it.
const EDITOR: &str = "seq 1 30000 | sed 's/$/ the quick brown fox — 漢字 é — jumps over the lazy dog/' >file; \
    exec vim -u NONE -N -i NONE -n -c 'set mouse=a ruler hlsearch' -c '/brown' -c 'syntax on' \
    -c 'for page in range(1, 900) | exe \"normal! \" . page * 30 . \"Gzt\" | redraw! | endfor' \
    -c 'exe \"normal! 4711Gzz15|\" | split | redraw! | echo \"all shown\"' file";

#[tokio::test]
async fn an_editor_looks_the_same_behind_a_wrapped_ring_and_after_a_kill() {
    let mut daemon = TestDaemon::start_with(DaemonOptions {
        config: "[sessions]\nscrollback_memory = \"1MiB\"\n".to_owned(),
        ..DaemonOptions::default()
    })
    .await;
    let owner = daemon.owner();
    let script = format!("cd {}; {EDITOR}", daemon.folder().display());
    let session = owner.shell(&script).await;
    let mut watched = owner.attach(&session.id, Mode::Lossless, "0").await;
    let mut screen = terminal::screen(terminal::Size::new(100, 30));
    let path = format!("/v1/sessions/{}", session.id);
    owner.get(&format!("{path}/wait?text=all+shown")).await;
    owner.get(&format!("{path}/wait?idle_ms=500")).await;
    let end = owner.session(&session.id).await.end;
    assert!(end > 2 << 20, "{end} bytes wrap the ring");
    let mut seen = 0;
    while seen < end {
        if let ServerMessage::Output { offset, bytes } = watched.next().await.unwrap() {
            screen.feed(&bytes);
            seen = offset + bytes.len() as u64;
        }
    }
    let expected = String::from_utf8(screen.snapshot()).unwrap();
    for mode in ["?1049h", "?2004h", "?1006h", "?1h"] {
        assert!(expected.contains(mode), "{mode} is missing: {expected:?}");
    }
    for _ in 0..2 {
        let mut late = daemon.owner().attach(&session.id, Mode::View, "screen").await;
        let (ground, bytes) = loop {
            if let ServerMessage::Snapshot { ground, bytes, .. } = late.next().await.unwrap() {
                break (ground, bytes);
            }
        };
        assert_eq!(ground, end);
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        daemon.kill_and_restart().await;
    }
}
