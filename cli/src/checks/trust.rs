//! Whether a certificate is one that this machine's own programs trust: the next best to asking the phone.

use ::client::{install_crypto, tls_error};
use reqwest::redirect::Policy;
use rustls::Error as TlsError;

use super::Door;

/// What a browser makes of what a listener shows, as far as this machine's own trusted authorities tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// It opens the page.
    Trusted,
    /// It warns first.
    Untrusted,
    /// It cannot be told here, as where this machine trusts nobody at all.
    Unknown,
}

/// Opens the listener by a name or an address, as a browser of this machine would.
pub(super) async fn trust(door: Door, host: &str) -> Trust {
    install_crypto();
    let at = door.reached();
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .local_address(at.ip())
        .resolve(host, at)
        .timeout(super::handshake::PATIENCE)
        .build();
    let Ok(client) = client else {
        return Trust::Unknown;
    };
    let written = match host.parse::<std::net::Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => host.to_owned(),
    };
    let url = format!("https://{written}:{}{}/health", at.port(), protocol::API);
    match client.get(url).send().await {
        Ok(_) => Trust::Trusted,
        Err(error) if matches!(tls_error(&error), Some(TlsError::InvalidCertificate(_))) => Trust::Untrusted,
        Err(_) => Trust::Unknown,
    }
}
