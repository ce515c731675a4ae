//! What sessions want of people.

use harness::{EventReader, TestDaemon};
use protocol::{
    events::Event,
    sessions::{Attention, AttentionState},
};
use serde_json::json;

async fn until_state(events: &mut EventReader, state: AttentionState) -> Attention {
    loop {
        if let Event::Session { session } = events.next().await.expect("the daemon runs").1
            && session.attention.state == state
        {
            return session.attention;
        }
    }
}

#[tokio::test]
async fn a_program_that_calls_is_shown_as_waiting_with_its_words_until_somebody_types() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let mut events = owner.events(None).await;
    let script = "printf 'ready\\033]9;may I?\\a'; read x; printf '\\033]777;notify;build;done\\a'; read x; \
        printf '\\033]99;i=7:d=0;tests\\033\\\\\\033]99;i=7:p=body:e=1;cGFzcw==\\033\\\\'; read x; printf '\\a'; read x";
    let session = owner.shell(script).await;
    let keys = format!("/v1/sessions/{}/keys", session.id);
    for words in [Some("may I?"), Some("build: done"), Some("tests: pass"), None] {
        let waiting = until_state(&mut events, AttentionState::Waiting).await;
        assert_eq!(waiting.message.as_deref(), words);
        let path = format!("/v1/sessions/{}/screen", session.id);
        owner.get(&path).await;
        let still = owner.session(&session.id).await.attention;
        assert_eq!(still, waiting, "looking answers nothing");
        owner.post(&keys, &json!({ "keys": ["Enter"] })).await;
    }
}

#[tokio::test]
async fn what_a_program_wants_outlives_the_daemon_and_what_was_answered_stays_so() {
    let mut daemon = TestDaemon::start().await;
    let script = "printf '\\033]9;may I?\\a'; read x; printf 'yes\\n'; sleep 600";
    let called = daemon.owner().shell(script).await;
    let ended = daemon.owner().shell("printf '\\033]9;failed\\a'; exit 1").await;
    daemon.owner().ended(&ended.id).await;
    let state = async |daemon: &TestDaemon, id: &str, state| {
        harness::until("the state", || async {
            let attention = daemon.owner().session(id).await.attention;
            (attention.state == state).then_some(attention)
        })
        .await
    };
    let waiting = state(&daemon, &called.id, AttentionState::Waiting).await;
    let failed = state(&daemon, &ended.id, AttentionState::Waiting).await;
    for _ in 0..2 {
        daemon.kill_and_restart().await;
        assert_eq!(daemon.owner().session(&called.id).await.attention, waiting);
        assert_eq!(daemon.owner().session(&ended.id).await.attention, failed);
    }
    assert_eq!(failed.message.as_deref(), Some("failed"));
    let keys = format!("/v1/sessions/{}/keys", called.id);
    daemon.owner().post(&keys, &json!({ "keys": ["Enter"] })).await;
    let idle = state(&daemon, &called.id, AttentionState::Idle).await;
    daemon.kill_and_restart().await;
    assert_eq!(daemon.owner().session(&called.id).await.attention, idle);
    // Also when its screen is drawn again, with what it had called for.
    let path = format!("/v1/sessions/{}/screen", called.id);
    assert_eq!(daemon.owner().get(&path).await.status, 200);
    assert_eq!(daemon.owner().session(&called.id).await.attention, idle);
}

#[tokio::test]
async fn a_shell_that_marks_its_commands_is_idle_at_its_prompt_and_working_at_a_command() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let mut events = owner.events(None).await;
    let script = "printf '\\033]133;A\\a$ \\033]133;B\\a'; read x; printf '\\033]133;C\\a'; read x";
    let session = owner.shell(script).await;
    until_state(&mut events, AttentionState::Idle).await;
    let keys = format!("/v1/sessions/{}/keys", session.id);
    owner.post(&keys, &json!({ "keys": ["Enter"] })).await;
    until_state(&mut events, AttentionState::Working).await;
}

#[tokio::test]
async fn a_program_without_words_is_working_while_it_writes_and_idle_afterwards() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let mut events = owner.events(None).await;
    owner.shell("echo busy; sleep 600").await;
    let working = until_state(&mut events, AttentionState::Working).await;
    let idle = until_state(&mut events, AttentionState::Idle).await;
    assert!(idle.since >= working.since);
}
