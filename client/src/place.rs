//! Where a daemon is asked, in the words of errors.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Where a daemon is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a Unix socket of this machine.
    Socket(PathBuf),
    /// Elsewhere, over TLS.
    Remote {
        /// What this machine calls it.
        name: String,
        /// Host and port.
        address: String,
    },
}

impl Place {
    /// A daemon elsewhere that has no other name than its address.
    pub fn unnamed(address: impl fmt::Display) -> Self {
        let address = address.to_string();
        Self::Remote {
            name: address.clone(),
            address,
        }
    }
}

impl From<&Path> for Place {
    fn from(socket: &Path) -> Self {
        Self::Socket(socket.to_owned())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(socket) => write!(formatter, "{}", socket.display()),
            Self::Remote { name, address } if name == address => write!(formatter, "{address}"),
            Self::Remote { name, address } => write!(formatter, "{name} ({address})"),
        }
    }
}
