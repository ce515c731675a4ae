//! The access layer: listeners, authentication, connections, pairing, devices and revocation.
//!
//! A [`Server`] takes listeners and a [`Stop`], opens nothing itself, and puts a Unix socket, TLS, paired devices, revocation
//! and an audit trail around an application's own [`Routes`]. It knows nothing of what those routes do: only opaque resources,
//! and the scopes that a route demands.

pub mod access;
pub mod audit;
pub mod authenticate;
pub mod clock;
pub mod connections;
mod edge;
pub mod error;
mod expiry;
pub mod extract;
pub mod gate;
mod headers;
pub mod limits;
pub mod listen;
pub mod lockdown;
pub mod peer;
pub mod random;
mod refusals;
mod revocation;
pub mod router;
pub mod routes;
mod server;
pub mod shutdown;
pub mod store;
mod stream;
mod verify;
pub mod websocket;

#[cfg(test)]
mod testing;

pub use access::{Access, Deps, ServerConfig};
pub use connections::{Connection, Connections};
pub use error::Failure;
pub use listen::Listener;
pub use lockdown::{Doors, LockdownFile, OpenDoors};
pub use peer::{
    EveryoneOutside, LocalAnswer, LocalOrigin, LocalPeer, LocalProcess, NoTailnet, Peer, RemotePeer, WhoIs,
};
pub use router::{App, On, Permitted, RouteInfo, Routes};
pub use routes::routes;
pub use server::{Crashed, Server};
pub use shutdown::{Shutdown, Stop};
pub use websocket::Upgraded;
