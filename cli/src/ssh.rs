//! Daemons behind the user's own `ssh`: one connection, which tells where the daemon there listens and carries a tunnel to it.
//!
//! What is reached by it is the TLS listener, as by any other way, and never the owner's socket: forwarding that would make
//! whatever runs here the owner. Port and pin come from `transom status` on the far side, so the pin is as good as the host
//! key that `ssh` checked.

mod connection;
mod destination;
mod said;
mod tunnel;
mod words;

pub(crate) use self::{
    connection::{Asking, Connection, FarDaemon},
    destination::{Destination, Far},
    tunnel::{Tunnel, free_port},
};
