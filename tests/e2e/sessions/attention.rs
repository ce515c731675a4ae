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
    let script = "printf 'ready\\033]9;may I?\\a'; read x; printf '\\033]777;notify;build;done\\a'; read x; printf '\\a'; read x";
    let session = owner.shell(script).await;
    let keys = format!("/v1/sessions/{}/keys", session.id);
    for words in [Some("may I?"), Some("build: done"), None] {
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
