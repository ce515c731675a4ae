//! The leaf that is kept, so that a browser's exception for it outlives a restart, and when the next one is due.

use std::{path::Path, time::Duration};

use ring::digest::{SHA256, digest};
use rustls_pki_types::{CertificateDer, UnixTime, pem::PemObject};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::{Certified, CertsError, Identity, Names, files, hex, identity::LIFE, pair::names_of};

impl Certified {
    /// The beginning of its validity: every leaf of ours lives as long as another.
    pub fn not_before(&self) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(
            self.not_after.as_secs().saturating_sub(LIFE.as_secs()),
        ))
    }

    /// When a leaf is made anew under the same key.
    pub fn renews_at(&self) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(
            self.not_after.as_secs().saturating_sub(RENEWAL.as_secs()),
        ))
    }

    /// How long that is away; none once it is due, or where the clock stands before the leaf's beginning, as it may after it was
    /// set back.
    pub fn renews_in(&self, now: UnixTime) -> Option<Duration> {
        let left = left(self.not_after, now);
        let is_good = !is_due(self.not_after, now) && left <= LIFE;
        is_good.then(|| left.saturating_sub(RENEWAL))
    }
}

impl Identity {
    /// The leaf in a directory of keys if it is for these names, of this key and good for 30 days more; else a new one, which is
    /// kept there in its place. A file that cannot be read as ours is replaced too: the key alone cannot be made again.
    ///
    /// # Errors
    /// As [`Identity::certificate`]; or when the file has the wrong owner, mode or kind, or cannot be written.
    pub fn kept_certificate(
        &self,
        keys: &Path,
        names: &Names,
        now: UnixTime,
    ) -> Result<Certified, CertsError> {
        let path = keys.join(LEAF_FILE);
        let subject = self.subject(names);
        let kept = files::read(&path)?.and_then(|text| Kept::parse(std::str::from_utf8(&text).ok()?));
        if let Some(kept) = kept.filter(|kept| kept.subject == subject) {
            let certified = self.with_leaf(kept.leaf, kept.not_after)?;
            if certified.renews_in(now).is_some() {
                return Ok(certified);
            }
        }
        let certified = self.certificate(names, now)?;
        let leaf = &certified.key.cert[0];
        let pem = pem_of(leaf);
        let text = format!("{subject} {}\n{pem}", certified.not_after.as_secs());
        files::overwrite(&path, text.as_bytes())?;
        Ok(certified)
    }

    /// What the leaf in a directory of keys is for; none where there is none of this key that can be read.
    ///
    /// # Errors
    /// When the file has the wrong owner, mode or kind.
    pub fn kept_names(&self, keys: &Path) -> Result<Option<Names>, CertsError> {
        let text = files::read(&keys.join(LEAF_FILE))?;
        let kept = text.and_then(|text| Kept::parse(std::str::from_utf8(&text).ok()?));
        Ok(kept.and_then(|kept| {
            let (_, leaf) = X509Certificate::from_der(&kept.leaf).ok()?;
            let names = names_of(&leaf).ok()?;
            (kept.subject == self.subject(&names)).then_some(names)
        }))
    }

    /// What a leaf is about, as one word: a hash of the key's pin and of every name.
    fn subject(&self, names: &Names) -> String {
        let mut text = self.pin().to_string();
        for host in names.hosts() {
            text = text + "\n" + host;
        }
        for address in names.addresses() {
            text = text + "\n" + &address.to_string();
        }
        hex(digest(&SHA256, text.as_bytes()).as_ref())
    }
}

/// Whether another should be in the place of what ends then.
pub(crate) fn is_due(not_after: UnixTime, now: UnixTime) -> bool {
    left(not_after, now) <= RENEWAL
}

fn left(not_after: UnixTime, now: UnixTime) -> Duration {
    Duration::from_secs(not_after.as_secs().saturating_sub(now.as_secs()))
}

/// What the file holds: a line of subject and end, then the certificate in PEM (RFC 7468 allows text before it).
struct Kept {
    subject: String,
    not_after: UnixTime,
    leaf: CertificateDer<'static>,
}

impl Kept {
    fn parse(text: &str) -> Option<Self> {
        let (head, pem) = text.split_once('\n')?;
        let (subject, seconds) = head.split_once(' ')?;
        Some(Self {
            subject: subject.to_owned(),
            not_after: UnixTime::since_unix_epoch(Duration::from_secs(seconds.parse().ok()?)),
            leaf: CertificateDer::from_pem_slice(pem.as_bytes()).ok()?,
        })
    }
}

/// A certificate in PEM (RFC 7468).
pub fn pem_of(leaf: &CertificateDer<'_>) -> String {
    use base64ct::{Base64, Encoding};
    let body = Base64::encode_string(leaf);
    let lines: Vec<&str> = (0..body.len())
        .step_by(64)
        .map(|at| &body[at..body.len().min(at + 64)])
        .collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}

const LEAF_FILE: &str = "certificate.pem";

/// A new leaf comes while the former is still good for so long.
pub const RENEWAL: Duration = Duration::from_secs(30 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::atomic::{AtomicBool, Ordering},
        time::Duration,
    };

    use rustls_pki_types::UnixTime;

    use super::LEAF_FILE;
    use crate::{Certified, Identity, Names};

    const DAY: u64 = 24 * 60 * 60;

    fn day(number: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(20_000 * DAY + number * DAY))
    }

    fn leaf(certified: &Certified) -> Vec<u8> {
        certified.key.cert[0].to_vec()
    }

    #[test]
    fn the_leaf_outlives_a_restart_until_names_or_age_change_it() {
        let home = tempfile::tempdir().unwrap();
        let keys = home.path().join("keys");
        let names = Names::new("0011223344556677");
        let first = Identity::load_or_create(&keys)
            .unwrap()
            .kept_certificate(&keys, &names, day(0))
            .unwrap();
        let identity = Identity::load_or_create(&keys).unwrap();
        let again = |names: &Names, at| leaf(&identity.kept_certificate(&keys, names, at).unwrap());
        assert_eq!(again(&names, day(300)), leaf(&first));
        let renewed = again(&names, day(370));
        assert_ne!(renewed, leaf(&first));
        assert_eq!(again(&names, day(371)), renewed);
        assert_ne!(again(&names.host("desk.example"), day(371)), renewed);
    }

    #[test]
    fn there_is_a_leaf_on_the_disk_at_every_moment_while_it_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let keys = home.path().join("keys");
        let identity = Identity::load_or_create(&keys).unwrap();
        let names = Names::new("0011223344556677");
        identity.kept_certificate(&keys, &names, day(0)).unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                while !is_done.load(Ordering::Acquire) {
                    assert!(keys.join(LEAF_FILE).exists());
                }
            });
            for number in 0..20 {
                let names = names.clone().host(&format!("desk{number}.example"));
                identity.kept_certificate(&keys, &names, day(0)).unwrap();
            }
            is_done.store(true, Ordering::Release);
            looking.join().unwrap();
        });
    }

    #[test]
    fn a_leaf_is_due_30_days_before_its_end_and_when_the_clock_was_ahead_of_its_beginning() {
        let home = tempfile::tempdir().unwrap();
        let identity = Identity::load_or_create(&home.path().join("keys")).unwrap();
        let made = identity
            .certificate(&Names::new("0011223344556677"), day(100))
            .unwrap();
        let days = |number| made.renews_in(day(number)).map(|wait| wait.as_secs() / DAY);
        // From a day before until 396 days after that.
        assert_eq!(days(100), Some(396 - 1 - 30));
        assert_eq!(days(99), Some(396 - 30));
        assert_eq!(days(464), Some(1));
        assert_eq!((days(465), days(500), days(98)), (None, None, None));
        assert_eq!(made.renews_at(), day(465));
    }

    #[test]
    fn the_file_tells_what_its_leaf_is_for_and_nothing_of_another_keys() {
        let home = tempfile::tempdir().unwrap();
        let keys = home.path().join("keys");
        let names = Names::new("0011223344556677")
            .host("desk.example")
            .host("192.0.2.1")
            .host("fd7a:115c:a1e0::1");
        let identity = Identity::load_or_create(&keys).unwrap();
        assert_eq!(identity.kept_names(&keys).unwrap(), None);
        identity.kept_certificate(&keys, &names, day(0)).unwrap();
        assert_eq!(identity.kept_names(&keys).unwrap(), Some(names));
        let another = Identity::load_or_create(&home.path().join("other")).unwrap();
        assert_eq!(another.kept_names(&keys).unwrap(), None);
        fs::write(keys.join(LEAF_FILE), "no certificate").unwrap();
        assert_eq!(identity.kept_names(&keys).unwrap(), None);
    }

    #[test]
    fn a_damaged_file_is_replaced_under_the_same_key() {
        let home = tempfile::tempdir().unwrap();
        let keys = home.path().join("keys");
        let names = Names::new("0011223344556677");
        let identity = Identity::load_or_create(&keys).unwrap();
        identity.kept_certificate(&keys, &names, day(0)).unwrap();
        fs::write(keys.join(LEAF_FILE), "no certificate").unwrap();
        let made = identity.kept_certificate(&keys, &names, day(1)).unwrap();
        assert_eq!(
            leaf(&identity.kept_certificate(&keys, &names, day(2)).unwrap()),
            leaf(&made)
        );
        assert_eq!(Identity::load_or_create(&keys).unwrap().pin(), identity.pin());
    }
}
