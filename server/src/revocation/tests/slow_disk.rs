//! A revocation whose row waits for the disk.

use std::pin::pin;

use pairing::Role;

use super::{Counter, drain, path, serve, stream};
use crate::testing::{PATIENCE, TestServer};

/// Completes once a device is dead in memory, while somebody waits for its end.
async fn until_dead(server: &TestServer, device: pairing::DeviceId, mut ending: impl Future + Unpin) {
    while server.access.devices().get(device).is_some() {
        assert!(
            futures_util::poll!(&mut ending).is_pending(),
            "nothing is stored yet"
        );
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn streams_end_and_nothing_of_the_device_opens_before_the_disk_has_answered() {
    let counter = Counter::default();
    let server = serve(&counter).await;
    let phone = server.device(Role::Viewer, false).await;
    let (mut one, mut two) = (server.http1().await, server.http2().await);
    let streams = [
        drain(stream(&mut one, &phone).await),
        drain(stream(&mut two, &phone).await),
    ];
    let held = server.access.store().hold_writes();
    let (mut owner, at) = (server.owner().await, path(&phone));
    let mut revoking = pin!(owner.delete(&at, None));
    until_dead(&server, phone.id, revoking.as_mut()).await;
    for stream in streams {
        tokio::time::timeout(PATIENCE, stream)
            .await
            .expect("the stream ends before the disk has answered")
            .unwrap();
    }
    server.until_none_of(phone.id).await;
    let handed_out = counter.now();
    let refused = server.http1().await.get("/v1/whoami", Some(&phone)).await;
    assert_eq!(refused.problem(), (401, "revoked".to_owned()));
    assert!(
        futures_util::poll!(revoking.as_mut()).is_pending(),
        "it is not stored yet"
    );
    drop(held);
    assert_eq!(revoking.await.json()["closed"], 2);
    assert_eq!(
        counter.now(),
        handed_out,
        "nothing was produced after the streams had ended"
    );
}

#[tokio::test]
async fn who_revokes_a_device_that_is_being_revoked_waits_for_the_same_outcome() {
    for is_broken in [false, true] {
        let server = TestServer::start().await;
        let phone = server.device(Role::Viewer, false).await;
        if is_broken {
            server.access.store().break_writes().await;
        }
        let held = server.access.store().hold_writes();
        let (mut owner, mut other, at) = (server.owner().await, server.owner().await, path(&phone));
        let mut first = pin!(owner.delete(&at, None));
        until_dead(&server, phone.id, first.as_mut()).await;
        let second = other.delete(&at, None);
        let unhold = async {
            while !server.access.revocations.is_waited_for(phone.id) {
                tokio::task::yield_now().await;
            }
            drop(held);
        };
        let (first, second, ()) = tokio::join!(first, second, unhold);
        match is_broken {
            false => assert_eq!((first.status.as_u16(), first.json()), (200, second.json())),
            true => {
                let unstored = (500, "revoked_in_memory_only".to_owned());
                assert_eq!((first.problem(), second.problem()), (unstored.clone(), unstored));
            }
        }
    }
}

#[tokio::test]
async fn who_may_not_revoke_a_device_is_not_told_of_its_end_while_that_is_under_way() {
    let server = TestServer::start().await;
    let (mighty, equal) = (
        server.device(Role::Viewer, true).await,
        server.device(Role::Viewer, true).await,
    );
    let mut client = server.http2().await;
    assert_eq!(client.get("/v1/whoami", Some(&equal)).await.status, 200);
    let held = server.access.store().hold_writes();
    let (mut owner, at) = (server.owner().await, path(&mighty));
    let mut first = pin!(owner.delete(&at, None));
    until_dead(&server, mighty.id, first.as_mut()).await;
    let (mut second, waiting) = (
        pin!(client.delete(&at, Some(&equal))),
        server.access.store().waiting(),
    );
    // It has been judged once its row waits for the disk as well: its own refusal waits for that, not for the end.
    while server.access.store().waiting() == waiting {
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        tokio::task::yield_now().await;
    }
    drop(held);
    assert_eq!(second.await.problem(), (404, "unknown_device".to_owned()));
    assert_eq!(first.await.status, 200);
}
