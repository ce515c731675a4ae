//! The limits of the wire, each reached over a real stream (access.md 6). What silent peers cost others: `gate/strangers.rs`.

mod descriptors;
mod failures;
mod memory;
mod owned;
mod pool;
mod sizes;
mod trail;
mod wire;
