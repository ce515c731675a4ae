//! A handler that panics while it is at a session.

use std::{path::Path, sync::Arc};

use certs::Identity;
use http::Method;
use pairing::View;
use protocol::Problem;
use server::{
    Access, App, Deps, Listener, LockdownFile, NoDoors, Permitted, Routes, Server, ServerConfig, Shutdown,
    Stop, clock, extract, store::Store,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use super::{PEER, create, desk, owner};
use crate::sessions::Sessions;

fn access(folder: &Path) -> Arc<Access> {
    std::fs::create_dir(folder).unwrap();
    let keys = folder.join("keys");
    let identity = Identity::load_or_create(&keys).unwrap();
    let opened = Store::open(&folder.join("transom.db"), &keys, clock::now()).unwrap();
    let deps = Deps::new(
        opened,
        identity.pin(),
        Arc::new(NoDoors),
        LockdownFile::new(folder),
    );
    Access::new(ServerConfig::new("session", "0.0.0"), deps)
}

/// Status and body of one request of the owner's.
async fn ask(socket: &Path, path: &str) -> (String, String) {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].to_owned(), body.to_owned())
}

#[tokio::test]
async fn a_panic_in_a_handler_is_a_500_with_an_id_and_the_daemon_and_every_session_live_on() {
    let (folder, sessions, permit) = desk(&owner());
    let ids = [
        create(&sessions, &permit).await.unwrap(),
        create(&sessions, &permit).await.unwrap(),
    ];
    let routes = Routes::<Sessions>::new()
        .route::<View, _, _>(Method::GET, "/v1/sessions/{id}", Some("id"), show)
        .route::<View, _, _>(Method::GET, "/v1/sessions/{id}/panic", Some("id"), panics);
    let access = access(&folder.path().join("access"));
    let socket = folder.path().join("http.sock");
    let listener = Listener::Unix(UnixListener::bind(&socket).unwrap());
    let stop = Stop::new();
    let server = Server::new(Arc::clone(&access)).routes(routes, &sessions);
    let serving = tokio::spawn(server.serve(vec![listener], stop.clone()));
    for _ in 0..3 {
        let (status, body) = ask(&socket, &format!("/v1/sessions/{}/panic", ids[0])).await;
        let problem: Problem = serde_json::from_str(&body).unwrap();
        assert_eq!((status.as_str(), problem.code.as_str()), ("500", "internal"));
        assert!(
            problem.request_id.is_some() && !body.contains("on purpose"),
            "{body}"
        );
    }
    for id in &ids {
        let (status, body) = ask(&socket, &format!("/v1/sessions/{id}")).await;
        assert_eq!(
            (status.as_str(), body.as_str()),
            ("200", "running, with 0 viewers")
        );
    }
    assert_eq!(sessions.count(), (2, 2));
    stop.request(Shutdown::Hard);
    serving.await.unwrap().unwrap();
    for id in &ids {
        sessions
            .find(id)
            .unwrap()
            .remove(&permit, &PEER, true)
            .await
            .unwrap();
    }
}

async fn show(
    App(sessions): App<Sessions>,
    Permitted(permit): Permitted<View>,
    extract::Path(id): extract::Path<String>,
) -> String {
    let shown = sessions.find(&id).and_then(|session| session.show(&permit));
    let shown = shown.unwrap();
    let state = if shown.exit.is_none() { "running" } else { "ended" };
    format!("{state}, with {} viewers", shown.viewers)
}

async fn panics(
    App(sessions): App<Sessions>,
    Permitted(permit): Permitted<View>,
    extract::Path(id): extract::Path<String>,
) {
    let session = sessions.find(&id).unwrap();
    let _shown = session.show(&permit).unwrap();
    let _entered = session.enter(&permit, None).unwrap();
    panic!("on purpose")
}
