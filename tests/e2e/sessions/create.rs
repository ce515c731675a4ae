//! `POST /v1/sessions`.

use std::collections::BTreeMap;

use harness::{DaemonOptions, TestDaemon};
use pairing::Role;
use protocol::{
    attach::Mode,
    sessions::{NewSession, Session, Size},
};

fn program(command: &str, args: &[&str]) -> NewSession {
    NewSession {
        command: command.to_owned(),
        args: args.iter().map(ToString::to_string).collect(),
        ..NewSession::default()
    }
}

#[tokio::test]
async fn a_session_runs_its_program_in_the_environment_directory_and_size_that_were_asked_for() {
    let daemon = TestDaemon::start().await;
    let mut new = program(
        "sh",
        &[
            "-c",
            "echo $GREETING; pwd; stty size; echo $TERM $TRANSOM_SESSION",
        ],
    );
    new.env = Some(BTreeMap::from([
        ("PATH".to_owned(), std::env::var("PATH").unwrap()),
        ("GREETING".to_owned(), "hello".to_owned()),
        ("TRANSOM_DIR".to_owned(), "/elsewhere".to_owned()),
    ]));
    new.cwd = Some("/usr".to_owned());
    new.size = Some(Size {
        columns: 91,
        rows: 17,
    });
    let session: Session = daemon.owner().post("/v1/sessions", &new).await.ok();
    let mut attached = daemon.owner().attach(&session.id, Mode::View, "0").await;
    attached.until_exit().await;
    let expected = format!("hello\r\n/usr\r\n17 91\r\nxterm-256color {}\r\n", session.id);
    assert_eq!(attached.text(), expected);
}

#[tokio::test]
async fn what_cannot_be_started_is_said_by_name_and_leaves_nothing() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let missing = owner.post("/v1/sessions", &program("no-such-program", &[])).await;
    assert_eq!(missing.verdict(), "422 program_not_found");
    assert!(missing.problem().detail.contains("no-such-program"));
    let folder = NewSession {
        cwd: Some("/no/such/folder".to_owned()),
        ..program("sh", &[])
    };
    assert_eq!(
        owner.post("/v1/sessions", &folder).await.verdict(),
        "422 directory_not_usable"
    );
    let relative = NewSession {
        cwd: Some("src".to_owned()),
        ..program("sh", &[])
    };
    assert_eq!(
        owner.post("/v1/sessions", &relative).await.verdict(),
        "400 relative_directory"
    );
    let text = owner.post("/v1/sessions", &program("/etc/passwd", &[])).await;
    assert_eq!(text.verdict(), "422 program_not_executable");
    let sessions: Vec<Session> = owner.get("/v1/sessions").await.ok();
    assert!(sessions.is_empty(), "{sessions:?}");
}

#[tokio::test]
async fn names_are_unique_among_live_sessions_and_free_again_afterwards() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let named = |script: &str| NewSession {
        name: Some("build".to_owned()),
        ..program("sh", &["-c", script])
    };
    let first: Session = owner.post("/v1/sessions", &named("read x; exit 0")).await.ok();
    assert_eq!(
        owner.post("/v1/sessions", &named("exit 0")).await.verdict(),
        "409 name_taken"
    );
    owner
        .post(&format!("/v1/sessions/{}/stop", first.id), &serde_json::json!({}))
        .await;
    assert_eq!(owner.post("/v1/sessions", &named("exit 0")).await.status, 201);
    let bad = NewSession {
        name: Some("a b".to_owned()),
        ..program("sh", &[])
    };
    assert_eq!(
        owner.post("/v1/sessions", &bad).await.verdict(),
        "400 malformed_name"
    );
}

#[tokio::test]
async fn more_sessions_than_the_limit_are_refused_with_the_key_that_sets_it() {
    let config = "[sessions]\nmax = 2\n".to_owned();
    let daemon = TestDaemon::start_with(DaemonOptions {
        config,
        ..DaemonOptions::default()
    })
    .await;
    let owner = daemon.owner();
    owner.shell("sleep 600").await;
    owner.shell("sleep 600").await;
    let refused = owner.post("/v1/sessions", &program("sh", &[])).await;
    assert_eq!(refused.verdict(), "429 too_many_sessions");
    assert!(refused.problem().hint.contains("sessions.max"));
}

#[tokio::test]
async fn an_operator_may_start_a_program_but_not_pass_it_an_environment() {
    let daemon = TestDaemon::start().await;
    let operator = daemon.device(Role::Operator).await;
    let with_env = NewSession {
        env: Some(BTreeMap::new()),
        ..program("sh", &["-c", "exit 0"])
    };
    assert_eq!(
        operator.post("/v1/sessions", &with_env).await.verdict(),
        "403 foreign_environment"
    );
    assert_eq!(
        operator
            .post("/v1/sessions", &program("sh", &["-c", "exit 0"]))
            .await
            .status,
        201
    );
    let viewer = daemon.device(Role::Viewer).await;
    assert_eq!(
        viewer.post("/v1/sessions", &program("sh", &[])).await.verdict(),
        "403 not_permitted"
    );
}

#[tokio::test]
async fn no_variable_of_the_daemon_is_in_a_programs_environment() {
    let environment = vec![("TRANSOM_LOG".to_owned(), "info".to_owned())];
    let daemon = TestDaemon::start_with(DaemonOptions {
        environment,
        ..DaemonOptions::default()
    })
    .await;
    let session = daemon
        .owner()
        .shell("env | grep TRANSOM_ | cut -d= -f1 | sort")
        .await;
    let mut attached = daemon.owner().attach(&session.id, Mode::View, "0").await;
    attached.until_exit().await;
    assert_eq!(attached.text(), "TRANSOM_SESSION\r\nTRANSOM_SOCKET\r\n");
}
