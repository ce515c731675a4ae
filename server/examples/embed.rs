//! An application behind paired devices, guests and revocation: `cargo run -p server --example embed -- FOLDER` says where it is.
//! Pair by `transom remote add ADDRESS`; say yes by `TRANSOM_DIR=FOLDER transom approve CODE`; invite by its `POST /v1/guests`.

use std::{env, error::Error, fs, path::PathBuf, sync::Arc};

use axum::{Router, extract::Path, routing::get};
use certs::{Identity, Names, Resolver, UnixTime};
use pairing::View;
use server::{Access, Deps, Listener, LockdownFile, OneDoor, Routes, Server, ServerConfig, Store, clock};
use tokio::net::{TcpListener, UnixListener};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or("name a folder")?);
    certs::files::directory(&folder)?;
    let lock = fs::File::create(folder.join("lock"))?;
    lock.try_lock()?;
    let (keys, socket) = (folder.join("keys"), folder.join("transom.sock"));
    let identity = Identity::load_or_create(&keys)?;
    let opened = Store::open(&folder.join("store.db"), &keys, clock::now())?;
    let certificate = identity.certificate(&Names::new(&opened.instance), UnixTime::now())?;
    let config = certs::server_config(Resolver::new(certificate));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (address, pin) = (listener.local_addr()?, identity.pin());
    fs::remove_file(&socket).ok();
    let unix = Listener::Unix(UnixListener::bind(socket)?);
    println!("{address} {pin}");

    let hello = get(async |Path(name): Path<String>| format!("Hello, {name}!"));
    let routes = Routes::new().mount::<View>("/hello/{name}", Some("name"), Router::new().route("/", hello));
    let door = Arc::new(OneDoor::new(address, &config));
    let mut deps = Deps::new(opened, pin, door, LockdownFile::new(&folder));
    deps.stands_at = Arc::new(|name| ["world", "moon"].contains(&name.as_str()).then_some(0));
    let mut about = ServerConfig::new("greeting", env!("CARGO_PKG_VERSION"));
    about.link_authority = Some(address.to_string());
    let server = Server::new(Access::new(about, deps)).routes(routes, &());
    let tls = Listener::Tls { listener, config };
    server.serve(vec![unix, tls], server::Stop::new()).await?;
    Ok(())
}
