//! What is read from a row where SQL cannot check it.

use std::{fmt::Display, str::FromStr, time::Duration};

use pairing::{PublicKey, TokenHash, UnixMillis};
use rusqlite::Row;

use super::StoreError;
use crate::clock::by_the_wall;

/// Reads what SQL cannot check; what does not parse is damage, never skipped.
pub(super) struct Columns<'a> {
    pub(super) table: &'static str,
    pub(super) row: &'a Row<'a>,
}

impl Columns<'_> {
    pub(super) fn parsed<T: FromStr>(&self, column: &str) -> Result<T, StoreError> {
        self.row
            .get::<_, String>(column)?
            .parse()
            .map_err(|_| self.wrong(column))
    }

    pub(super) fn parsed_if_any<T: FromStr>(&self, column: &str) -> Result<Option<T>, StoreError> {
        let text: Option<String> = self.row.get(column)?;
        let parsed = text.map(|text| text.parse()).transpose();
        parsed.map_err(|_| self.wrong(column))
    }

    pub(super) fn token_hash(&self, column: &str) -> Result<TokenHash, StoreError> {
        let bytes: Vec<u8> = self.row.get(column)?;
        bytes
            .try_into()
            .map(TokenHash::from_bytes)
            .map_err(|_| self.wrong(column))
    }

    /// A moment, which stands there as the wall clock says it.
    pub(super) fn time(&self, column: &str) -> Result<UnixMillis, StoreError> {
        Ok(by_the_wall(UnixMillis(self.row.get(column)?)))
    }

    pub(super) fn time_if_any(&self, column: &str) -> Result<Option<UnixMillis>, StoreError> {
        let time: Option<i64> = self.row.get(column)?;
        Ok(time.map(|time| by_the_wall(UnixMillis(time))))
    }

    pub(super) fn public_key(&self) -> Result<Option<PublicKey>, StoreError> {
        let bytes: Option<Vec<u8>> = self.row.get("public_key")?;
        bytes
            .map(|bytes| PublicKey::from_slice(&bytes))
            .transpose()
            .map_err(|_| self.wrong("public_key"))
    }

    pub(super) fn wrong(&self, column: impl Display) -> StoreError {
        StoreError::Row {
            table: self.table,
            reason: format!("a value of column {column} cannot be read"),
        }
    }
}

/// For so long a token of who has ended is told why it opens nothing.
pub(super) const KEPT: Duration = Duration::from_secs(90 * 24 * 60 * 60);
