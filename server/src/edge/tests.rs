use std::sync::Arc;

use axum::{Router, body::Body, response::IntoResponse};
use http::Request;
use http_body_util::BodyExt;
use tokio::net::UnixStream;

use super::{Edge, watched, without_answers_to_the_revoked};
use crate::{
    connections::Entry,
    peer::{LocalPeer, Peer},
    stream::Socket,
    testing::TestServer,
};

fn local(server: &TestServer, uid: u32) -> (Entry, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let peer = Peer::Local(LocalPeer { uid, pid: None });
    (
        server
            .access
            .connections()
            .accept(peer, Socket::Unix(Arc::new(ours))),
        theirs,
    )
}

async fn ask(server: &TestServer, uid: u32) -> (u16, String) {
    let router = Router::new().route("/", axum::routing::get(async || "let in"));
    let edge = Edge {
        access: Arc::clone(&server.access),
        router,
    };
    let (entry, _theirs) = local(server, uid);
    let response = edge
        .route(entry.connection(), Request::get("/").body(Body::empty()).unwrap())
        .await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn another_user_on_the_unix_socket_is_refused_public_routes_too() {
    let server = TestServer::start().await;
    let own = rustix::process::geteuid().as_raw();
    assert_eq!(ask(&server, own).await, (200, "let in".to_owned()));
    for other in [own + 1, own.wrapping_sub(1)] {
        let (status, body) = ask(&server, other).await;
        assert_eq!(status, 403);
        assert!(body.contains("other_user"), "{body}");
    }
}

#[tokio::test]
async fn an_answer_whose_principal_ends_while_it_is_sent_breaks_off() {
    let server = TestServer::start().await;
    let (entry, _theirs) = local(&server, rustix::process::geteuid().as_raw());
    let connection = entry.connection();
    let (answer, is_last) = without_answers_to_the_revoked(connection, "for a device".into_response());
    connection.set_revoked();
    connection.tell_revoked();
    let sent = watched(connection, connection.begin(), answer, is_last);
    assert!(sent.into_body().collect().await.is_err());
    let (refusal, is_last) = without_answers_to_the_revoked(connection, "for a device".into_response());
    let sent = watched(connection, connection.begin(), refusal, is_last);
    assert_eq!(sent.status(), 401);
    assert!(!sent.into_body().collect().await.unwrap().to_bytes().is_empty());
}
