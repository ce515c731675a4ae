//! One small route three times: bare, behind the access layer, and behind it for devices alone. The same TLS for all.

use std::{os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use anyhow::Result;
use axum::{Router, routing::get};
use certs::{Identity, Names, Resolver, UnixTime};
use http::Method;
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use pairing::View;
use server::{
    Access, Deps, Listener, LockdownFile, OneDoor, Permitted, Routes, Server, ServerConfig, Stop, Store,
    clock,
};
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;

use super::Ready;

pub(super) async fn serve(folder: &Path) -> Result<()> {
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700))?;
    let keys = folder.join("keys");
    let identity = Identity::load_or_create(&keys)?;
    let opened = Store::open(&folder.join("store.db"), &keys, clock::now())?;
    let certificate = identity.certificate(&Names::new(&opened.instance), UnixTime::now())?;
    let config = certs::server_config(Resolver::new(certificate));
    let (listener, bare) = (
        TcpListener::bind("127.0.0.1:0").await?,
        TcpListener::bind("127.0.0.1:0").await?,
    );
    let socket = folder.join("layer.sock");
    let unix = Listener::Unix(UnixListener::bind(&socket)?);
    let ready = Ready {
        socket: socket.display().to_string(),
        tls: Some((listener.local_addr()?, identity.pin().to_string())),
        bare: Some(bare.local_addr()?),
    };
    let door = OneDoor::new(listener.local_addr()?, &config);
    tokio::spawn(serve_bare(bare, TlsAcceptor::from(config.clone())));
    let routes = Routes::new()
        .public(Method::GET, "/v1/small", small)
        .route::<View, _, _>(Method::GET, "/v1/guarded", None, async |_: Permitted<View>| SMALL);
    let about = ServerConfig::new("thing", env!("CARGO_PKG_VERSION"));
    let access = Access::new(
        about,
        Deps::new(opened, identity.pin(), Arc::new(door), LockdownFile::new(folder)),
    );
    let server = Server::new(access).routes(routes, &());
    println!("{}", serde_json::to_string(&ready)?);
    Ok(server
        .serve(vec![unix, Listener::Tls { listener, config }], Stop::new())
        .await?)
}

async fn serve_bare(listener: TcpListener, acceptor: TlsAcceptor) -> Result<()> {
    let router = Router::new().route("/small", get(small));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (acceptor, service) = (acceptor.clone(), TowerToHyperService::new(router.clone()));
        tokio::spawn(async move {
            let stream = acceptor.accept(stream).await?;
            http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await?;
            anyhow::Ok(())
        });
    }
}

async fn small() -> &'static str {
    SMALL
}

/// As long as the answer about a session is.
const SMALL: &str = concat!(
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
);
