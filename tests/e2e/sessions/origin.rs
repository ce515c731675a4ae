//! Programs inside of sessions: each is its session, and none is the owner.

use std::{collections::BTreeSet, process::Stdio};

use harness::{
    Connection, DaemonOptions, Finished, Inside, Lent, Owner, TestDaemon, binary, descendants, until,
};
use pairing::Role;
use protocol::{
    access::{PrincipalKind, WhoAmI},
    events::Event,
    sessions::{NewSession, Session, SessionState},
};
use rustix::process::{Pid, Signal, kill_process};

/// Runs the command line inside of a new session, and returns that with how each line ended and what it wrote.
async fn run_inside(daemon: &TestDaemon, lines: &[&str]) -> (Session, Vec<(i32, String)>) {
    let folder = daemon.folder().join("run");
    std::fs::create_dir_all(&folder).unwrap();
    let mut script = format!("transom() {{ {} \"$@\"; }}\n", binary().display());
    for (number, line) in lines.iter().enumerate() {
        let said = folder.join(number.to_string()).display().to_string();
        script += &format!("{{ {line}; }} >{said} 2>&1 </dev/null; echo $? >{said}.code\n");
    }
    let session = daemon.owner().shell(&script).await;
    daemon.owner().ended(&session.id).await;
    let read = |name: String| std::fs::read_to_string(folder.join(name)).unwrap();
    let said = (0..lines.len()).map(|number| {
        let code = read(format!("{number}.code")).trim().parse().unwrap();
        (code, read(number.to_string()))
    });
    (session, said.collect())
}

async fn principal(client: &Owner) -> PrincipalKind {
    client.get("/v1/whoami").await.ok::<WhoAmI>().principal
}

#[tokio::test]
async fn the_command_line_inside_of_a_session_may_not_pair_approve_list_devices_or_end_the_daemon() {
    let daemon = TestDaemon::start().await;
    let verbs = ["pair", "approve 493-027", "devices", "shutdown", "status"];
    let lines: Vec<String> = verbs.iter().map(|verb| format!("transom {verb}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (session, said) = run_inside(&daemon, &lines).await;
    for (verb, (code, text)) in verbs.iter().zip(said) {
        assert_eq!(code, 4, "{verb}: {text}");
        assert!(
            text.contains(&format!("inside of session {}", session.id)),
            "{verb}: {text}"
        );
        assert!(text.contains("--trusted"), "{verb}: {text}");
    }
    assert_eq!(principal(&daemon.owner()).await, PrincipalKind::Owner);
}

#[tokio::test]
async fn the_command_line_inside_of_a_session_sees_itself_and_acts_on_what_it_started() {
    let daemon = TestDaemon::start().await;
    let other = daemon.owner().shell("sleep 600").await;
    let lines = [
        "transom ls --json",
        "transom new --name child --json -- sleep 600",
        "transom ls --json",
        "transom note 'is at work'",
        "transom note child 'is waited for'",
        "transom keys $TRANSOM_SESSION Up",
        &format!("transom note {} mine", other.id),
        "transom send child hello",
        "transom stop child",
        "transom new --trusted -- sleep 600",
    ];
    let (own, said) = run_inside(&daemon, &lines).await;
    let codes: Vec<i32> = said.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [0, 0, 0, 0, 0, 4, 1, 0, 0, 4], "{said:#?}");
    let ids = |text: &str| {
        let listed: Vec<Session> = serde_json::from_str(text).unwrap();
        listed.into_iter().map(|session| session.id).collect::<Vec<_>>()
    };
    let child: Session = serde_json::from_str(&said[1].1).unwrap();
    assert_eq!(child.parent.as_deref(), Some(own.id.as_str()));
    assert_eq!(ids(&said[0].1), std::slice::from_ref(&own.id));
    assert_eq!(ids(&said[2].1), [own.id.clone(), child.id.clone()]);
    let noted = daemon.owner().session(&own.id).await.note.unwrap();
    assert_eq!(noted.text, "is at work");
    assert!(said[6].1.contains("sees itself"), "{}", said[6].1);
    assert_eq!(
        daemon.owner().session(&child.id).await.state,
        SessionState::Exited
    );
    assert!(daemon.owner().session(&other.id).await.note.is_none());
}

#[tokio::test]
async fn an_orphan_of_a_session_is_that_session_and_a_trusted_ones_program_is_the_owner() {
    let daemon = TestDaemon::start().await;
    for inside in [Inside::of(&daemon).await, Inside::orphan(&daemon).await] {
        let who: WhoAmI = inside.client.get("/v1/whoami").await.ok();
        assert_eq!(who.principal, PrincipalKind::Session);
        assert_eq!(who.session_id.as_ref(), Some(&inside.session.id));
        let listed: Vec<Session> = inside.client.get("/v1/sessions").await.ok();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].id, inside.session.id);
    }
    let trusted = Inside::trusted(&daemon).await;
    assert!(trusted.session.trusted);
    let who: WhoAmI = trusted.client.get("/v1/whoami").await.ok();
    assert_eq!((who.principal, who.session_id), (PrincipalKind::Owner, None));
    let wish = NewSession {
        command: "sleep".to_owned(),
        trusted: true,
        ..NewSession::default()
    };
    let inside = Inside::of(&daemon).await;
    let refused = inside.client.post("/v1/sessions", &wish).await;
    assert_eq!(refused.problem().code, "foreign_trust");
}

#[tokio::test]
async fn a_program_of_a_trusted_run_is_the_owner_and_of_another_it_is_not() {
    let daemon = TestDaemon::start().await;
    let binary = binary().display().to_string();
    let who = async |how: &[&str]| {
        let words = [&["run"], how, &["--", &binary, "whoami"]].concat();
        let said = daemon.cli(&words).await;
        assert_eq!(said.code, 0, "{said:?}");
        said.stdout
    };
    let trusted = who(&["--trusted"]).await;
    assert!(trusted.starts_with("the owner"), "{trusted}");
    let other = who(&[]).await;
    assert!(other.starts_with("a program inside of a session"), "{other}");
}

#[tokio::test]
async fn a_sessions_descendants_stay_its_own_when_the_daemon_is_restarted() {
    let mut daemon = TestDaemon::start().await;
    let inside = Inside::of(&daemon).await;
    let child = inside.client.shell("sleep 600").await;
    daemon.kill_and_restart().await;
    let listed: Vec<Session> = inside.client.get("/v1/sessions").await.ok();
    let ids: Vec<&str> = listed.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(ids, [&inside.session.id, &child.id]);
    assert_eq!(principal(&inside.client).await, PrincipalKind::Session);
}

#[tokio::test]
async fn a_descendant_stays_one_when_the_session_between_is_purged_and_the_daemon_restarted() {
    let mut daemon = TestDaemon::start().await;
    let inside = Inside::of(&daemon).await;
    let script = format!("{} new --name leaf -- sleep 600; read x", binary().display());
    let middle = inside.client.shell(&script).await;
    let listed = || async { inside.client.get("/v1/sessions").await.ok::<Vec<Session>>() };
    let leaf = until("the one below", || async {
        listed().await.into_iter().find(|session| session.name == "leaf")
    })
    .await;
    assert_eq!(leaf.parent.as_ref(), Some(&middle.id));
    let path = format!("/v1/sessions/{}?purge=true", middle.id);
    let purged = daemon.owner().request("DELETE", &path, None::<&()>).await;
    assert_eq!(purged.status, 200);
    for _ in 0..2 {
        daemon.kill_and_restart().await;
        let ids: Vec<String> = listed().await.into_iter().map(|session| session.id).collect();
        assert_eq!(ids, [&*inside.session.id, &*leaf.id]);
    }
}

#[tokio::test]
async fn a_session_follows_the_events_of_itself_and_its_children_until_it_ends() {
    let daemon = TestDaemon::start().await;
    let inside = Inside::orphan(&daemon).await;
    let mut events = inside.client.events(None).await;
    assert_eq!(events.next().await.unwrap().1, Event::Gap);
    let other = daemon.owner().shell("sleep 600").await;
    let child = inside.client.shell("sleep 600").await;
    loop {
        let Event::Session { session } = events.next().await.unwrap().1 else {
            continue;
        };
        assert_ne!(session.id, other.id);
        if session.id == child.id {
            break;
        }
    }
    let write = protocol::attach::Mode::Write;
    let mut attached = daemon.owner().attach(&inside.session.id, write, "0").await;
    attached.send_input(b"\n").await;
    attached.until_exit().await;
    while events.next().await.is_some() {}
    // The orphan lives on, and is nobody; a client of its own has no connection that was cut.
    let answer = Owner::new(inside.socket).get("/v1/sessions").await;
    assert_eq!(
        (answer.status, answer.problem().code.as_str()),
        (403, "unknown_origin")
    );
}

#[tokio::test]
async fn when_the_keeper_is_killed_an_orphan_is_never_the_owner() {
    for options in [DaemonOptions::default(), without_cgroups()] {
        let daemon = TestDaemon::start_with(options).await;
        let mut device = daemon.pairing(Role::Operator).await;
        device.ask().await;
        let approve = format!("/v1/pairing/requests/{}/approve", device.id());
        let mut orphan = Lent::of(&daemon, 24).await;
        // Some are known to be the session's, some ask for the first time at its end, and some after it.
        let mut late = orphan.connections.split_off(16);
        let mut connections = std::mem::take(&mut orphan.connections);
        for connection in &mut connections[..8] {
            connection.send("/v1/whoami", None);
            assert!(is_refused(connection) && orphan.is_alive());
        }
        let keeper = daemon.keeper().unwrap();
        // Its reaper does not end it.
        let reapers = direct_children(keeper);
        reapers.iter().for_each(|reaper| send(*reaper, Signal::STOP));
        // The daemon meets the questions and the keeper's end at once.
        daemon.signal(Signal::STOP);
        until("the daemon to stand still", || async {
            is_stopped(daemon.pid()).then_some(())
        })
        .await;
        send(keeper, Signal::KILL);
        for connection in &mut connections {
            connection.send(&approve, Some("{}"));
            connection.send("/v1/whoami", None);
        }
        daemon.signal(Signal::CONT);
        let mut answers = 0;
        for connection in &mut connections {
            answers += usize::from(is_refused(connection)) + usize::from(is_refused(connection));
        }
        let mut asks_on = true;
        while asks_on {
            // The last time when it has ended.
            asks_on = orphan.is_alive();
            for connection in &mut connections {
                connection.send(&approve, Some("{}"));
                answers += usize::from(is_refused(connection));
            }
        }
        until("the session to be lost", || async {
            let path = format!("/v1/sessions/{}", orphan.session.id);
            let answer = daemon.owner().get(&path).await;
            (answer.status == 200 && answer.ok::<Session>().state == SessionState::Lost).then_some(())
        })
        .await;
        for connection in &mut late {
            for (path, body) in [("/v1/whoami", None), (approve.as_str(), Some("{}"))] {
                connection.send(path, body);
                assert!(is_refused(connection), "the daemon answers");
            }
        }
        assert!(answers > 0, "the daemon answers beyond the end of its keeper");
        assert!(device.poll(0).await.body.contains("authorization_pending"));
        reapers.iter().for_each(|reaper| send(*reaper, Signal::KILL));
    }
}

/// Makes sure that the next answer is not one that the owner gets; false where there is none.
fn is_refused(connection: &mut Connection) -> bool {
    let Some((status, body)) = connection.answer() else {
        return false;
    };
    let who = serde_json::from_str::<WhoAmI>(&body);
    let is_session = who.is_ok_and(|who| who.principal == PrincipalKind::Session);
    let is_no = status == 403 || status == 401;
    assert!(is_no || (status == 200 && is_session), "{status} {body}");
    true
}

#[tokio::test]
async fn after_a_keeper_without_cgroups_died_nobody_pairs_or_ends_the_daemon_until_it_is_restarted() {
    let mut daemon = TestDaemon::start_with(without_cgroups()).await;
    daemon.owner().shell("sleep 600").await;
    send(daemon.keeper().unwrap(), Signal::KILL);
    until("the keeper's end to be noticed", || async {
        let answer = daemon.owner().get("/v1/status").await;
        (answer.status != 200).then_some(())
    })
    .await;
    for (method, path) in [
        ("GET", "/v1/status"),
        ("POST", "/v1/pairing/offers"),
        ("POST", "/v1/shutdown"),
    ] {
        let answer = daemon.owner().request(method, path, None::<&()>).await;
        let problem = answer.problem();
        assert_eq!(
            (answer.status, problem.code.as_str()),
            (403, "withheld"),
            "{path}"
        );
        assert!(problem.hint.contains("SIGTERM"), "{}", problem.hint);
    }
    daemon.owner().shell("exit 0").await;
    daemon.kill_and_restart().await;
    assert_eq!(daemon.owner().get("/v1/status").await.status, 200);
}

#[tokio::test]
async fn no_variable_of_the_daemons_own_is_in_the_environment_of_keeper_reaper_or_program() {
    let environment = vec![
        ("TRANSOM_LOG".to_owned(), "info".to_owned()),
        ("TRANSOM_PAIRING_OFFER_TTL".to_owned(), "77s".to_owned()),
    ];
    let daemon = TestDaemon::start_with(DaemonOptions {
        environment,
        ..DaemonOptions::default()
    })
    .await;
    Inside::orphan(&daemon).await;
    let made = Finished::of(
        daemon
            .command(&["new", "--", "sleep", "600"])
            .stdin(Stdio::null()),
    )
    .await;
    assert_eq!(made.code, 0, "{made:?}");
    let keeper = daemon.keeper().unwrap();
    let reapers = direct_children(keeper);
    assert_eq!(reapers.len(), 2);
    let mut programs = 0;
    for process in descendants(keeper).into_iter().chain([keeper]) {
        let is_ours = process == keeper || reapers.contains(&process);
        let text = match std::fs::read(format!("/proc/{process}/environ")) {
            Ok(text) => text,
            // The kernel keeps it to itself.
            Err(error) => {
                assert!(is_ours, "{error}");
                continue;
            }
        };
        let names: BTreeSet<String> = String::from_utf8_lossy(&text)
            .split('\0')
            .filter_map(|variable| Some(variable.split_once('=')?.0.to_owned()))
            .filter(|name| is_ours || name.starts_with("TRANSOM"))
            .collect();
        let expected: &[&str] = if is_ours {
            &[]
        } else {
            &["TRANSOM_SESSION", "TRANSOM_SOCKET"]
        };
        assert_eq!(
            names,
            expected.iter().map(ToString::to_string).collect(),
            "{process}"
        );
        programs += usize::from(!is_ours);
    }
    assert!(programs >= 3, "{programs}");
}

fn without_cgroups() -> DaemonOptions {
    DaemonOptions {
        arguments: vec!["--no-cgroups".to_owned()],
        ..DaemonOptions::default()
    }
}

/// Whether each of its threads stands still.
fn is_stopped(process: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    threads.flatten().all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // Behind the name, which is in parentheses (proc_pid_stat(5)).
        stat.rsplit_once(')')
            .is_some_and(|(_, behind)| behind.trim_start().starts_with('T'))
    })
}

fn direct_children(process: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    children
        .split_whitespace()
        .map(|child| child.parse().unwrap())
        .collect()
}

fn send(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process.cast_signed()).unwrap(), signal).unwrap();
}
