//! `transom record`: a session's output as a recording that players know.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::Serialize;

use crate::{client::Streamed, escape::escape, exit, failure::Failure, names, output, target};

/// Arguments of `record`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The recording is in asciicast v3, with times and sizes, of all output that is kept; `asciinema play FILE` \
plays it, and no server is needed for that.

  transom record build build.cast
  transom record build | gzip > build.cast.gz")]
pub(crate) struct Args {
    /// Name or id of the session, or a beginning that only it has
    name: String,
    /// The file to write; without it, standard output, unless that is a terminal
    file: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "file")]
    force: bool,
    /// Print the file's name and bytes as JSON
    #[arg(long, requires = "file")]
    pub(super) json: bool,
}

/// What was written.
#[derive(Serialize)]
struct Recorded<'a> {
    file: &'a Path,
    bytes: u64,
}

/// Writes it.
pub(crate) async fn run(args: &Args, daemon: &target::Target) -> Result<u8, Failure> {
    if args.file.is_none() && io::stdout().is_terminal() {
        return Err(Failure::usage(
            "a recording is not for reading, and standard output is this terminal",
            format!("name a file: `transom record {0} {0}.cast`", escape(&args.name)),
        ));
    }
    let client = daemon.client()?;
    let session = names::find(&client, &args.name).await?;
    let target = args
        .file
        .as_deref()
        .map(|file| Target::begin(file, args.force))
        .transpose()?;
    let recording = client
        .open(&format!("/sessions/{}/recording", session.id))
        .await?;
    let Some(target) = target else {
        copy(recording, &mut io::stdout().lock()).await?;
        return Ok(exit::OK);
    };
    let bytes = copy(recording, &mut &target.file).await?;
    let file = target.finish()?;
    if args.json {
        output::json(&Recorded { file, bytes })?;
    } else {
        output::sentence(&format!(
            "wrote {} to {}",
            size(bytes),
            escape(&file.display().to_string())
        ))?;
    }
    Ok(exit::OK)
}

async fn copy(mut recording: Streamed, to: &mut impl Write) -> Result<u64, Failure> {
    let mut progress = Progress::begin();
    let mut bytes = 0;
    while let Some(chunk) = recording.chunk().await? {
        let chunk = chunk.as_ref();
        to.write_all(chunk)?;
        bytes += chunk.len() as u64;
        progress.show(bytes);
    }
    to.flush()?;
    Ok(bytes)
}

/// The file, under a name of its own until it is whole, so that a part never looks like a recording.
struct Target<'a> {
    file: File,
    path: &'a Path,
    /// Where the part stands; none where a pipe or a device is written.
    part: Option<PathBuf>,
    force: bool,
}

impl<'a> Target<'a> {
    fn begin(path: &'a Path, force: bool) -> Result<Self, Failure> {
        let part = match fs::metadata(path) {
            Ok(there) if !there.is_file() => None,
            Ok(_) if !force => return Err(exists(path)),
            _ => {
                let mut part = path.as_os_str().to_owned();
                part.push(format!(".{}.part", std::process::id()));
                Some(PathBuf::from(part))
            }
        };
        let mut options = OpenOptions::new();
        let opened = match &part {
            Some(part) => options.write(true).create_new(true).open(part),
            None => options.write(true).open(path),
        };
        let file = opened.map_err(|error| cannot_write(path, &error))?;
        Ok(Self {
            file,
            path,
            part,
            force,
        })
    }

    fn finish(mut self) -> Result<&'a Path, Failure> {
        let Some(part) = self.part.take() else {
            return Ok(self.path);
        };
        // A link does not replace what somebody else put there meanwhile; not every file system has links.
        let linked = if self.force {
            Err(io::ErrorKind::Unsupported.into())
        } else {
            fs::hard_link(&part, self.path)
        };
        let done = match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(&part, self.path),
            other => fs::remove_file(&part).and(other),
        };
        match done {
            Ok(()) => Ok(self.path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(self.path)),
            Err(error) => Err(cannot_write(self.path, &error)),
        }
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            fs::remove_file(part).ok();
        }
    }
}

fn exists(path: &Path) -> Failure {
    Failure::failed(
        "file_exists",
        format!("{} exists already", escape(&path.display().to_string())),
        "name another file, or replace it with --force",
    )
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(
        "local_io",
        format!(
            "{} cannot be written: {error}",
            escape(&path.display().to_string())
        ),
        "name a file in a folder that is yours",
    )
}

/// How far it is, on standard error, if that is a terminal and it takes long enough to wonder.
struct Progress {
    is_shown: bool,
    shows: bool,
    last: Instant,
}

impl Progress {
    fn begin() -> Self {
        Self {
            is_shown: false,
            shows: io::stderr().is_terminal(),
            last: Instant::now(),
        }
    }

    fn show(&mut self, bytes: u64) {
        if self.shows && self.last.elapsed() >= STEP {
            self.last = Instant::now();
            self.is_shown = true;
            write!(io::stderr(), "\r{} …\x1b[K", size(bytes)).ok();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            write!(io::stderr(), "\r\x1b[K").ok();
        }
    }
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    let unit = UNITS
        .iter()
        .find(|(_, size)| bytes >= *size)
        .unwrap_or(&UNITS[UNITS.len() - 1]);
    match unit {
        ("bytes", _) => format!("{bytes} bytes"),
        (name, size) => {
            let tenths = bytes * 10 / size;
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
    }
}

/// Units of bytes, the largest first.
const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1)];
/// Between two words of progress.
const STEP: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::{Target, size};

    #[test]
    fn sizes_are_told_in_their_unit() {
        for (bytes, told) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1536, "1.5 KiB"),
            (3 << 20, "3.0 MiB"),
        ] {
            assert_eq!(size(bytes), told);
        }
    }

    #[test]
    fn a_recording_that_was_cut_off_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cast");
        drop(Target::begin(&path, false).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_exists_is_replaced_only_on_demand() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cast");
        Target::begin(&path, false).unwrap().finish().unwrap();
        assert!(Target::begin(&path, false).is_err());
        Target::begin(&path, true).unwrap().finish().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
