//! The wire types that daemon, command line, tests and web app share.
//!
//! JSON bodies are plain structs; the attach protocol is binary and lives in [`attach`]. Times are RFC 3339 with zone,
//! bytes are base64url without padding (RFC 4648 section 5), and a `u64` is a JSON number below 2⁵³. The TypeScript of the
//! web app is made from these types by `cargo xtask gen`, behind the feature `ts` that release builds leave off.

pub mod access;
pub mod attach;
pub mod audit;
pub mod bytes;
pub mod certificates;
pub mod condition;
pub mod events;
pub mod guests;
pub mod pairing;
pub mod problem;
pub mod schema;
pub mod sessions;
#[cfg(feature = "ts")]
pub mod typescript;
pub mod wire_secret;

pub use bytes::Bytes64;
pub use jiff::Timestamp;
pub use problem::Problem;
pub use wire_secret::WireSecret;

/// The WebSocket and HTTP path prefix below which the API lives.
pub const API: &str = "/v1";
