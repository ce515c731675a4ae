//! The table `meta`: single values that the store keeps.

use pairing::TokenKeyId;
use rand::Rng;
use rusqlite::{OptionalExtension, Transaction};

use super::StoreError;
use crate::random;

/// The daemon's lasting id, made on first use.
pub(super) fn instance(transaction: &Transaction<'_>) -> Result<String, StoreError> {
    if let Some(instance) = get(transaction, INSTANCE)? {
        return Ok(instance);
    }
    let instance = format!("{:016x}", random::rng().next_u64());
    set(transaction, INSTANCE, &instance)?;
    Ok(instance)
}

/// The id of the key that the token hashes were made under.
pub(super) fn token_key(transaction: &Transaction<'_>) -> Result<Option<String>, StoreError> {
    get(transaction, TOKEN_KEY)
}

pub(super) fn set_token_key(transaction: &Transaction<'_>, id: &TokenKeyId) -> Result<(), StoreError> {
    set(transaction, TOKEN_KEY, id.as_str())
}

/// The id of the key that the audit trail is chained by; `None` where it was never chained.
pub(super) fn audit_key(transaction: &Transaction<'_>) -> Result<Option<String>, StoreError> {
    get(transaction, AUDIT_KEY)
}

pub(super) fn set_audit_key(transaction: &Transaction<'_>, id: &str) -> Result<(), StoreError> {
    set(transaction, AUDIT_KEY, id)
}

/// How many devices and guests were ever ended; counted since there is an audit key.
pub(super) fn revocations(transaction: &Transaction<'_>) -> Result<u64, StoreError> {
    let count = get(transaction, REVOCATIONS)?;
    count.map_or(Ok(0), |count| {
        count.parse().map_err(|_| StoreError::Row {
            table: "meta",
            reason: "the count of ended devices and guests cannot be read".to_owned(),
        })
    })
}

pub(super) fn count_revocation(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let count = revocations(transaction)? + 1;
    set(transaction, REVOCATIONS, &count.to_string())
}

/// Counts so many at least.
pub(super) fn raise_revocations(transaction: &Transaction<'_>, least: u64) -> Result<(), StoreError> {
    let count = revocations(transaction)?.max(least);
    set(transaction, REVOCATIONS, &count.to_string())
}

fn get(transaction: &Transaction<'_>, key: &str) -> Result<Option<String>, StoreError> {
    Ok(transaction
        .query_row("SELECT value FROM meta WHERE key = ?", [key], |row| row.get(0))
        .optional()?)
}

fn set(transaction: &Transaction<'_>, key: &str, value: &str) -> Result<(), StoreError> {
    transaction.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
        [key, value],
    )?;
    Ok(())
}

const INSTANCE: &str = "instance";
const TOKEN_KEY: &str = "token_key";
const AUDIT_KEY: &str = "audit_key";
const REVOCATIONS: &str = "revocations";
