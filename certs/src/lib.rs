//! The daemon's identity key, the certificates made with it, and SPKI pins.
//!
//! Only [`files`] touches the disk; time is an argument. The identity key is what must not be
//! lost; the leaf made with it is kept too, and made again whenever it is missing, damaged, for other names or near its end, so
//! a crash between the two costs nothing.

pub mod authority;
pub mod error;
pub mod files;
mod hex;
pub mod identity;
mod leaf;
pub mod names;
pub mod pair;
pub mod pin;
pub mod sight;
pub mod tls;
pub mod verify;

pub use authority::Authority;
pub use error::CertsError;
pub use hex::hex;
pub use identity::{Certified, Identity};
pub use leaf::{RENEWAL, pem_of};
pub use names::Names;
pub use pair::{Pair, PairError, PairFilesError};
pub use pin::SpkiPin;
pub use rustls_pki_types::UnixTime;
pub use sight::Sight;
pub use tls::{Resolver, Source, server_config, server_config_at};
pub use verify::{
    PinVerifier, ProvenPin, WrongPin, client_config, client_config_with_next, dangerous_first_use_config,
    seen_pin,
};

/// The server name that native clients send, and that the daemon answers with its identity certificate.
pub const IDENTITY_SERVER_NAME: &str = "identity.transom.invalid";
