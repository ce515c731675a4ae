//! The daemon's identity key, the certificates made with it, and SPKI pins.
//!
//! Only [`files`] touches the disk; time is an argument. What is kept is the identity key alone: a certificate is made from
//! it at each start, so a crash can never leave a certificate without its key (access.md 9).

pub mod error;
pub mod files;
pub mod identity;
pub mod names;
pub mod pin;
pub mod tls;
pub mod verify;

pub use error::CertsError;
pub use identity::{Certified, Identity};
pub use names::Names;
pub use pin::SpkiPin;
pub use rustls_pki_types::UnixTime;
pub use tls::{Resolver, server_config};
pub use verify::{PinVerifier, client_config};

/// The server name that native clients send, and that the daemon answers with its identity certificate.
pub const IDENTITY_SERVER_NAME: &str = "identity.transom.invalid";
