//! An application behind paired devices and revocation: `cargo run -p server --example embed -- FOLDER` says address and pin.
//! Pair by `transom remote add ADDRESS`; say yes by `TRANSOM_DIR=FOLDER transom approve CODE`, no more by `transom revoke`.

use std::{env, error::Error, fs, path::PathBuf};

use axum::{Router, routing::get};
use certs::{Identity, Names, Resolver, UnixTime};
use pairing::View;
use server::{Access, Deps, Listener, Routes, Server, ServerConfig, Stop, Store, clock};
use tokio::net::{TcpListener, UnixListener};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or("name a folder")?);
    certs::files::directory(&folder)?;
    let lock = fs::File::create(folder.join("lock"))?;
    lock.try_lock()?;
    let keys = folder.join("keys");
    let identity = Identity::load_or_create(&keys)?;
    let opened = Store::open(&folder.join("store.db"), &keys, clock::now())?;
    let certificate = identity.certificate(&Names::new(&opened.instance), UnixTime::now())?;
    let config = certs::server_config(Resolver::new(certificate));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let socket = folder.join("transom.sock");
    fs::remove_file(&socket).ok();
    let unix = Listener::Unix(UnixListener::bind(socket)?);
    println!("{} {}", listener.local_addr()?, identity.pin());

    let application = Router::new().route("/", get(async || "Hello, device!"));
    let routes = Routes::new().mount::<View>("/hello", None, application);
    let about = ServerConfig::new("greeting", env!("CARGO_PKG_VERSION"));
    let access = Access::new(about, Deps::new(opened, identity.pin()));
    let server = Server::new(access).routes(routes, &());
    server
        .serve(vec![unix, Listener::Tls { listener, config }], Stop::new())
        .await?;
    Ok(())
}
