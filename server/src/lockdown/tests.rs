use std::sync::atomic::Ordering;

use http::Method;
use pairing::Role;

use super::LockdownFile;
use crate::{
    audit::AuditRow,
    testing::{TestDevice, TestServer},
};

async fn locked() -> (TestServer, TestDevice) {
    let server = TestServer::start().await;
    let device = server.device(Role::Operator, false).await;
    let answer = server.owner().await.ask(Method::POST, "/v1/lockdown", None).await;
    assert_eq!(answer.status, 200);
    (server, device)
}

fn is_shut(server: &TestServer) -> impl Future<Output = bool> {
    let address = server.tls;
    async move { tokio::net::TcpStream::connect(address).await.is_err() }
}

#[tokio::test]
async fn a_lock_down_closes_every_remote_listener_and_connection_and_nothing_local() {
    let server = TestServer::start().await;
    let device = server.device(Role::Viewer, false).await;
    let (mut one, mut two) = (server.http1().await, server.http2().await);
    assert_eq!(one.get("/v1/whoami", Some(&device)).await.status, 200);
    assert_eq!(
        two.get("/v1/health", None).await.status,
        200,
        "nobody's is closed too"
    );
    let mut owner = server.owner().await;
    let answer = owner.ask(Method::POST, "/v1/lockdown", None).await;
    assert_eq!(answer.json()["closed"], 2);
    assert!(is_shut(&server).await);
    server.until_none_of(device.id).await;
    assert!(
        one.send(
            one.request(Method::GET, "/v1/health")
                .body(Default::default())
                .unwrap()
        )
        .await
        .is_err()
    );
    assert_eq!(owner.get("/v1/devices", None).await.status, 200);
    assert!(LockdownFile::new(server.directory.path()).is_locked());
    assert!(server.access.is_locked_down());
}

#[tokio::test]
async fn what_was_authenticated_before_a_lock_down_may_write_nothing_any_more() {
    let server = TestServer::start().await;
    let device = server.device(Role::Operator, false).await;
    let before = server
        .access
        .devices()
        .renew(device.id, crate::clock::latest())
        .unwrap();
    let permit = before.permit::<pairing::Write>(None).unwrap();
    assert!(permit.hold().is_some());
    server.owner().await.ask(Method::POST, "/v1/lockdown", None).await;
    assert!(permit.hold().is_none());
}

#[tokio::test]
async fn the_owner_lifts_it_and_devices_come_in_again_by_the_same_address() {
    let (server, device) = locked().await;
    let answer = server.owner().await.delete("/v1/lockdown", None).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["listeners"].as_u64()),
        (200, Some(1))
    );
    assert_eq!(
        server.http2().await.get("/v1/whoami", Some(&device)).await.status,
        200
    );
    assert!(!LockdownFile::new(server.directory.path()).is_locked());
    let again = server.owner().await.delete("/v1/lockdown", None).await;
    assert_eq!(again.json()["listeners"], 0, "there was nothing to lift");
}

#[tokio::test]
async fn an_address_that_somebody_took_keeps_it_locked() {
    let (server, _) = locked().await;
    let _taken = tokio::net::TcpListener::bind(server.tls).await.unwrap();
    let answer = server.owner().await.delete("/v1/lockdown", None).await;
    assert_eq!(answer.problem(), (409, "not_lifted".to_owned()));
    assert!(LockdownFile::new(server.directory.path()).is_locked());
    assert!(server.access.is_locked_down());
    let rows = server.access.store.audit_rows(2).await.unwrap();
    let said: Vec<_> = rows.iter().map(|row| (&*row.action, &*row.outcome)).collect();
    assert_eq!(
        said,
        [("lockdown_lifted", "ok"), ("lockdown_lifted", "not_lifted")]
    );
}

#[test]
fn a_file_that_is_there_is_taken_for_lasting_only_once_it_is_synced() {
    // It is there, and its file system can sync nothing.
    let file = LockdownFile("/proc/self/status".into());
    assert!(file.is_locked());
    assert!(file.create().is_err());
    let folder = tempfile::tempdir().unwrap();
    let file = LockdownFile::new(folder.path());
    for _ in 0..2 {
        file.create().unwrap();
    }
}

#[tokio::test]
async fn a_disk_that_hangs_keeps_nothing_open() {
    let server = TestServer::start().await;
    let device = server.device(Role::Viewer, false).await;
    let mut remote = server.http1().await;
    assert_eq!(remote.get("/v1/whoami", Some(&device)).await.status, 200);
    let disk = server.access.lockdown.disk.lock().await;
    let writes = server.access.store.hold_writes();
    let answer = server.owner().await.ask(Method::POST, "/v1/lockdown", None).await;
    assert_eq!(answer.problem(), (500, "locked_in_memory_only".to_owned()));
    assert!(is_shut(&server).await && server.access.is_locked_down());
    let file = LockdownFile::new(server.directory.path());
    assert!(!file.is_locked());
    drop((disk, writes));
    while !file.is_locked() {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.access.store.append_audit(row()).await.ok(), Some(()));
    let rows = server.access.store.audit_rows(2).await.unwrap();
    assert_eq!(
        rows[0].action, "locked_down",
        "it was written as soon as it could"
    );
}

#[tokio::test]
async fn a_lock_down_while_another_is_lifted_is_the_last_word() {
    let (server, _) = locked().await;
    let lockdown = &server.access.lockdown;
    let before = lockdown.wanted.load(Ordering::Acquire);
    let disk = lockdown.disk.lock().await;
    let (mut lifting, mut locking) = (server.owner().await, server.owner().await);
    let lifting = tokio::spawn(async move { lifting.delete("/v1/lockdown", None).await });
    // Until it has bound what it opens, and waits for the disk.
    while is_shut(&server).await {
        tokio::task::yield_now().await;
    }
    let locking = tokio::spawn(async move { locking.ask(Method::POST, "/v1/lockdown", None).await });
    while lockdown.wanted.load(Ordering::Acquire) == before {
        tokio::task::yield_now().await;
    }
    drop(disk);
    assert_eq!(locking.await.unwrap().status, 200);
    assert_eq!(lifting.await.unwrap().problem(), (409, "not_lifted".to_owned()));
    assert!(is_shut(&server).await && server.access.is_locked_down());
    assert!(LockdownFile::new(server.directory.path()).is_locked());
}

fn row() -> AuditRow {
    AuditRow::new(crate::clock::now(), "owner", "", "x", "")
}

#[tokio::test]
async fn what_was_only_written_down_is_done_before_it_is_lifted() {
    let server = TestServer::start().await;
    let device = server.device(Role::Viewer, false).await;
    let mut owner = server.owner().await;
    let offered = owner.post("/v1/pairing/offers", "application/json", "{}").await;
    assert_eq!(offered.status, 201);
    let before = server
        .access
        .devices()
        .renew(device.id, crate::clock::latest())
        .unwrap();
    // As by the command line, for a daemon that hangs and is not asked for anything meanwhile.
    server.access.lockdown.watch.pause();
    let file = LockdownFile::new(server.directory.path());
    file.create().unwrap();
    let answer = owner.delete("/v1/lockdown", None).await;
    assert_eq!(answer.json()["listeners"], 1);
    assert!(!file.is_locked() && !is_shut(&server).await);
    assert!(!before.is_current());
    let offers = server.access.authority().offers(crate::clock::latest());
    assert!(offers.iter().all(|offer| !offer.phase.is_live()), "{offers:?}");
    let rows = server.access.store.audit_rows(2).await.unwrap();
    let said: Vec<_> = rows.iter().map(|row| (&*row.action, &*row.principal)).collect();
    assert_eq!(said, [("locked_down", "daemon"), ("lockdown_lifted", "owner")]);
    assert_eq!(
        server.http2().await.get("/v1/whoami", Some(&device)).await.status,
        200
    );
}

#[tokio::test]
async fn it_is_locked_twice_as_once() {
    let (server, _) = locked().await;
    let answer = server.owner().await.ask(Method::POST, "/v1/lockdown", None).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["closed"].as_u64()),
        (200, Some(0))
    );
}

#[tokio::test]
async fn a_device_that_may_revoke_locks_down_on_the_connection_that_must_close_and_does_not_lift() {
    let server = TestServer::start().await;
    let (may, may_not) = (
        server.device(Role::Viewer, true).await,
        server.device(Role::Operator, false).await,
    );
    let mut other = server.http2().await;
    let refused = other.ask(Method::POST, "/v1/lockdown", Some(&may_not)).await;
    assert_eq!(refused.status, 403);
    for protocol in ["h2", "http/1.1"] {
        let mut client = match protocol {
            "h2" => server.http2().await,
            _ => server.http1().await,
        };
        let refused = client.delete("/v1/lockdown", Some(&may)).await;
        assert_eq!(refused.status, 403);
        let answer = client.ask(Method::POST, "/v1/lockdown", Some(&may)).await;
        assert_eq!(answer.status, 200, "it gets its answer");
        server.until_none_of(may.id).await;
        assert!(is_shut(&server).await);
        assert_eq!(
            server.owner().await.delete("/v1/lockdown", None).await.status,
            200
        );
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_written_keeps_nobody_from_locking_down_and_from_nothing_else() {
    let server = TestServer::start().await;
    server.access.store.break_writes().await;
    let mut owner = server.owner().await;
    assert_eq!(owner.ask(Method::POST, "/v1/lockdown", None).await.status, 200);
    assert!(is_shut(&server).await);
    let refused = owner.delete("/v1/lockdown", None).await;
    assert_eq!(
        refused.problem(),
        (503, "store_failed".to_owned()),
        "it would let somebody in"
    );
    assert!(LockdownFile::new(server.directory.path()).is_locked());
    server.access.store.mend_writes().await;
    assert_eq!(owner.delete("/v1/lockdown", None).await.status, 200);
}

#[tokio::test]
async fn nobody_is_invited_while_it_is_locked_and_what_was_offered_is_void() {
    let server = TestServer::start().await;
    let mut owner = server.owner().await;
    assert_eq!(
        owner
            .post("/v1/pairing/offers", "application/json", "{}")
            .await
            .status,
        201
    );
    owner.ask(Method::POST, "/v1/lockdown", None).await;
    let refused = owner.post("/v1/pairing/offers", "application/json", "{}").await;
    assert_eq!(refused.problem(), (409, "locked_down".to_owned()));
    let offers = server.access.authority().offers(crate::clock::latest());
    assert!(offers.iter().all(|offer| !offer.phase.is_live()), "{offers:?}");
}

#[tokio::test]
async fn what_is_locked_and_lifted_stands_in_the_trail() {
    let (server, _) = locked().await;
    server.owner().await.delete("/v1/lockdown", None).await;
    let rows = server.access.store.audit_rows(2).await.unwrap();
    let said: Vec<_> = rows.iter().map(|row| (&*row.principal, &*row.action)).collect();
    assert_eq!(said, [("owner", "locked_down"), ("owner", "lockdown_lifted")]);
}

#[test]
fn whatever_is_there_or_cannot_be_looked_at_means_locked() {
    let home = tempfile::tempdir().unwrap();
    let file = LockdownFile::new(home.path());
    assert!(!file.is_locked());
    file.create().unwrap();
    assert!(file.is_locked());
    file.create().unwrap();
    file.remove().unwrap();
    assert!(!file.is_locked());
    std::os::unix::fs::symlink("/nowhere", home.path().join("lockdown")).unwrap();
    assert!(file.is_locked(), "a link to nothing");
    file.remove().unwrap();
    std::fs::write(home.path().join("state"), "").unwrap();
    assert!(
        LockdownFile::new(&home.path().join("state")).is_locked(),
        "no directory to look in"
    );
}

#[tokio::test]
async fn what_was_written_down_while_the_daemon_hung_holds_before_another_byte_is_served() {
    let server = TestServer::start().await;
    let device = server.device(Role::Operator, false).await;
    let (mut one, mut two) = (server.http1().await, server.http2().await);
    for client in [&mut one, &mut two] {
        assert_eq!(client.get("/v1/whoami", Some(&device)).await.status, 200);
    }
    LockdownFile::new(server.directory.path()).create().unwrap();
    server.access.lockdown.watch.make_look_old();
    for mut client in [one, two] {
        let request = client.request(Method::GET, "/v1/health");
        assert!(
            client
                .send(request.body(Default::default()).unwrap())
                .await
                .is_err()
        );
    }
    assert!(server.access.is_locked_down());
    while !is_shut(&server).await {
        tokio::task::yield_now().await;
    }
    server.until_none_of(device.id).await;
    let mut owner = server.owner().await;
    assert_eq!(owner.get("/v1/devices", None).await.status, 200);
    assert_eq!(owner.delete("/v1/lockdown", None).await.json()["listeners"], 1);
    assert_eq!(
        server.http2().await.get("/v1/whoami", Some(&device)).await.status,
        200
    );
    let rows = server.access.store.audit_rows(2).await.unwrap();
    let said: Vec<_> = rows.iter().map(|row| (&*row.action, &*row.principal)).collect();
    assert_eq!(said, [("locked_down", "daemon"), ("lockdown_lifted", "owner")]);
}

#[tokio::test]
async fn a_file_system_that_hangs_holds_up_remote_streams_and_nothing_else() {
    let server = TestServer::start().await;
    let (kept, lost) = (
        server.device(Role::Viewer, false).await,
        server.device(Role::Viewer, false).await,
    );
    let (mut one, mut two, mut owner) = (server.http1().await, server.http2().await, server.owner().await);
    assert_eq!(one.get("/v1/whoami", Some(&kept)).await.status, 200);
    assert_eq!(two.get("/v1/whoami", Some(&lost)).await.status, 200);
    server.access.lockdown.watch.make_look_old();
    let hung = server
        .access
        .lockdown
        .watch
        .hung
        .try_lock()
        .expect("no look is under way");
    let mut waits = std::pin::pin!(one.get("/v1/whoami", Some(&kept)));
    // Until its bytes have come and wait for a look.
    while !server.access.lockdown.watch.is_looking() {
        assert!(futures_util::poll!(waits.as_mut()).is_pending());
        tokio::task::yield_now().await;
    }
    // Whoever is local is served, and a device is revoked with what it has open.
    assert_eq!(owner.get("/v1/devices", None).await.status, 200);
    let revoked = owner.delete(&format!("/v1/devices/{}", lost.id), None).await;
    assert_eq!(revoked.json()["closed"], 1);
    two.closed().await;
    assert!(
        futures_util::poll!(waits.as_mut()).is_pending(),
        "nobody has looked"
    );
    drop(hung);
    assert_eq!(waits.await.status, 200);
}

#[tokio::test]
async fn no_device_is_invited_where_a_lock_down_is_only_written_down() {
    let server = TestServer::start().await;
    LockdownFile::new(server.directory.path()).create().unwrap();
    server.access.lockdown.watch.make_look_old();
    let mut owner = server.owner().await;
    let refused = owner.post("/v1/pairing/offers", "application/json", "{}").await;
    assert_eq!(refused.problem(), (409, "locked_down".to_owned()));
    while !is_shut(&server).await {
        tokio::task::yield_now().await;
    }
}
