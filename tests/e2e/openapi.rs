//! The description of the API, held to a running daemon: by a client that knows nothing but what is served.

mod client;
mod description;

use std::collections::BTreeSet;

use harness::TestDaemon;
use serde_json::{Value, json};

use self::client::Client;
pub(crate) use self::description::Description;

#[tokio::test]
async fn every_route_is_described_with_its_scope_and_nothing_else_is() {
    let daemon = TestDaemon::start().await;
    let description = Description::of(&daemon).await;
    let mut routes = server::routes().list();
    routes.extend(daemon::routes().list());
    let routes: BTreeSet<_> = routes
        .iter()
        .map(|route| format!("{} {} {}", route.method, route.path, route.scope.name("session")))
        .collect();
    let described: BTreeSet<_> = description
        .operations()
        .iter()
        .map(|operation| {
            let scope = operation.says("x-scope").as_str().unwrap();
            format!("{} {} {scope}", operation.method, operation.path)
        })
        .collect();
    assert_eq!(described, routes);
}

#[tokio::test]
async fn every_example_is_as_its_schema_says() {
    let daemon = TestDaemon::start().await;
    let description = Description::of(&daemon).await;
    let examples = description.examples();
    assert!(examples.len() > 100, "{} examples", examples.len());
    let faults = examples.iter().filter_map(|(place, example)| {
        let why = description.mismatch(place, example)?;
        Some(format!("{place}: {why}"))
    });
    let faults: Vec<_> = faults.collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn a_client_that_knows_the_description_alone_can_do_everything() {
    let mut daemon = TestDaemon::start().await;
    let mut client = Client::of(&daemon).await;
    client.looks_around().await;
    let session = client.uses_a_session().await;
    client.streams(&session).await;
    client.pairs_and_ends_devices().await;
    client.invites_and_ends_guests(&session).await;
    client.minds_certificates().await;
    client.ends_a_session(&session).await;
    client.locks_down_and_ends_the_daemon().await;
    assert_eq!(client.undone(), Vec::<String>::new());
    daemon.ended().await;
}

#[tokio::test]
async fn what_is_described_as_a_failure_is_one() {
    let daemon = TestDaemon::start().await;
    let client = Client::of(&daemon).await;
    let owner = client.owner();
    let nobody = "ses_0000000000000000";
    let refused: [(&str, &str, Value, &str); 8] = [
        ("show_session", nobody, json!({}), "404 session_not_found"),
        ("show_session", "x%20y", json!({}), "404 not_found"),
        (
            "create_session",
            "",
            json!({ "command": "no-such-program" }),
            "422 program_not_found",
        ),
        (
            "create_session",
            "",
            json!({ "command": "sh", "more": 1 }),
            "400 malformed_request",
        ),
        (
            "read_screen",
            nobody,
            json!({ "lines": "many" }),
            "400 malformed_request",
        ),
        ("invite_guests", "", json!({}), "404 not_found"),
        (
            "approve_request",
            "req_0000000000000000",
            json!({}),
            "404 unknown_request",
        ),
        ("show_own_device", "", json!({}), "403 not_permitted"),
    ];
    for (name, id, wanted, expected) in refused {
        let answer = client.asks(&owner, name, id, &wanted).await;
        assert_eq!(answer.verdict(), expected, "{name}");
    }
    let stranger = client.stranger();
    let answer = client.asks(&stranger, "list_sessions", "", &json!({})).await;
    assert_eq!(answer.verdict(), "401 unauthenticated");
}
