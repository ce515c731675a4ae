//! The chain of the audit trail: the HMAC of each row covers the HMAC of the row before it.

use std::path::Path;

use certs::{files, hex};
use ring::hmac;
use rusqlite::Transaction;

use super::{StoreError, audit, meta};
use crate::{audit::AuditRow, random};

/// The key of the chain, 32 bytes in a file of its own.
pub(super) struct AuditKey {
    key: hmac::Key,
    id: String,
}

/// A row's place in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) sequence: u64,
    pub(super) hmac: [u8; 32],
}

impl Link {
    /// What the first row follows.
    pub(super) const BEGIN: Self = Self {
        sequence: 0,
        hmac: [0; 32],
    };
}

impl AuditKey {
    fn from_bytes(bytes: &[u8]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let id = hmac::sign(&key, b"transom/audit/id/v1");
        Self {
            id: hex(&id.as_ref()[..8]),
            key,
        }
    }

    /// What the store knows the key by.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The HMAC of a row behind the one with `previous`.
    pub(super) fn hmac(&self, previous: &[u8; 32], sequence: u64, row: &AuditRow) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(b"transom/audit/v1");
        context.update(previous);
        context.update(&sequence.to_be_bytes());
        context.update(&row.time.0.to_be_bytes());
        let texts = [&*row.principal, &row.peer, &row.action, &row.target, &row.outcome];
        let detail = row.detail.as_deref();
        // Each with its length, so that no text can be moved into its neighbour.
        for text in texts.into_iter().chain(detail) {
            context.update(&(text.len() as u64).to_be_bytes());
            context.update(text.as_bytes());
        }
        context.update(&[u8::from(detail.is_some())]);
        bytes_of(context.sign())
    }

    /// What shows that it was this daemon that deleted everything up to a row.
    pub(super) fn seal(&self, pruned: &Link) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(b"transom/audit/pruned/v1");
        context.update(&pruned.sequence.to_be_bytes());
        context.update(&pruned.hmac);
        bytes_of(context.sign())
    }
}

/// Reads the key. Where the trail was never chained, the key is made if need be and every row that is there is chained.
///
/// The second value says whether that happened now.
pub(super) fn load_or_begin(
    transaction: &Transaction<'_>,
    keys: &Path,
) -> Result<(AuditKey, bool), StoreError> {
    files::directory(keys)?;
    let known = meta::audit_key(transaction)?;
    let begins = known.is_none();
    let path = keys.join(FILE);
    let key = match files::read(&path)? {
        Some(bytes) => parse(&path, &bytes)?,
        None if !begins => return Err(refused(&path, "is missing")),
        None => create(&path)?,
    };
    if begins {
        audit::chain_all(transaction, &key)?;
        meta::set_audit_key(transaction, &key.id)?;
    } else if known.as_deref() != Some(&key.id) {
        return Err(refused(
            &path,
            "is not the key that the audit trail was written under",
        ));
    }
    Ok((key, begins))
}

/// Reads the key of a trail that is only looked at.
pub(super) fn load(transaction: &Transaction<'_>, keys: &Path) -> Result<AuditKey, StoreError> {
    let path = keys.join(FILE);
    let bytes = files::read(&path)?.ok_or_else(|| refused(&path, "is missing"))?;
    let key = parse(&path, &bytes)?;
    match meta::audit_key(transaction)? == Some(key.id.clone()) {
        true => Ok(key),
        false => Err(refused(
            &path,
            "is not the key that the audit trail was written under",
        )),
    }
}

/// Reads the key, whatever trail it is of; `None` where there is none.
pub(super) fn read(keys: &Path) -> Result<Option<AuditKey>, StoreError> {
    let path = keys.join(FILE);
    let bytes = files::read(&path)?;
    bytes.map(|bytes| parse(&path, &bytes)).transpose()
}

fn create(path: &Path) -> Result<AuditKey, StoreError> {
    let bytes: [u8; LENGTH] = random::bytes();
    files::create(path, &bytes)?;
    Ok(AuditKey::from_bytes(&bytes))
}

fn parse(path: &Path, bytes: &[u8]) -> Result<AuditKey, StoreError> {
    match bytes.len() {
        LENGTH => Ok(AuditKey::from_bytes(bytes)),
        _ => Err(StoreError::corrupt(path, "it must have 32 bytes")),
    }
}

fn refused(path: &Path, reason: &'static str) -> StoreError {
    StoreError::AuditKey {
        path: path.to_owned(),
        reason,
    }
}

fn bytes_of(tag: hmac::Tag) -> [u8; 32] {
    tag.as_ref()
        .try_into()
        .expect("HMAC-SHA-256 has 32 bytes (RFC 4231)")
}

const FILE: &str = "audit.key";
const LENGTH: usize = 32;

#[cfg(test)]
mod tests {
    use pairing::UnixMillis;

    use super::{AuditKey, Link, hex};
    use crate::audit::AuditRow;

    fn row() -> AuditRow {
        AuditRow::new(UnixMillis(5), "owner", "unix:uid=7", "a", "dev_1")
    }

    fn hmac(row: &AuditRow) -> [u8; 32] {
        AuditKey::from_bytes(&[7; 32]).hmac(&Link::BEGIN.hmac, 1, row)
    }

    #[test]
    fn a_rows_hmac_depends_on_everything_it_says_on_its_place_and_on_the_key() {
        let others = [
            AuditRow {
                time: UnixMillis(6),
                ..row()
            },
            AuditRow {
                principal: "ownes".to_owned(),
                ..row()
            },
            AuditRow {
                peer: String::new(),
                ..row()
            },
            AuditRow {
                action: "b".into(),
                ..row()
            },
            AuditRow {
                target: "dev_2".to_owned(),
                ..row()
            },
            row().outcome("denied"),
            row().detail(""),
            row().detail("x"),
            // The same letters in a row, cut elsewhere.
            AuditRow {
                action: "ad".into(),
                target: "ev_1".to_owned(),
                ..row()
            },
        ];
        for other in others {
            assert_ne!(hmac(&other), hmac(&row()), "{other:?}");
        }
        let key = AuditKey::from_bytes(&[7; 32]);
        assert_ne!(key.hmac(&[1; 32], 1, &row()), hmac(&row()));
        assert_ne!(key.hmac(&[0; 32], 2, &row()), hmac(&row()));
        assert_ne!(
            AuditKey::from_bytes(&[8; 32]).hmac(&[0; 32], 1, &row()),
            hmac(&row())
        );
    }

    #[test]
    fn the_chain_of_a_row_stays_what_it_was() {
        // Python: hmac.new(bytes([7]*32), b"transom/audit/v1" + bytes(32) + pack(">Qq", 1, 5) + each text behind its
        // length as ">Q" + b"\0", "sha256").hexdigest()
        assert_eq!(hex(&hmac(&row())), EXPECTED);
    }

    const EXPECTED: &str = "9518d177a31206c28d443c02c01e4e81e5bd0a979587d80159e23568a8378e14";
}
