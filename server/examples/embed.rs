//! An application behind paired devices and revocation: `cargo run -p server --example embed -- FOLDER` says address and pin.
//! Pair by `transom remote add ADDRESS`; say yes by `TRANSOM_DIR=FOLDER transom approve CODE`, no more by `transom revoke`.

use std::{env, error::Error, fs, path::PathBuf, sync::Arc};

use axum::{Router, routing::get};
use certs::{Identity, Names, Resolver, UnixTime};
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

    let application = Router::new().route("/", get(async || "Hello, device!"));
    let routes = Routes::new().mount::<pairing::View>("/hello", None, application);
    let door = Arc::new(OneDoor::new(address, &config));
    let deps = Deps::new(opened, pin, door, LockdownFile::new(&folder));
    let about = ServerConfig::new("greeting", env!("CARGO_PKG_VERSION"));
    let server = Server::new(Access::new(about, deps)).routes(routes, &());
    let tls = Listener::Tls { listener, config };
    server.serve(vec![unix, tls], server::Stop::new()).await?;
    Ok(())
}
