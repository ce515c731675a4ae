//! How many connections those may have who authenticated.

use harness::{RawHttp2, TlsClient, Unattached, until};
use pairing::Role;
use protocol::{attach::Mode, sessions::Session};

use super::pool::{ask, start};

#[tokio::test]
async fn beyond_the_connections_in_all_a_newcomer_is_dropped_and_nobody_who_is_there() {
    let daemon = start("[limits]\nconnections = 12\n").await;
    let owner = daemon.owner();
    let session = owner.shell("echo ready; read x; echo on; read x").await;
    let devices = [
        daemon.device(Role::Viewer).await,
        daemon.device(Role::Viewer).await,
    ];
    for device in &devices {
        device.access().await;
    }
    let mut held = Vec::new();
    let refused = loop {
        assert!(held.len() <= 12, "there are more than there may be");
        match devices[held.len() % 2].reach(&session.id, Mode::View, "0").await {
            Ok(attached) => held.push(attached),
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused, Unattached::Broken(_)), "{refused:?}");
    assert!(
        held.len() >= 6,
        "the others are the owner's and what devices asked on: {}",
        held.len()
    );
    // The owner is never shut out, and whoever is there goes on.
    let path = format!("/v1/sessions/{}/input", session.id);
    let typed = owner
        .post(&path, &serde_json::json!({ "text": "", "enter": true }))
        .await;
    assert_eq!(typed.status, 204, "{typed:?}");
    for attached in &mut held {
        attached.until("on").await;
    }
    drop(held.pop());
    let back = until("room for another", || async {
        devices[0].reach(&session.id, Mode::View, "0").await.ok()
    });
    back.await.until("on").await;
}

#[tokio::test]
async fn each_principal_has_its_own_number_of_connections_whatever_others_have() {
    let daemon = start("[limits]\nper_principal = 3\n").await;
    let devices = [
        daemon.device(Role::Viewer).await,
        daemon.device(Role::Viewer).await,
    ];
    for device in &devices {
        // Also where another has as many as it may.
        let access = device.access().await;
        let mut held = Vec::new();
        let refused = loop {
            assert!(held.len() <= 3, "it has more than it may");
            let mut raw = RawHttp2::open(daemon.address(), daemon.pin(), &[]).await;
            let said = ask(&daemon, &mut raw, 1, Some(&access)).await;
            if said.contains("\"too_many_connections\"") {
                break raw;
            }
            assert!(said.contains("\"device\""), "{said}");
            held.push(raw);
        };
        let mut refused = refused;
        while refused.next().await.is_some() {}
        for raw in &mut held {
            raw.settled().await;
        }
        drop(held);
        let client = TlsClient::new(daemon.address(), daemon.pin());
        until("room for another", || async {
            let answer = client.get("/v1/whoami", Some(&access)).await;
            (answer.status == 200).then_some(())
        })
        .await;
    }
    let sessions: Vec<Session> = daemon.owner().get("/v1/sessions").await.ok();
    assert!(sessions.is_empty());
}
