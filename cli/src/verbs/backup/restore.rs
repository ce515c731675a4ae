//! `transom backup restore`.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use daemon::{
    Paths,
    backup::{self, BackupError, Beyond, Passphrase, Restoration, RestoreOptions, Source, Trust},
};
use pairing::{Device, DeviceId};
use protocol::Timestamp;
use serde::Serialize;

use super::{devices, failure, passphrase, shown};
use crate::{escape::escape, exit, failure::Failure, output};

/// Arguments of `backup restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The pin stays the same, so every device goes on as before, at the names and addresses that this machine has. Who was revoked since \
the back-up was made stays so, as far as this machine knows; where it cannot know, it asks for a decision.")]
pub(super) struct Args {
    /// The back-up; `-` is standard input
    file: PathBuf,
    /// Restore into this directory (as TRANSOM_DIR names it)
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Read the passphrase from this file; without it, it is asked for
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Move aside what is there, and say where to
    #[arg(long)]
    force: bool,
    /// Let all devices of the back-up back in as they were then, those revoked since too
    #[arg(long, conflicts_with = "end_devices")]
    keep_devices: bool,
    /// Let none of the back-up's devices back in: each must pair again
    #[arg(long)]
    end_devices: bool,
}

/// What was restored.
#[derive(Serialize)]
struct Restored<'a> {
    state: &'a Path,
    aside: &'a [PathBuf],
    made_at: Timestamp,
    version: &'a str,
    instance: &'a str,
    pin: &'a str,
    devices: u64,
    ended: Vec<Named<'a>>,
    narrowed: Vec<Named<'a>>,
    guests_ended: u64,
    audit: Trail,
    warnings: &'a [String],
}

/// A device.
#[derive(Serialize)]
struct Named<'a> {
    device_id: DeviceId,
    label: &'a str,
}

/// The audit trail.
#[derive(Serialize)]
struct Trail {
    /// The last row of the back-up.
    row: u64,
    /// How far it had come here, where that is more and known.
    known_row: Option<u64>,
    /// Whether the restored trail has every row that there ever was, each as it was written; none where that is not known here.
    is_whole: Option<bool>,
    faults: u64,
}

pub(super) fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let paths = Paths::find(args.dir.as_deref())
        .map_err(|error| Failure::configuration(error.to_string(), error.hint()))?;
    // Before anybody is asked for a passphrase.
    backup::check_place(&paths, args.force).map_err(|error| failure(&error))?;
    let source = Source::open(input(&args.file)?).map_err(|error| failure(&error))?;
    let passphrase = secret(args, &source)?;
    let options = RestoreOptions {
        replaces: args.force,
        trust: match (args.keep_devices, args.end_devices) {
            (true, _) => Trust::Kept,
            (_, true) => Trust::Ended,
            (false, false) => Trust::AsKnown,
        },
    };
    let done =
        backup::restore(&paths, source, passphrase.as_ref(), options).map_err(|error| failure(&error))?;
    if json {
        output::json(&described(&done, &paths.state))?;
    } else {
        tell(&done)?;
    }
    Ok(exit::OK)
}

fn input(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new("-") {
        return match io::stdin().is_terminal() {
            true => Err(Failure::usage(
                "standard input is this terminal",
                "name the file with the back-up",
            )),
            false => Ok(Box::new(io::stdin())),
        };
    }
    let unreadable = |source| {
        failure(&BackupError::Io {
            path: path.to_owned(),
            what: "read",
            source,
        })
    };
    let file = File::open(path).map_err(unreadable)?;
    match file.metadata().map_err(unreadable)?.is_dir() {
        true => Err(unreadable(io::ErrorKind::IsADirectory.into())),
        false => Ok(Box::new(file)),
    }
}

fn secret(args: &Args, source: &Source) -> Result<Option<Passphrase>, Failure> {
    match &args.passphrase_file {
        _ if !source.is_encrypted() => Ok(None),
        Some(file) => passphrase::of_file(file).map(Passphrase::new),
        None => passphrase::ask_once().map(Some),
    }
}

fn described<'a>(done: &'a Restoration, state: &'a Path) -> Restored<'a> {
    let Restoration {
        manifest, restored, ..
    } = done;
    let (known_row, has_all) = match restored.beyond {
        Beyond::Unknown => (None, None),
        Beyond::Nothing => (None, Some(true)),
        Beyond::Kept(row) => (Some(row), Some(true)),
        Beyond::Lost(row) => (row, Some(false)),
    };
    Restored {
        state,
        aside: &done.aside,
        made_at: manifest.made_at,
        version: &manifest.version,
        instance: &manifest.instance,
        pin: &manifest.pin,
        devices: restored.devices as u64,
        ended: restored.ended.iter().map(named).collect(),
        narrowed: restored.narrowed.iter().map(named).collect(),
        guests_ended: restored.guests_ended as u64,
        audit: Trail {
            row: restored.last_row,
            known_row,
            is_whole: match restored.faults {
                0 => has_all,
                _ => Some(false),
            },
            faults: restored.faults,
        },
        warnings: &done.warnings,
    }
}

fn named(device: &Device) -> Named<'_> {
    Named {
        device_id: device.id,
        label: device.label.as_str(),
    }
}

/// Says it: what there is now first, then what is not as in the back-up, and what to do.
fn tell(done: &Restoration) -> Result<(), Failure> {
    let Restoration {
        manifest, restored, ..
    } = done;
    output::sentence(&format!(
        "restored the back-up of {} (transom {}): {} may come in, and the pin is {}",
        manifest.made_at,
        escape(&manifest.version),
        devices(restored.devices as u64),
        escape(&manifest.pin)
    ))?;
    match restored.beyond {
        Beyond::Unknown | Beyond::Nothing => {}
        Beyond::Kept(row) => output::note(&format!(
            "it is older than what was here: its audit trail ends at row {}, and rows {} to {row} were taken over",
            restored.last_row,
            restored.last_row + 1
        )),
        Beyond::Lost(row) => output::warning(&format!(
            "it is older than what was here: its audit trail ends at row {}, and {} in it",
            restored.last_row,
            match row {
                Some(row) => format!("what came later, to row {row}, is not"),
                None => "what came later is not".to_owned(),
            }
        )),
    }
    for device in &restored.ended {
        output::note(&format!("{} stays out: it has to pair again", called(device)));
    }
    for device in &restored.narrowed {
        output::note(&format!(
            "{} may less than the back-up says, as it did here",
            called(device)
        ));
    }
    if restored.guests_ended > 0 {
        output::note(&format!(
            "guests and invitations that have ended: {}",
            restored.guests_ended
        ));
    }
    if restored.faults > 0 {
        output::warning("its audit trail is not whole: `transom audit --verify` says where");
    }
    for warning in &done.warnings {
        output::warning(&escape(warning));
    }
    for path in &done.aside {
        output::note(&format!("what was there is now {}", shown(path)));
    }
    if restored.beyond == Beyond::Unknown && restored.devices > 0 {
        output::note(
            "who was revoked after it was made is not known here: `transom devices` lists whom it lets in, and `transom \
             revoke` ends who should not be there",
        );
    }
    output::note("`transom up` starts the daemon; of two with the same back-up only one may serve");
    Ok(())
}

fn called(device: &Device) -> String {
    format!("{} ({})", escape(device.label.as_str()), device.id)
}
