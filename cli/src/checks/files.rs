//! The daemon's files: configuration, folders, keys, store, and the certificate of the user's own.

use std::{fs, path::Path};

use certs::{CertsError, Identity, Pair, PairFilesError, files, files::FileError};
use daemon::{
    Config, Paths, file_hint,
    offline::{self, Look},
};
use jiff::Timestamp;
use rustix::fs::{StatVfsMountFlags, statvfs};

use super::{Check, day, timestamp, unix};

/// Reads the configuration as the daemon would.
pub(crate) fn configuration(paths: &Paths) -> (Check, Option<Config>) {
    match Config::load(&paths.config, &[]) {
        Ok((config, _)) => {
            let file = paths.config.display();
            let detail = match paths.config.exists() {
                true => format!("{file} is understood"),
                false => format!("{file} does not exist: the defaults hold"),
            };
            (Check::ok("configuration", detail), Some(config))
        }
        Err(error) => (
            Check::failed("configuration", error.to_string(), error.hint()),
            None,
        ),
    }
}

/// The folders that only their owner may enter.
pub(crate) fn folders(paths: &Paths) -> Vec<Check> {
    let mut all = vec![paths.state.clone(), paths.keys(), paths.logs()];
    if paths.runtime != paths.state {
        all.push(paths.runtime.clone());
    }
    let mut there = 0;
    let mut found = Vec::new();
    for folder in &all {
        match files::check_directory(folder) {
            Ok(is_there) => there += usize::from(is_there),
            Err(error) => found.push(refused("folders", &error)),
        }
    }
    let disk = (there > 0).then(|| statvfs(&paths.state).ok()).flatten();
    found.extend(disk.and_then(|disk| {
        let is_read_only = disk.f_flag.contains(StatVfsMountFlags::RDONLY);
        writable(
            &paths.state,
            is_read_only,
            disk.f_bavail.saturating_mul(disk.f_frsize),
        )
    }));
    if found.is_empty() {
        found.push(match there {
            0 => Check::skipped("folders", format!("{} does not exist yet", paths.state.display())),
            _ => Check::ok("folders", format!("{} is yours alone", paths.state.display())),
        });
    }
    found
}

/// What is wrong with the disk that a folder is on.
fn writable(folder: &Path, is_read_only: bool, free: u64) -> Option<Check> {
    let folder = folder.display();
    if is_read_only {
        return Some(Check::failed(
            "folders",
            format!("{folder} is on a disk that is mounted to be read only"),
            "mount it to be written, or set TRANSOM_DIR to a folder elsewhere",
        ));
    }
    (free < ROOM).then(|| {
        Check::failed(
            "folders",
            format!("no space is left on the disk of {folder}: {free} bytes"),
            "make room there: the store, its audit trail and what sessions print are written to it",
        )
    })
}

/// The files of keys, each with its owner and mode; and the identity, if it can be read.
pub(crate) fn keys(paths: &Paths) -> (Vec<Check>, Option<Identity>) {
    let folder = paths.keys();
    let mut names: Vec<_> = match fs::read_dir(&folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => Vec::new(),
    };
    names.sort();
    let faults = names.iter().filter_map(|path| files::check(path).err());
    let mut found: Vec<Check> = faults.map(|error| refused("keys", &error)).collect();
    let identity = match Identity::load(&folder) {
        Ok(identity) => identity,
        // Each file was looked at already.
        Err(CertsError::File(_)) => None,
        Err(error) => {
            let hint = "restore it from a backup: without it every device would have to pair again";
            found.push(Check::failed("keys", error.to_string(), hint));
            None
        }
    };
    if found.is_empty() {
        found.push(match (&identity, names.len()) {
            (Some(identity), count) => Check::ok(
                "keys",
                format!("{count} files, each yours and 0600; {}", identity.pin()),
            ),
            (None, _) if paths.store().exists() => Check::failed(
                "keys",
                format!("{}/identity.pem is missing", folder.display()),
                "restore it from a backup; a daemon that starts makes another, and every device must pair again",
            ),
            (None, _) => Check::skipped("keys", "none were made yet: the first start does"),
        });
    }
    (found, identity)
}

/// Whether a daemon can open its store, whether one has it open or not; without `has_keys` some of its keys are refused.
pub(crate) fn store(paths: &Paths, has_keys: bool) -> (Check, Option<Look>) {
    match offline::look(paths) {
        Ok(Some(look)) => (Check::ok("store", found_whole(&look)), Some(look)),
        Ok(None) => (
            Check::skipped("store", "there is none yet: the first start makes it"),
            None,
        ),
        Err(error) if !has_keys && error.is_about_a_file() => (
            Check::skipped("store", "it can be opened once its keys are as they must be"),
            None,
        ),
        Err(error) => (Check::failed("store", error.to_string(), error.hint()), None),
    }
}

fn found_whole(look: &Look) -> String {
    match look.devices {
        Some(devices) => format!(
            "it is whole, belongs to its keys and is the newest; {devices} paired {}",
            if devices == 1 { "device" } else { "devices" }
        ),
        None => format!(
            "version {} is whole; the next start brings it to version {}, and keeps a copy",
            look.version, look.supported
        ),
    }
}

/// The pair of the user's own, as it is in its files now.
pub(crate) fn certificate(config: &Config, now: Timestamp) -> Option<Check> {
    let files = config.pair.as_ref()?;
    let check = match Pair::read(&files.certificate, &files.key, unix(now)) {
        Ok(pair) => named(config, &pair, &files.certificate, now),
        Err(error) => {
            let hint = match &error {
                PairFilesError::File(error @ FileError::Open { .. }) => file_hint(error),
                PairFilesError::File(_) => {
                    "see that both files of listen.certificate and listen.key are there and can be read".to_owned()
                }
                PairFilesError::Pair { .. } => {
                    "renew it or mend the files: a running daemon takes them up by itself; without listen.certificate and \
                     listen.key the daemon's own is served"
                        .to_owned()
                }
            };
            Check::failed("certificate", error.to_string(), hint)
        }
    };
    Some(check)
}

fn named(config: &Config, pair: &Pair, file: &Path, now: Timestamp) -> Check {
    let file = file.display();
    let until = day(timestamp(pair.not_after));
    let hosts: Vec<&str> = pair.names.hosts().collect();
    let names = config.names.iter().map(String::as_str);
    let lacking: Vec<&str> = names.filter(|name| !pair.names.has_host(name)).collect();
    let for_whom = match hosts.is_empty() {
        true => "addresses alone".to_owned(),
        false => hosts.join(", "),
    };
    if !lacking.is_empty() {
        return Check::warning(
            "certificate",
            format!("{file} is for {for_whom}, and not for {}", lacking.join(", ")),
            "get one that has these names of listen.names too; under them browsers are shown the daemon's own, and warn",
        );
    }
    // Whoever comes by a name that the daemon does not know as its own is turned away; that in the tailnet it knows.
    let is_unknown =
        |host: &&&str| !host.starts_with("*.") && !host.ends_with(".ts.net") && **host != "localhost";
    if let Some(unknown) = hosts.iter().find(is_unknown).filter(|_| config.names.is_empty()) {
        return Check::warning(
            "certificate",
            format!("{file} is for {for_whom}, which is none of listen.names"),
            format!("add \"{unknown}\" to listen.names: browsers that come by it are refused"),
        );
    }
    if pair.is_due(unix(now)) {
        return Check::warning(
            "certificate",
            format!("{file} is for {for_whom}, and ends on {until}"),
            "renew it: the daemon takes up changed files by itself",
        );
    }
    Check::ok("certificate", format!("{file} is for {for_whom}, until {until}"))
}

fn refused(check: &'static str, error: &FileError) -> Check {
    let FileError::Mode { path, mode, wanted } = error else {
        return Check::failed(check, error.to_string(), file_hint(error));
    };
    let detail = format!(
        "{} has mode {mode:04o}, and must have {wanted:04o}",
        path.display()
    );
    let is_identity = path
        .file_name()
        .is_some_and(|name| name == "identity.pem" || name == "next.pem");
    let hint = file_hint(error);
    Check::failed(
        check,
        detail,
        match is_identity {
            true => format!("{hint}; if others could read it, `transom certs rotate` makes another"),
            false => format!("{hint}, after finding out who could read it"),
        },
    )
}

/// Bytes that a start and a few audit rows need.
const ROOM: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ROOM, writable};

    #[test]
    fn a_disk_that_takes_nothing_is_said_and_one_with_room_is_not() {
        let said = |is_read_only, free| {
            let check = writable(Path::new("/state"), is_read_only, free);
            check.map(|check| serde_json::to_value(check).unwrap()["detail"].to_string())
        };
        assert!(said(true, u64::MAX).unwrap().contains("read only"));
        assert!(said(false, ROOM - 1).unwrap().contains("no space is left"));
        assert_eq!(said(false, ROOM), None);
    }
}
