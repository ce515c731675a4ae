//! The limits of the wire, each reached over a real stream. What silent peers cost others: `gate/strangers.rs`.

mod descriptors;
mod failures;
mod memory;
mod owned;
mod pool;
mod sizes;
mod trail;
mod wire;
