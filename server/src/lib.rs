//! The access layer: listeners, authentication, connections, pairing, devices and revocation.
//!
//! A [`Server`] takes listeners and a [`Stop`], opens nothing itself, and puts a Unix socket, TLS, paired devices, revocation
//! and an audit trail around an application's own [`Routes`]. It knows nothing of what those routes do: only opaque resources,
//! and the scopes that a route demands. `examples/embed.rs` is a whole one, with guests, in 40 lines.
//!
//! # What you get
//!
//! - Every request reaches a handler as somebody: the owner, by the kernel's word on the Unix socket; a device, which was paired
//!   and has proven its key; or nobody, who gets no further than the routes that are public.
//! - Pairing, whole: offers, codes that both screens show, the owner's yes, tokens; and `transom remote add` on the other side.
//! - Routes with scopes. A handler that asks for another permit than its route demands does not compile:
//!
//!   ```
//!   use http::Method;
//!   use pairing::{View, Write};
//!   use server::{Permitted, Routes};
//!
//!   let routes: Routes<()> = Routes::new()
//!       .public(Method::GET, "/v1/motto", async || "look before you type")
//!       .route::<View, _, _>(Method::GET, "/v1/notes", None, async |Permitted(may): Permitted<View>| {
//!           format!("{:?} reads", may.principal())
//!       })
//!       .mount::<Write>("/desk", None, axum::Router::new());
//!   assert_eq!(routes.list().len(), 3);
//!   ```
//!
//!   ```compile_fail
//!   # use http::Method;
//!   # use pairing::{View, Write};
//!   # use server::{Permitted, Routes};
//!   let routes: Routes<()> = Routes::new()
//!       .route::<View, _, _>(Method::GET, "/v1/notes", None, async |_: Permitted<Write>| "");
//!   ```
//!
//! - A revocation that is over when it answers: the device is dead, its streams are cut whatever ran on them, mounted routers'
//!   WebSockets included, and no byte leaves for it any more. What acts on its behalf for longer keeps its
//!   [`Permit`](pairing::Permit), and takes a [`hold`](pairing::Permit::hold) of it for each write.
//! - The gate against other sites' pages and rebound names, limits on strangers, security headers on every answer, refusals as
//!   problems (RFC 9457) that say what to do, and the audit trail.
//!
//! # What you must provide
//!
//! - A folder that only its user can enter, and a lock on it: one process at a time opens a [`Store`].
//! - The bound [`Listener`]s: a Unix socket in that folder, which is the owner's door, and TLS as [`certs::server_config`] makes
//!   it. Whoever reaches that socket is the owner.
//! - The [`Doors`] by which remote listeners come back when a lock-down is lifted, as [`OneDoor`] does, and the [`LockdownFile`]
//!   in that folder: while it is there, remote listeners are closed whoever bound them.
//! - Where a resource stands now, as [`Deps::stands_at`], if guests are to be invited, and [`ServerConfig::link_authority`] for
//!   links of any kind. Without them, nothing can be looked at by a guest, and nobody is invited by a link.
//! - A [`LocalOrigin`], if programs run on behalf of your resources: it tells them from the owner. [`Deps::new`] takes
//!   every program of this user for the owner. Likewise a [`WhoIs`], where a listener is one of a tailnet.
//! - A Tokio runtime, and the [`Stop`] that ends it all.
//! - Names of resources: up to 64 letters, digits, `-` and `_`, which stand in paths as they are. What a route does to one
//!   that its permit does not cover is yours to refuse, as in lists: [`Permit::covers`](pairing::Permit::covers) tells.
//!
//! # What it never does
//!
//! - Open a port, read a configuration, or write anywhere but into the store.
//! - Take a client's word for who it is: no cookie, no forwarded header, no address stands for anybody, loopback neither.
//! - Let a remote principal approve, invite or widen anything: those routes demand scopes that no device can have.
//! - Keep a secret: tokens are stored as HMACs, and nothing of them is in a path, a query, a log or the audit trail.
//! - Look into what your routes send. What a device read before it was revoked, it has read.

pub mod access;
pub mod audit;
pub mod authenticate;
pub mod clock;
pub mod connections;
mod edge;
mod endings;
pub mod error;
mod expiry;
pub mod extract;
mod failures;
pub mod gate;
mod guests;
mod headers;
mod held_polls;
pub mod limits;
pub mod listen;
pub mod lockdown;
pub mod metrics;
#[cfg(feature = "openapi")]
pub mod openapi;
pub mod operation;
pub mod peer;
mod pins;
pub mod random;
mod refusals;
pub mod reload;
pub mod request;
mod revocation;
pub mod router;
pub mod routes;
mod server;
pub mod shutdown;
pub mod store;
mod stream;
mod unstored;
mod verify;
pub mod websocket;

#[cfg(test)]
mod testing;

pub use access::{Access, Deps, Figures, Newcomer, ServerConfig, StandsAt};
pub use connections::{Connection, Connections};
pub use error::Failure;
pub use listen::{Listener, UserspaceListener, UserspaceStream};
pub use lockdown::{Doors, LockdownFile, NoDoors, OneDoor, OpenDoors};
pub use operation::{Operation, PathId};
pub use peer::{
    EveryoneOutside, LocalAnswer, LocalOrigin, LocalPeer, LocalProcess, NoTailnet, Peer, RemotePeer, WhoIs,
    WhoIsAnswer,
};
pub use reload::{DoorChange, HeldDoors};
pub use router::{App, On, Permitted, RouteInfo, Routes};
pub use routes::routes;
pub use server::{Crashed, Server};
pub use shutdown::{Shutdown, Stop};
pub use store::Store;
pub use websocket::Upgraded;
