//! `transom backup create`.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use daemon::backup::{self, Manifest, Passphrase};
use serde::Serialize;

use super::{devices, failure, offline, passphrase, shown};
use crate::{exit, failure::Failure, output};

/// Arguments of `backup create`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file to write, which only you can open; `-` is standard output, unless that is a terminal
    file: PathBuf,
    /// Read the passphrase from this file, whose last line end is no part of it; without it, it is asked for twice
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Do not encrypt it: whoever has the file is this daemon
    #[arg(long, conflicts_with = "passphrase_file")]
    plain: bool,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

/// What was written.
#[derive(Serialize)]
struct Created<'a> {
    file: &'a Path,
    bytes: u64,
    encrypted: bool,
    #[serde(flatten)]
    manifest: &'a Manifest,
}

pub(super) fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let paths = offline::paths()?;
    if args.file == Path::new("-") {
        return to_output(args, json);
    }
    if !args.force && args.file.symlink_metadata().is_ok() {
        // Before anybody is asked for a passphrase.
        return Err(failure(&backup::BackupError::FileExists(args.file.clone())));
    }
    let passphrase = secret(args)?;
    let (manifest, bytes) = backup::create_file(&paths, passphrase.as_ref(), &args.file, args.force)
        .map_err(|error| failure(&error))?;
    if json {
        output::json(&Created {
            file: &args.file,
            bytes,
            encrypted: passphrase.is_some(),
            manifest: &manifest,
        })?;
    } else {
        output::sentence(&in_words(&manifest, &args.file, passphrase.is_some()))?;
    }
    Ok(exit::OK)
}

fn to_output(args: &Args, json: bool) -> Result<u8, Failure> {
    if io::stdout().is_terminal() {
        return Err(Failure::usage(
            "a back-up is not for reading, and standard output is this terminal",
            "name a file: `transom backup create transom.backup`",
        ));
    }
    if json {
        return Err(Failure::usage(
            "standard output takes either the back-up or JSON",
            "leave --json out, or name a file",
        ));
    }
    let passphrase = secret(args)?;
    let output = io::BufWriter::new(io::stdout().lock());
    backup::create(&offline::paths()?, passphrase.as_ref(), output).map_err(|error| match error {
        backup::BackupError::Output(error) => error.into(),
        other => failure(&other),
    })?;
    Ok(exit::OK)
}

/// The passphrase, unless none is wanted.
fn secret(args: &Args) -> Result<Option<Passphrase>, Failure> {
    match (args.plain, &args.passphrase_file) {
        (true, _) => Ok(None),
        (false, Some(file)) => passphrase::of_file(file).and_then(passphrase::strong).map(Some),
        (false, None) => passphrase::ask_twice().map(Some),
    }
}

fn in_words(manifest: &Manifest, file: &Path, is_encrypted: bool) -> String {
    let how = match is_encrypted {
        true => "encrypted",
        false => "not encrypted: whoever has it is this daemon",
    };
    format!(
        "wrote {} ({how}): {}, the audit trail to row {}, the keys and the configuration; no sessions",
        shown(file),
        devices(manifest.devices),
        manifest.audit_row
    )
}
