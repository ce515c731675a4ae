//! The file's shape and how it is opened: refused unless it is whole and of a known version.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use certs::files;
use pairing::UnixMillis;
use rusqlite::{Connection, OpenFlags, Transaction, backup::Progress};

use super::StoreError;

/// Opens the store for writing, after making it or bringing it to the present version.
pub(super) fn open(path: &Path, now: UnixMillis) -> Result<Connection, StoreError> {
    open_with(path, MIGRATIONS, now)
}

/// The same with other migrations: the version of a file is the number of them that made it.
fn open_with(path: &Path, migrations: &[&str], now: UnixMillis) -> Result<Connection, StoreError> {
    if !files::check(path)? {
        create(path, migrations)?;
    }
    for beside in [suffixed(path, "-wal"), suffixed(path, "-shm")] {
        files::check(&beside)?;
    }
    let found = examine(path, migrations.len())?;
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    if found < migrations.len() {
        // Each row may be written anew.
        if let Some(reason) = damage(&connection)? {
            return Err(StoreError::corrupt(path, reason));
        }
        copy_aside(&connection, path, found, now)?;
        let transaction = connection.transaction()?;
        migrate(&transaction, migrations, found)?;
        transaction.commit()?;
    }
    connection.pragma_update(None, "journal_mode", "wal")?;
    Ok(connection)
}

/// Fills a new file under another name and gives it its own only when it is whole: an empty file with the store's name is
/// therefore damage, never a beginning.
fn create(path: &Path, migrations: &[&str]) -> Result<(), StoreError> {
    let orphan = suffixed(path, "-wal");
    if files::check(&orphan)? {
        return Err(StoreError::corrupt(
            path,
            format!("it is missing and its journal {} is there", orphan.display()),
        ));
    }
    let partial = files::partial(path);
    let file = files::create_partial(&partial)?;
    let mut connection = connect(&partial, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Without a journal there is nothing beside the file to move along with it.
    connection.pragma_update(None, "journal_mode", "memory")?;
    let transaction = connection.transaction()?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    migrate(&transaction, migrations, 0)?;
    transaction.commit()?;
    drop(connection);
    file.sync_all()?;
    Ok(files::publish(&partial, path)?)
}

/// Looks at a file without changing a byte of it, and says its version. The rows of the audit trail, of which there are as many as
/// a year wrote and by which nobody comes in, are left to the writer: it looks at them before it writes.
fn examine(path: &Path, supported: usize) -> Result<usize, StoreError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    examine_by(&connection, (path, supported), damage_beside_the_trail)
}

/// The same of the present version's by a connection that is there, and of all rows.
pub(super) fn look(connection: &Connection, path: &Path) -> Result<(usize, usize), StoreError> {
    let found = examine_by(connection, (path, MIGRATIONS.len()), damage)?;
    Ok((found, MIGRATIONS.len()))
}

/// What is damaged in the file, in SQLite's words.
pub(super) fn damage(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let verdict = connection.pragma_query_value(None, "quick_check", |row| row.get(0));
    verdict.map(fault)
}

fn damage_beside_the_trail(connection: &Connection) -> rusqlite::Result<Option<String>> {
    // Of the trail each page is read, but no row.
    connection.query_row("SELECT count(*) FROM audit", [], |_| Ok(()))?;
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'audit' AND name NOT GLOB 'sqlite_*'";
    let mut tables = connection.prepare(tables)?;
    let mut tables = tables.query([])?;
    while let Some(table) = tables.next()? {
        let table: String = table.get(0)?;
        let mut verdict = None;
        connection.pragma(None, "quick_check", table, |row| {
            verdict.get_or_insert(row.get(0)?);
            Ok(())
        })?;
        let fault = verdict.and_then(fault);
        if fault.is_some() {
            return Ok(fault);
        }
    }
    Ok(None)
}

/// The first of what was found, unless that is nothing.
fn fault(verdict: String) -> Option<String> {
    (verdict != "ok").then(|| verdict.lines().next().unwrap_or_default().to_owned())
}

fn examine_by(
    connection: &Connection,
    (path, supported): (&Path, usize),
    damage: fn(&Connection) -> rusqlite::Result<Option<String>>,
) -> Result<usize, StoreError> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    if number("application_id")? != i64::from(APPLICATION) {
        return Err(StoreError::corrupt(path, "it is not a store of this program"));
    }
    let version = number("user_version")?;
    let found = usize::try_from(version).map_err(|_| StoreError::corrupt(path, "its version is negative"))?;
    if found > supported {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found: version,
            supported: supported as i64,
        });
    }
    match damage(connection)? {
        Some(reason) => Err(StoreError::corrupt(path, reason)),
        None if found == 0 => Err(StoreError::corrupt(path, "it has no version")),
        None => Ok(found),
    }
}

fn migrate(transaction: &Transaction<'_>, migrations: &[&str], found: usize) -> Result<(), StoreError> {
    for migration in &migrations[found..] {
        transaction.execute_batch(migration)?;
    }
    Ok(transaction.pragma_update(None, "user_version", migrations.len() as i64)?)
}

fn copy_aside(connection: &Connection, path: &Path, found: usize, now: UnixMillis) -> Result<(), StoreError> {
    let copy = suffixed(path, &format!(".v{found}-{}", now.0));
    let partial = files::partial(&copy);
    let file = files::create_partial(&partial)?;
    connection.backup("main", &partial, None::<fn(Progress)>)?;
    file.sync_all()?;
    Ok(files::publish(&partial, &copy)?)
}

/// A connection as every use of the file wants it.
pub(super) fn connect(path: &Path, mode: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // Nobody else has it open; a backup by hand may hold it for a moment.
    connection.busy_timeout(Duration::from_secs(5))?;
    // A commit is on the disk when it returns, not only safe from a torn file.
    connection.pragma_update(None, "synchronous", "full")?;
    Ok(connection)
}

pub(super) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// `TRSM`: tells the file from other programs' databases.
const APPLICATION: i32 = 0x5452_534d;

/// Each makes the next version out of the one before. What was released never changes.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
];

#[cfg(test)]
mod tests;
