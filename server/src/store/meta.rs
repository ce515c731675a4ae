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
