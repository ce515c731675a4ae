//! Every route on the Unix socket, by a trusted session's program, by an owner that cannot be told from an orphan, and in a
//! lock-down.

use std::net::TcpStream;

use harness::{DaemonOptions, Inside, Owner, TestDaemon, until};
use pairing::Scope;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use server::RouteInfo;

use super::{NO_SESSION, admits, concrete, expectation, routes};

/// One request that asks for nothing.
async fn ask(client: &Owner, route: &RouteInfo, session: &str) -> harness::Answer {
    let body = (route.method == http::Method::POST).then(|| json!({ "nothing": true }));
    let path = concrete(route, session);
    client.request(route.method.as_str(), &path, body.as_ref()).await
}

/// What a route answers to whom the owner's row of the table is for, where that is not as it says.
async fn fault(client: &Owner, route: &RouteInfo, session: &str) -> Option<String> {
    let answer = ask(client, route, session).await;
    let [is_admitted, ..] = expectation(route);
    let is_right = admits(&answer, route.scope) == is_admitted;
    (!is_right).then(|| format!("{} {}: {}", route.method, route.path, answer.verdict()))
}

#[tokio::test]
async fn every_route_admits_a_trusted_sessions_program_where_it_admits_the_owner() {
    let daemon = TestDaemon::start().await;
    let trusted = Inside::trusted(&daemon).await;
    let other = daemon.owner().shell("sleep 600").await;
    let mut faults = Vec::new();
    for route in routes() {
        faults.extend(fault(&trusted.client, &route, &other.id).await);
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn every_route_that_lets_somebody_in_or_ends_the_daemon_is_withheld_from_who_may_be_an_orphan() {
    let options = DaemonOptions {
        arguments: vec!["--no-cgroups".to_owned()],
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_with(options).await;
    daemon.owner().shell("sleep 600").await;
    let keeper = Pid::from_raw(daemon.keeper().unwrap().cast_signed()).unwrap();
    kill_process(keeper, Signal::KILL).unwrap();
    until("the keeper's end to be noticed", || async {
        let answer = daemon.owner().get("/v1/status").await;
        (answer.verdict() == "403 withheld").then_some(())
    })
    .await;
    let mut faults = Vec::new();
    for route in routes() {
        let withheld = [Scope::DeviceManage, Scope::GuestManage, Scope::DaemonManage];
        if withheld.contains(&route.scope) {
            let said = ask(&daemon.owner(), &route, NO_SESSION).await.verdict();
            let fault = format!("{} {}: {said}", route.method, route.path);
            faults.extend((said != "403 withheld").then_some(fault));
        } else {
            faults.extend(fault(&daemon.owner(), &route, NO_SESSION).await);
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn in_a_lock_down_every_route_admits_the_owner_as_before_and_nothing_listens_for_others() {
    let mut daemon = TestDaemon::start().await;
    let (session, address) = (daemon.owner().shell("sleep 600").await, daemon.address());
    let locked = daemon.owner().post("/v1/lockdown", &json!({})).await;
    assert_eq!(locked.status, 200, "{locked:?}");
    let mut all = routes();
    // What lifts it comes last.
    all.sort_by_key(|route| route.scope == Scope::LiftLockdown);
    for _ in 0..2 {
        let mut faults = Vec::new();
        for route in all.iter().filter(|route| route.scope != Scope::LiftLockdown) {
            faults.extend(fault(&daemon.owner(), route, &session.id).await);
            if TcpStream::connect(address).is_ok() {
                faults.push(format!("{address} listens after {} {}", route.method, route.path));
            }
        }
        assert!(faults.is_empty(), "{faults:#?}");
        daemon.kill_and_restart().await;
    }
    let lifts = all.last().unwrap();
    assert_eq!(fault(&daemon.owner(), lifts, &session.id).await, None);
}
