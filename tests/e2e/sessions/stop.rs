//! `POST /v1/sessions/{id}/stop`.

use harness::{TestDaemon, until};
use protocol::{attach::Mode, sessions::Stopped};

#[tokio::test]
async fn stopping_ends_the_program_with_what_it_started_and_says_how_it_ended() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("sleep 999 & sleep 998 & echo started; wait").await;
    owner
        .attach(&session.id, Mode::View, "0")
        .await
        .until("started")
        .await;
    let stopped: Stopped = owner
        .post(
            &format!("/v1/sessions/{}/stop", session.id),
            &serde_json::json!({}),
        )
        .await
        .ok();
    let exit = stopped.session.exit.expect("it has ended");
    assert!(exit.signal.is_some() || exit.code.is_some());
    until("no process to be left", || async {
        daemon.programs().is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn stopping_one_session_leaves_another_alone() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let other = owner.shell("read line; echo got $line").await;
    let session = owner.shell("sleep 999").await;
    owner
        .post(
            &format!("/v1/sessions/{}/stop", session.id),
            &serde_json::json!({}),
        )
        .await;
    let mut writer = owner.attach(&other.id, Mode::Write, "0").await;
    writer.send_input(b"it\r").await;
    writer.until("got it").await;
}

#[tokio::test]
async fn a_session_that_is_not_there_is_an_error() {
    let daemon = TestDaemon::start().await;
    let path = "/v1/sessions/ses_00000000000000ff";
    assert_eq!(daemon.owner().get(path).await.verdict(), "404 session_not_found");
    let stop = daemon
        .owner()
        .post(&format!("{path}/stop"), &serde_json::json!({}))
        .await;
    assert_eq!(stop.verdict(), "404 session_not_found");
}
