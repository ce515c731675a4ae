//! What can go wrong with keys and certificates.

use std::path::PathBuf;

use crate::files::FileError;

/// A failure of the identity key or of a certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertsError {
    /// The key's file is missing rights, belongs to somebody else, or cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The key's file holds something else than one P-256 key in PKCS#8 PEM.
    #[error(
        "{} does not hold a P-256 private key in PKCS#8 PEM; \
         restore it from a backup, or remove it and pair every device again",
        path.display()
    )]
    Key {
        /// The file.
        path: PathBuf,
    },
    /// The authority's file holds something else than its key, its certificate and its root.
    #[error("{} does not hold the authority that devices trust; remove it and run `transom certs trust` again", path.display())]
    Authority {
        /// The file.
        path: PathBuf,
    },
    /// A name cannot stand in a certificate.
    #[error("{0:?} is not a host name that a certificate can carry")]
    Name(String),
    /// The cryptography library refused; none of its messages holds a secret.
    #[error("cannot make a certificate: {0}")]
    Making(String),
    /// A certificate or a pin that cannot be parsed.
    #[error("{0} cannot be parsed")]
    Parsing(&'static str),
}
