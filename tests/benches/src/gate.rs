//! How the bench and the programs on the terminals meet: a Unix socket beside them, so that nothing is polled.

use std::{
    io::{Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use tempfile::TempDir;

/// The bench's side.
pub(crate) struct Gate {
    listener: UnixListener,
    folder: TempDir,
}

/// A program that has come to the gate.
pub(crate) struct Arrived(UnixStream);

impl Gate {
    pub(crate) fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("bench").tempdir()?;
        let listener = UnixListener::bind(folder.path().join(NAME))?;
        Ok(Self { listener, folder })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    /// Waits for the next program.
    pub(crate) fn arrival(&self) -> Result<Arrived> {
        let (stream, _) = self.listener.accept()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Arrived(stream))
    }
}

impl Arrived {
    /// Lets it go.
    pub(crate) fn go(&mut self) -> Result<()> {
        Ok(self.0.write_all(&[0])?)
    }

    /// How long it says that it worked.
    pub(crate) fn took(&mut self) -> Result<Duration> {
        let mut nanoseconds = [0; 8];
        self.0
            .read_exact(&mut nanoseconds)
            .context("the program did not finish")?;
        Ok(Duration::from_nanos(u64::from_le_bytes(nanoseconds)))
    }
}

/// The program's side: it is ready.
pub(crate) fn arrive(gate: &Path) -> Result<UnixStream> {
    UnixStream::connect(gate).context("the bench is not there")
}

/// Far above what any figure takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

const NAME: &str = "gate";
