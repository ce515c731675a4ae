//! The programs on the terminals.

use std::{
    io::{Read, Write, stdin, stdout},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::{content::Kind, gate::arrive, kernel::pause};

/// Waits to be let go, writes, and says how long it took until the terminal had taken all of it.
pub(crate) fn emit(gate: &Path, kind: Kind, bytes: u64) -> Result<()> {
    let block = kind.block();
    let mut bench = arrive(gate)?;
    bench.read_exact(&mut [0])?;
    let begun = Instant::now();
    let mut output = stdout().lock();
    let mut left = bytes;
    while left > 0 {
        let length = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        output.write_all(&block[..length])?;
        left -= length as u64;
    }
    output.flush()?;
    let nanoseconds = u64::try_from(begun.elapsed().as_nanos())?;
    // A bench that no longer listens has what it wanted.
    bench.write_all(&nanoseconds.to_le_bytes()).ok();
    Ok(())
}

/// Opens a SQLite file as the daemon does its own, reads a row and says so.
pub(crate) fn open(file: &Path) -> Result<()> {
    let store = rusqlite::Connection::open(file)?;
    store.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE IF NOT EXISTS floor (it INTEGER);")?;
    let rows: i64 = store.query_row("SELECT count(*) FROM floor", [], |row| row.get(0))?;
    Ok(writeln!(stdout(), "{rows}")?)
}

/// Sends back what is typed: the terminal is raw, as under a line editor.
pub(crate) fn echo(gate: &Path) -> Result<()> {
    let terminal = stdin();
    let mut modes = tcgetattr(&terminal)?;
    modes.make_raw();
    tcsetattr(&terminal, OptionalActions::Now, &modes)?;
    let _bench = arrive(gate)?;
    let mut typed = [0; 256];
    loop {
        let length = rustix::io::read(&terminal, &mut typed)?;
        if length == 0 {
            return Ok(());
        }
        rustix::io::write(stdout(), &typed[..length])?;
    }
}

/// Writes its lines and rests.
pub(crate) fn rest(gate: &Path, lines: u32) -> Result<()> {
    let mut output = stdout().lock();
    for line in 0..lines {
        writeln!(
            output,
            "{line:>8} {}",
            "the quick brown fox jumps over the lazy dog "
                .repeat(2)
                .get(..70)
                .unwrap_or_default()
        )?;
    }
    output.flush()?;
    let _bench = arrive(gate)?;
    // The end of its input is the end of its terminal.
    while rustix::io::read(stdin(), &mut [0; 256])? > 0 {}
    Ok(())
}

/// Writes a line each second; it ends with its terminal.
pub(crate) fn tick(gate: &Path) -> Result<()> {
    let _bench = arrive(gate)?;
    let mut output = stdout().lock();
    for line in 0u64.. {
        writeln!(output, "{line:>8} the quick brown fox jumps over the lazy dog")?;
        output.flush()?;
        pause(Duration::from_secs(1))?;
    }
    Ok(())
}
