//! The token key's file, `token.key` in the directory of keys: 32 bytes, made on first use.

use std::path::Path;

use certs::files;
use pairing::TokenKey;
use rusqlite::Transaction;

use super::{StoreError, meta};
use crate::random;

/// Reads the key, or makes it where nothing can have been hashed under another one.
pub(super) fn load_or_create(
    transaction: &Transaction<'_>,
    keys: &Path,
    is_needed: bool,
) -> Result<TokenKey, StoreError> {
    files::directory(keys)?;
    let key = match load(transaction, keys, is_needed)? {
        Some(key) => key,
        None => create(&keys.join(FILE))?,
    };
    let id = key.id();
    if meta::token_key(transaction)?.as_deref() != Some(id.as_str()) {
        meta::set_token_key(transaction, &id)?;
    }
    Ok(key)
}

/// Reads the key; `None` where there is none and none is needed.
pub(super) fn load(
    transaction: &Transaction<'_>,
    keys: &Path,
    is_needed: bool,
) -> Result<Option<TokenKey>, StoreError> {
    let path = keys.join(FILE);
    let refused = |reason| StoreError::TokenKey {
        path: path.clone(),
        reason,
    };
    let key = match files::read(&path)? {
        Some(bytes) => parse(&bytes).ok_or_else(|| StoreError::corrupt(&path, "it must have 32 bytes"))?,
        None if is_needed => return Err(refused("is missing")),
        None => return Ok(None),
    };
    let known = meta::token_key(transaction)?;
    if is_needed && known.as_deref() != Some(key.id().as_str()) {
        return Err(refused("is not the key that the tokens were made under"));
    }
    Ok(Some(key))
}

fn create(path: &Path) -> Result<TokenKey, StoreError> {
    let key = TokenKey::generate(&mut random::rng());
    files::create(path, key.dangerous_bytes())?;
    Ok(key)
}

fn parse(bytes: &[u8]) -> Option<TokenKey> {
    bytes.try_into().ok().map(TokenKey::from_bytes)
}

const FILE: &str = "token.key";
