//! An authority outside of the daemon, and what a browser would say of a certificate.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName},
};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::within;

/// An authority that issues certificates for a daemon, as a public one would.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

/// The files of a certificate and its key.
#[derive(Clone, Debug)]
pub struct Files {
    /// The chain, in PEM.
    pub certificate: PathBuf,
    /// Its key, in PEM.
    pub key: PathBuf,
}

impl Authority {
    /// A new one.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "An authority");
        let key = KeyPair::generate().expect("keys can be made");
        Self {
            issuer: CertifiedIssuer::self_signed(params, key).expect("an authority can be made"),
            folder: tempfile::tempdir().expect("a folder can be made"),
        }
    }

    /// Issues a certificate for these names, into the files of one name; those that are there are replaced, one after the other.
    pub fn issue(&self, file: &str, names: &[&str]) -> Files {
        self.issue_for_days(file, names, 365)
    }

    /// The same for so many days from now; of less than none, it has ended.
    pub fn issue_for_days(&self, file: &str, names: &[&str], days: i64) -> Files {
        let today = i64::try_from(since_epoch().as_secs() / DAY).unwrap_or_default();
        let midnight = |day: i64| Duration::from_secs(day.unsigned_abs() * DAY);
        self.issue_between(file, names, midnight(today - 100), midnight(today + days))
    }

    /// The same, good from so long ahead on for a year.
    pub fn issue_ahead(&self, file: &str, names: &[&str], ahead: Duration) -> Files {
        let begins = since_epoch() + ahead;
        self.issue_between(file, names, begins, begins + Duration::from_secs(365 * DAY))
    }

    fn issue_between(&self, file: &str, names: &[&str], begins: Duration, ends: Duration) -> Files {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names of a test");
        params.not_before = date_time_ymd(1970, 1, 1) + begins;
        params.not_after = date_time_ymd(1970, 1, 1) + ends;
        let key = KeyPair::generate().expect("keys can be made");
        let certificate = params
            .signed_by(&key, &self.issuer)
            .expect("a certificate can be made");
        let files = Files {
            certificate: self.folder.path().join(format!("{file}.pem")),
            key: self.folder.path().join(format!("{file}.key")),
        };
        std::fs::write(&files.key, key.serialize_pem()).expect("the folder is writable");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&files.key, private).expect("the file is ours");
        std::fs::write(&files.certificate, certificate.pem()).expect("the folder is writable");
        files
    }

    /// Its own certificate, in PEM.
    pub fn root(&self) -> String {
        self.issuer.pem()
    }

    /// What a browser that trusts this authority says when it opens the address by a name.
    ///
    /// # Errors
    /// What is wrong with the certificate.
    pub async fn accepts(&self, at: SocketAddr, name: &str) -> Result<(), String> {
        accepts(at, name, self.issuer.der()).await
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Files {
    /// The section of a `config.toml` that has the daemon serve them.
    pub fn config(&self) -> String {
        format!(
            "[listen]\ncertificate = \"{}\"\nkey = \"{}\"\n",
            self.certificate.display(),
            self.key.display()
        )
    }
}

fn since_epoch() -> Duration {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// The certificate that is shown to who asks for a name, or for an address and thereby none.
pub async fn shown(at: SocketAddr, name: &str) -> CertificateDer<'static> {
    crate::device::install_crypto();
    let stream = connect(at, name, certs::dangerous_first_use_config()).await;
    let stream = stream.unwrap_or_else(|error| panic!("{name}: {error}"));
    let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    shown
        .expect("a server shows its certificate")
        .clone()
        .into_owned()
}

/// What a browser that trusts this certificate says when it opens the address by a name.
///
/// # Errors
/// What is wrong with what it is shown.
pub async fn accepts(at: SocketAddr, name: &str, trusted: &CertificateDer<'_>) -> Result<(), String> {
    crate::device::install_crypto();
    let mut roots = RootCertStore::empty();
    roots
        .add(trusted.clone().into_owned())
        .map_err(|error| error.to_string())?;
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    connect(at, name, config).await.map(drop)
}

async fn connect(
    at: SocketAddr,
    name: &str,
    config: ClientConfig,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, String> {
    let stream = within("the port", TcpStream::connect(at))
        .await
        .expect("the daemon listens");
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    within(
        "the handshake",
        TlsConnector::from(Arc::new(config)).connect(name, stream),
    )
    .await
    .map_err(|error| error.to_string())
}

/// In seconds.
const DAY: u64 = 24 * 60 * 60;
