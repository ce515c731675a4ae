//! The authority that a user's own devices can be told to trust: it can speak for this daemon's names and for nothing else.

use std::{path::Path, time::Duration};

use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, NameConstraints, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use ring::digest::{SHA256, digest};
use rustls_pki_types::{CertificateDer, UnixTime, pem::PemObject};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};
use zeroize::Zeroizing;

use crate::{
    CertsError, Identity, Names, Pair, files,
    identity::{HEAD_START, LIFE, making, serial_number},
    leaf::{is_due, pem_of},
    pair::address,
};

/// An intermediate authority whose root's key is no more: nothing else can ever be issued under that root.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    intermediate: CertificateDer<'static>,
    root: CertificateDer<'static>,
    /// What it may speak for.
    names: Names,
    not_after: UnixTime,
}

impl Authority {
    /// Makes a root and an intermediate for 2 years, both critically constrained to the names, and keeps the intermediate in a
    /// directory of keys in the place of a former one. The root's key is destroyed before this returns.
    ///
    /// # Errors
    /// When a name cannot stand in a certificate, or the file cannot be written.
    pub fn make(keys: &Path, instance: &str, names: &Names, now: UnixTime) -> Result<Self, CertsError> {
        names.subject_alternatives()?;
        let not_after =
            UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs() + AUTHORITY_LIFE.as_secs()));
        let (root_key, key) = (Zeroizing::new(generate()?), generate()?);
        let root_params = params(instance, "root", names, 1, (now, not_after))?;
        let root = root_params.self_signed(&*root_key).map_err(making)?.der().clone();
        let own = params(instance, ISSUER, names, 0, (now, not_after))?;
        let intermediate = own
            .signed_by(&key, &Issuer::from_params(&root_params, &*root_key))
            .map_err(making)?
            .der()
            .clone();
        // Overwritten with that, as far as the library reaches: ring frees its own copy as it is.
        drop(root_key);
        let text = Zeroizing::new(format!(
            "{}{}{}",
            Zeroizing::new(key.serialize_pem()).as_str(),
            pem_of(&intermediate),
            pem_of(&root)
        ));
        files::overwrite(&keys.join(FILE), text.as_bytes())?;
        Self::new(instance, key, intermediate, root)
    }

    /// The one that is kept, if there is one.
    ///
    /// # Errors
    /// When its file has the wrong owner, mode or kind, or holds something else.
    pub fn load(keys: &Path, instance: &str) -> Result<Option<Self>, CertsError> {
        let path = keys.join(FILE);
        let Some(bytes) = files::read(&path)? else {
            return Ok(None);
        };
        let refused = || CertsError::Authority { path: path.clone() };
        let text = std::str::from_utf8(&bytes).map_err(|_| refused())?;
        let key = KeyPair::from_pem(text).map_err(|_| refused())?;
        let mut certificates = CertificateDer::pem_slice_iter(&bytes);
        let (Some(Ok(intermediate)), Some(Ok(root)), None) =
            (certificates.next(), certificates.next(), certificates.next())
        else {
            return Err(refused());
        };
        Self::new(instance, key, intermediate, root).map(Some)
    }

    /// Forgets the one that is kept.
    ///
    /// # Errors
    /// When the system says no.
    pub fn forget(keys: &Path) -> Result<(), CertsError> {
        Ok(files::remove(&keys.join(FILE))?)
    }

    fn new(
        instance: &str,
        key: KeyPair,
        intermediate: CertificateDer<'static>,
        root: CertificateDer<'static>,
    ) -> Result<Self, CertsError> {
        let unreadable = CertsError::Parsing("the authority's certificate");
        let (names, seconds) = match X509Certificate::from_der(&intermediate) {
            Ok((_, parsed)) => (permitted(&parsed), parsed.validity().not_after.timestamp()),
            Err(_) => return Err(unreadable),
        };
        let not_after = UnixTime::since_unix_epoch(Duration::from_secs(seconds.max(0).cast_unsigned()));
        let mut about = CertificateParams::default();
        about.distinguished_name = distinguished_name(instance, ISSUER);
        Ok(Self {
            issuer: Issuer::new(about, key),
            intermediate,
            root,
            names,
            not_after,
        })
    }

    /// A leaf under the identity's own key, for those of the names that the authority may speak for; it shares the pin with the
    /// self-signed one, and ends no later than the authority.
    ///
    /// # Errors
    /// When it may speak for none of them, or has ended.
    pub fn issue(&self, identity: &Identity, names: &Names, now: UnixTime) -> Result<Pair, CertsError> {
        let names = self.covered(names);
        let not_before = now.as_secs().saturating_sub(HEAD_START.as_secs());
        let not_after = (not_before + LIFE.as_secs()).min(self.not_after.as_secs());
        let mut params = Identity::leaf_params(&names)?;
        params.use_authority_key_identifier_extension = true;
        params.not_before = date_time_ymd(1970, 1, 1) + Duration::from_secs(not_before);
        params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(not_after);
        let leaf = params.signed_by(identity.key(), &self.issuer).map_err(making)?;
        let chain = vec![leaf.der().clone(), self.intermediate.clone()];
        Pair::from_der(chain, identity.secret(), now).map_err(making)
    }

    /// Those of the names that it may speak for. The name that native clients ask for is none of them: they pin the key.
    pub fn covered(&self, names: &Names) -> Names {
        let hosts = names.hosts().filter(|host| self.names.has_host(host));
        let addresses = names
            .addresses()
            .filter(|address| self.names.has_address(*address));
        let covered = hosts.fold(Names::default(), Names::host);
        addresses.fold(covered, Names::address)
    }

    /// Whether it speaks for all of the names, and for 30 days and more.
    pub fn is_good_for(&self, names: &Names, now: UnixTime) -> bool {
        let wanted = names.clone().without_identity();
        self.covered(names) == wanted && !is_due(self.not_after, now)
    }

    /// Until when.
    pub fn not_after(&self) -> UnixTime {
        self.not_after
    }

    /// What it may speak for.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The root, which devices are told to trust.
    pub fn root(&self) -> &CertificateDer<'static> {
        &self.root
    }

    /// The root in PEM.
    pub fn root_pem(&self) -> String {
        pem_of(&self.root)
    }

    /// SHA-256 of the root.
    pub fn root_sha256(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, &self.root).as_ref());
        bytes
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Authority")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

fn generate() -> Result<KeyPair, CertsError> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(making)
}

fn params(
    instance: &str,
    what: &str,
    names: &Names,
    below: u8,
    (now, not_after): (UnixTime, UnixTime),
) -> Result<CertificateParams, CertsError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = distinguished_name(instance, what);
    params.serial_number = Some(serial_number()?);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(below));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: subtrees(&names.clone().without_identity()),
        excluded_subtrees: Vec::new(),
    });
    let not_before = now.as_secs().saturating_sub(HEAD_START.as_secs());
    params.not_before = date_time_ymd(1970, 1, 1) + Duration::from_secs(not_before);
    params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(not_after.as_secs());
    Ok(params)
}

/// One address is a network of its own; a host's name permits what is below it too, which RFC 5280 section 4.2.1.10 leaves no
/// way to forbid.
fn subtrees(names: &Names) -> Vec<GeneralSubtree> {
    let hosts = names.hosts().map(|host| GeneralSubtree::DnsName(host.to_owned()));
    let addresses = names.addresses().map(|address| {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(address, bits))
    });
    hosts.chain(addresses).collect()
}

fn permitted(certificate: &X509Certificate<'_>) -> Names {
    let constraints = certificate.name_constraints().ok().flatten();
    let subtrees = constraints.and_then(|extension| extension.value.permitted_subtrees.as_ref());
    let all = subtrees.into_iter().flatten().map(|subtree| &subtree.base);
    all.fold(Names::default(), |names, name| match name {
        GeneralName::DNSName(host) => names.host(host),
        // An address and its mask (RFC 5280 section 4.2.1.10).
        GeneralName::IPAddress(bytes) if [8, 32].contains(&bytes.len()) => {
            match address(&bytes[..bytes.len() / 2]) {
                Some(address) => names.address(address),
                None => names,
            }
        }
        _ => names,
    })
}

fn distinguished_name(instance: &str, what: &str) -> rcgen::DistinguishedName {
    let mut name = rcgen::DistinguishedName::new();
    name.push(DnType::CommonName, format!("Transom {instance} {what}"));
    name
}

const FILE: &str = "ca.pem";
const ISSUER: &str = "issuer";

/// Two years, in days of 24 hours.
const AUTHORITY_LIFE: Duration = Duration::from_secs(730 * 24 * 60 * 60);

#[cfg(test)]
mod tests;
