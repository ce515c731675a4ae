mod slow_disk;
mod stale;
mod unstored;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    response::IntoResponse,
};
use http::{Method, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use pairing::{Role, marker::View};

use crate::{
    access::Access,
    clock,
    limits::Limits,
    router::{Permitted, Routes},
    testing::{Client, PATIENCE, TestDevice, TestServer, with_token},
};

/// Chunks that bodies of `/v1/count` handed to the transport.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicU64>);

impl Counter {
    fn body(&self) -> Body {
        let count = Arc::clone(&self.0);
        let chunks = futures_util::stream::repeat_with(move || {
            count.fetch_add(1, Ordering::SeqCst);
            Ok::<_, std::io::Error>(Bytes::from_static(&[b'.'; 1024]))
        });
        Body::from_stream(chunks)
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

async fn serve(counter: &Counter) -> TestServer {
    let counter = counter.clone();
    let count = async move |_: Permitted<View>| {
        ([(header::CONTENT_TYPE, "text/event-stream")], counter.body()).into_response()
    };
    let routes: Routes<Arc<Access>> =
        Routes::new().route::<View, _, _>(Method::GET, "/v1/count", None, count);
    TestServer::start_with(Limits::default(), routes).await
}

async fn stream(client: &mut Client, device: &TestDevice) -> Incoming {
    let request = with_token(client.request(Method::GET, "/v1/count"), Some(device));
    let mut body = client
        .send(request.body(Full::default()).unwrap())
        .await
        .unwrap()
        .into_body();
    body.frame().await.unwrap().unwrap();
    body
}

/// Reads on until the stream ends in whatever way.
fn drain(mut body: Incoming) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move { while let Some(Ok(_)) = body.frame().await {} })
}

fn path(device: &TestDevice) -> String {
    format!("/v1/devices/{}", device.id)
}

#[tokio::test]
async fn revoking_closes_every_stream_of_the_device_and_none_of_another() {
    let (counter, others) = (Counter::default(), Counter::default());
    let server = serve(&counter).await;
    let (phone, laptop) = (
        server.device(Role::Viewer, false).await,
        server.device(Role::Viewer, false).await,
    );
    let (mut one, mut two, mut idle, mut other) = (
        server.http1().await,
        server.http2().await,
        server.http1().await,
        server.http2().await,
    );
    let streams = [
        drain(stream(&mut one, &phone).await),
        drain(stream(&mut two, &phone).await),
    ];
    assert_eq!(idle.get("/v1/whoami", Some(&phone)).await.status, 200);
    assert_eq!(other.get("/v1/whoami", Some(&laptop)).await.status, 200);

    let revoked = server.owner().await.delete(&path(&phone), None).await.json();
    let handed_out = counter.now();
    assert_eq!(
        (revoked["closed"].as_u64(), revoked["device_id"].as_str()),
        (Some(3), Some(phone.id.to_string().as_str()))
    );
    assert_eq!(revoked["sessions"], serde_json::json!(["ses_0000000000000001"]));
    for stream in streams {
        tokio::time::timeout(PATIENCE, stream)
            .await
            .expect("the stream ends")
            .unwrap();
    }
    assert_eq!(counter.now(), handed_out, "nothing was produced after the answer");
    assert_eq!(
        server
            .http2()
            .await
            .get("/v1/whoami", Some(&phone))
            .await
            .problem(),
        (401, "revoked".to_owned())
    );
    assert_eq!(
        other.get("/v1/whoami", Some(&laptop)).await.status,
        200,
        "on the same connection"
    );
    assert_eq!(others.now(), 0);
}

#[tokio::test]
async fn a_client_that_never_reads_delays_nobody() {
    let server = serve(&Counter::default()).await;
    let phone = server.device(Role::Viewer, false).await;
    let mut client = server.http1().await;
    let _never_read = stream(&mut client, &phone).await;
    let revoked = server.owner().await.delete(&path(&phone), None).await.json();
    assert!(revoked["elapsed_us"].as_u64().unwrap() < 1_000_000, "{revoked}");
}

#[tokio::test]
async fn a_device_that_signs_out_gets_its_answer_and_then_the_end() {
    for is_http2 in [false, true] {
        let server = serve(&Counter::default()).await;
        let phone = server.device(Role::Viewer, false).await;
        let mut client = if is_http2 {
            server.http2().await
        } else {
            server.http1().await
        };
        let beside = if is_http2 {
            Some(drain(stream(&mut client, &phone).await))
        } else {
            None
        };
        let answer = client.delete("/v1/devices/self", Some(&phone)).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["closed"].as_u64()),
            (200, Some(1))
        );
        client.closed().await;
        if let Some(stream) = beside {
            tokio::time::timeout(PATIENCE, stream)
                .await
                .expect("its other stream ends")
                .unwrap();
        }
        server.until_connections(0).await;
        assert_eq!(
            server
                .http1()
                .await
                .get("/v1/whoami", Some(&phone))
                .await
                .problem(),
            (401, "revoked".to_owned())
        );
    }
}

#[tokio::test]
async fn a_device_that_may_revoke_ends_those_that_may_not_and_itself_by_id() {
    let server = TestServer::start().await;
    let (mighty, equal) = (
        server.device(Role::Viewer, true).await,
        server.device(Role::Operator, true).await,
    );
    let weak = server.device(Role::Operator, false).await;
    let mut client = server.http2().await;
    assert_eq!(
        client.delete(&path(&equal), Some(&mighty)).await.problem(),
        (403, "not_permitted".to_owned())
    );
    assert_eq!(client.delete(&path(&weak), Some(&mighty)).await.status, 200);
    assert_eq!(
        client.delete(&path(&weak), Some(&mighty)).await.problem(),
        (404, "unknown_device".to_owned())
    );
    assert_eq!(client.delete(&path(&mighty), Some(&mighty)).await.status, 200);
    let rows = server.access.store().audit_rows(10).await.unwrap();
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.action.as_ref(), row.outcome.as_ref()))
        .collect();
    let revoked = ("device_revoked", "ok");
    assert_eq!(
        told[3..],
        [
            ("device_revoked", "not_permitted"),
            revoked,
            ("device_revoked", "unknown_device"),
            revoked
        ]
    );
}

#[tokio::test]
async fn where_the_store_fails_the_device_is_closed_and_the_answer_says_that_it_would_return() {
    let server = serve(&Counter::default()).await;
    let phone = server.device(Role::Viewer, false).await;
    let mut client = server.http2().await;
    let stream = drain(stream(&mut client, &phone).await);
    server.access.store().break_writes().await;
    let answer = server.owner().await.delete(&path(&phone), None).await;
    assert_eq!(answer.problem(), (500, "revoked_in_memory_only".to_owned()));
    tokio::time::timeout(PATIENCE, stream)
        .await
        .expect("the stream ends")
        .unwrap();
    assert_eq!(
        server
            .http1()
            .await
            .get("/v1/whoami", Some(&phone))
            .await
            .problem(),
        (401, "revoked".to_owned())
    );
}

#[tokio::test]
async fn a_device_that_signs_out_is_told_too_that_the_store_failed() {
    let server = TestServer::start().await;
    let phone = server.device(Role::Viewer, false).await;
    let mut client = server.http2().await;
    assert_eq!(client.get("/v1/whoami", Some(&phone)).await.status, 200);
    server.access.store().break_writes().await;
    let answer = client.delete("/v1/devices/self", Some(&phone)).await;
    assert_eq!(answer.problem(), (500, "revoked_in_memory_only".to_owned()));
    client.closed().await;
}

#[tokio::test]
async fn a_write_under_way_is_waited_for() {
    let server = TestServer::start().await;
    let phone = server.device(Role::Operator, false).await;
    let authenticated = server.access.devices().renew(phone.id, clock::latest()).unwrap();
    let hold = authenticated
        .permit::<pairing::Write>(None)
        .unwrap()
        .hold()
        .unwrap();
    let mut owner = server.owner().await;
    let revoking = path(&phone);
    let mut revoking = std::pin::pin!(owner.delete(&revoking, None));
    let early = tokio::time::timeout(Duration::from_millis(50), &mut revoking).await;
    assert!(early.is_err(), "it did not answer while a write was under way");
    drop(hold);
    assert_eq!(revoking.await.status, 200);
}

#[tokio::test]
async fn a_device_whose_time_is_over_is_closed_at_that_moment() {
    let server = serve(&Counter::default()).await;
    let phone = server.device(Role::Viewer, false).await;
    let mut client = server.http1().await;
    let stream = drain(stream(&mut client, &phone).await);
    // Its end is moved near while it has a stream open.
    let mut device = server.access.devices().get(phone.id).unwrap().clone();
    device.expires_at = Some(clock::latest().plus(Duration::from_millis(100)));
    {
        let mut devices = server.access.devices();
        let others = devices
            .iter()
            .filter(|other| other.id != phone.id)
            .cloned()
            .collect::<Vec<_>>();
        let standing = devices.renew(phone.id, clock::latest()).unwrap();
        *devices = pairing::Devices::load(others.into_iter().chain([device]), [], Duration::from_secs(3600));
        drop(standing);
    }
    server.access.devices_changed.notify_waiters();
    tokio::time::timeout(PATIENCE, stream)
        .await
        .expect("the stream ends")
        .unwrap();
    assert_eq!(
        server
            .http1()
            .await
            .get("/v1/whoami", Some(&phone))
            .await
            .problem(),
        (401, "expired".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoking_while_connections_come_and_go_ends_and_leaves_none() {
    let server = Arc::new(serve(&Counter::default()).await);
    for _ in 0..5 {
        let phone = Arc::new(server.device(Role::Viewer, false).await);
        let comers: Vec<_> = (0..8)
            .map(|_| {
                let (server, phone) = (Arc::clone(&server), Arc::clone(&phone));
                tokio::spawn(async move { come_and_go(&server, &phone).await })
            })
            .collect();
        while server.access.connections().count_of(phone.id) == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.owner().await.delete(&path(&phone), None).await.status, 200);
        for comer in comers {
            comer.await.unwrap();
        }
        server.until_none_of(phone.id).await;
    }
}

/// Connects anew with a stream each time, until it is told that it is revoked.
async fn come_and_go(server: &TestServer, phone: &TestDevice) {
    loop {
        let mut client = server.http1().await;
        let request = with_token(client.request(Method::GET, "/v1/count"), Some(phone))
            .body(Full::default())
            .unwrap();
        match client.send(request).await {
            Ok(answer) if answer.status() == 401 => return,
            Ok(_) | Err(_) => (),
        }
    }
}

#[tokio::test]
async fn a_disconnect_closes_what_the_device_has_open_and_its_trust_stays() {
    let server = serve(&Counter::default()).await;
    let (phone, laptop) = (
        server.device(Role::Viewer, false).await,
        server.device(Role::Viewer, false).await,
    );
    let (mut one, mut other) = (server.http2().await, server.http2().await);
    assert_eq!(one.get("/v1/whoami", Some(&phone)).await.status, 200);
    assert_eq!(other.get("/v1/whoami", Some(&laptop)).await.status, 200);
    let path = format!("{}/connections", path(&phone));
    let answer = server.owner().await.delete(&path, None).await;
    assert_eq!(answer.json()["closed"], 1);
    server.until_none_of(phone.id).await;
    assert_eq!(other.get("/v1/whoami", Some(&laptop)).await.status, 200);
    assert_eq!(
        server.http2().await.get("/v1/whoami", Some(&phone)).await.status,
        200
    );
    server.owner().await.delete(&self::path(&phone), None).await;
    let gone = server.owner().await.delete(&path, None).await;
    assert_eq!(gone.problem(), (404, "unknown_device".to_owned()));
}
