//! The remotes that this machine is a device of, one private file for each.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use ::client::{Address, Change, Credential};
use certs::{SpkiPin, files};
use jiff::Timestamp;
use pairing::{DeviceId, RequestId, Role};
use protocol::WireSecret;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::{client, failure::Failure, ssh::Far};

/// All that makes this machine a device of a remote.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// The form of this file.
    version: u32,
    /// Where the daemon listens, as seen from here, or from its own machine where the way leads there over SSH.
    pub(crate) address: Address,
    /// The way there, if it is over SSH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ssh: Option<Far>,
    /// The key that it must show, `sha256/<base64url>`.
    #[serde(with = "as_text")]
    pub(crate) pin: SpkiPin,
    /// The daemon's lasting id.
    pub(crate) instance: String,
    /// This machine, as the daemon knows it.
    pub(crate) device_id: DeviceId,
    /// What the daemon calls this machine.
    pub(crate) label: String,
    /// What this machine may do there.
    pub(crate) role: Role,
    /// When it was paired.
    pub(crate) added_at: Timestamp,
    /// The device token.
    pub(crate) token: WireSecret,
    /// The device key: PKCS#8 in base64url.
    pub(crate) key: WireSecret,
    /// The request whose commit the daemon has not confirmed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uncommitted: Option<RequestId>,
    /// The pin that it will show next, as it said itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_pin: Option<String>,
}

impl Record {
    /// The newest form of the file that this version knows: the one with a way over SSH. Others are written in the first, which
    /// older versions read.
    pub(crate) const VERSION: u32 = 2;

    /// The record of a credential, in the first form.
    pub(crate) fn of(credential: Credential, added_at: Timestamp) -> Self {
        Self {
            version: 1,
            address: credential.address,
            ssh: None,
            pin: credential.pin,
            instance: credential.instance,
            device_id: credential.device_id,
            label: credential.label,
            role: credential.role,
            added_at,
            token: credential.token,
            key: credential.key,
            uncommitted: credential.uncommitted,
            next_pin: credential.next_pin.map(|next| next.to_string()),
        }
    }

    /// What makes this machine a device.
    pub(crate) fn credential(&self) -> Credential {
        Credential {
            address: self.address.clone(),
            pin: self.pin,
            next_pin: self.next_pin(),
            instance: self.instance.clone(),
            device_id: self.device_id,
            label: self.label.clone(),
            role: self.role,
            token: self.token.clone(),
            key: self.key.clone(),
            uncommitted: self.uncommitted,
        }
    }

    /// The same with a change of its credential.
    pub(crate) fn with(self, change: &Change) -> Self {
        let mut credential = self.credential();
        change.apply(&mut credential);
        Self {
            version: self.version,
            ssh: self.ssh,
            ..Self::of(credential, self.added_at)
        }
    }

    /// The pin that the daemon will show next, if it has said so.
    pub(crate) fn next_pin(&self) -> Option<SpkiPin> {
        self.next_pin.as_ref()?.parse().ok()
    }

    /// The same with a way over SSH.
    pub(crate) fn over_ssh(self, far: Far) -> Self {
        Self {
            version: Self::VERSION,
            ssh: Some(far),
            ..self
        }
    }
}

/// The folder of the remotes.
#[derive(Clone, Debug)]
pub(crate) struct Store(PathBuf);

/// A remote's name, and what its file holds.
pub(crate) type Named = (String, Result<Record, Failure>);

/// A lock on the folder: whoever changes it holds one.
struct Lock {
    _file: File,
}

impl Store {
    /// The folder that the environment names; it need not exist.
    pub(crate) fn of_environment() -> Result<Self, Failure> {
        Ok(Self(client::paths()?.remotes()))
    }

    /// The remotes, by name; those whose file cannot be read are errors of their own.
    pub(crate) fn list(&self) -> Result<Vec<Named>, Failure> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Failure::from(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry?.file_name().into_string().ok();
            let name = name.and_then(|name| name.strip_suffix(EXTENSION).map(str::to_owned));
            names.extend(name.filter(|name| check(name).is_ok()));
        }
        names.sort();
        let read = |name: String| {
            let record = self.get(&name);
            (name, record)
        };
        Ok(names.into_iter().map(read).collect())
    }

    /// The remote of this name.
    ///
    /// # Errors
    /// There is none, or its file is not as it must be.
    pub(crate) fn get(&self, name: &str) -> Result<Record, Failure> {
        check(name)?;
        let path = self.path(name);
        let bytes = files::read(&path).map_err(|error| refused(&error))?;
        let bytes = bytes.ok_or_else(|| self.missing(name))?;
        let damaged = |why: &dyn std::fmt::Display| {
            Failure::failed(
                "damaged_remote",
                format!("{} cannot be read: {why}", path.display()),
                format!("restore it from a backup, or `transom remote rm --forget {name}` and add it again"),
            )
        };
        let version = serde_json::from_slice::<Form>(&bytes).map_err(|error| damaged(&error))?;
        if version.version > Record::VERSION {
            return Err(damaged(&"a newer version of transom wrote it"));
        }
        serde_json::from_slice(&bytes).map_err(|error| damaged(&error))
    }

    /// Refuses a name that cannot be used, or that is in use.
    pub(crate) fn check_free(&self, name: &str) -> Result<(), Failure> {
        check(name)?;
        match files::check(&self.path(name)) {
            Ok(false) => Ok(()),
            Ok(true) => Err(taken(name)),
            Err(files::FileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(refused(&error)),
        }
    }

    /// Keeps a new remote; it is on the disk when this returns.
    pub(crate) fn insert(&self, name: &str, record: &Record) -> Result<(), Failure> {
        let _lock = self.lock()?;
        self.check_free(name)?;
        files::create(&self.path(name), &written(record)).map_err(|error| refused(&error))
    }

    /// Changes what is kept of a remote, and gives what it became: in one step, so that a crash leaves the former or the new, and by
    /// what the file holds then, so that nobody else's change is undone. One that was removed meanwhile, or replaced by that of
    /// another device, is left as it is.
    pub(crate) fn change(
        &self,
        name: &str,
        device: DeviceId,
        change: impl FnOnce(Record) -> Record,
    ) -> Result<Record, Failure> {
        let _lock = self.lock()?;
        let record = self.get(name)?;
        if record.device_id != device {
            return Err(self.missing(name));
        }
        let record = change(record);
        files::overwrite(&self.path(name), &written(&record)).map_err(|error| refused(&error))?;
        Ok(record)
    }

    /// Forgets a remote, whatever its file holds.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Failure> {
        check(name)?;
        let _lock = self.lock()?;
        match fs::remove_file(self.path(name)) {
            Ok(()) => Ok(File::open(&self.0)?.sync_all()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.missing(name)),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a remote another name.
    pub(crate) fn rename(&self, name: &str, new: &str) -> Result<(), Failure> {
        let _lock = self.lock()?;
        self.get(name)?;
        self.check_free(new)?;
        files::publish(&self.path(name), &self.path(new)).map_err(|error| refused(&error))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}{EXTENSION}"))
    }

    /// Waits for its turn to change the folder; makes it where there is none.
    fn lock(&self) -> Result<Lock, Failure> {
        let state = self.0.parent().unwrap_or(Path::new("/"));
        if let Some(above) = state.parent() {
            fs::create_dir_all(above)?;
        }
        for folder in [state, &self.0] {
            files::directory(folder).map_err(|error| refused(&error))?;
        }
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.0.join(LOCK))?;
        flock(&file, FlockOperation::LockExclusive).map_err(io::Error::from)?;
        Ok(Lock { _file: file })
    }

    fn missing(&self, name: &str) -> Failure {
        let names: Vec<String> = self
            .list()
            .unwrap_or_default()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let hint = match names.is_empty() {
            true => "`transom remote add` pairs this machine with a daemon elsewhere".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        Failure::failed("unknown_remote", format!("there is no remote `{name}`"), hint)
    }
}

/// What every form of the file has.
#[derive(Deserialize)]
struct Form {
    version: u32,
}

/// Refuses what is no name for a remote: it stands in flags, hints and file names.
fn check(name: &str) -> Result<(), Failure> {
    let mut bytes = name.bytes();
    let begins = bytes.next().is_some_and(|first| first.is_ascii_alphanumeric());
    let goes_on = bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if begins && goes_on && name.len() <= LONGEST_NAME {
        return Ok(());
    }
    Err(Failure::usage(
        "a remote's name has letters, digits, and - _ . behind the first",
        "choose one such as `desk`, of at most 64 characters",
    ))
}

fn taken(name: &str) -> Failure {
    Failure::failed(
        "remote_exists",
        format!("there is a remote `{name}` already"),
        format!("choose another name (as --name where it is added), or `transom remote rm {name}` first"),
    )
}

fn refused(error: &files::FileError) -> Failure {
    Failure::failed(
        "remote_file",
        error.to_string(),
        "the files of remotes must be yours alone, folders 0700 and files 0600",
    )
}

fn written(record: &Record) -> Vec<u8> {
    serde_json::to_vec_pretty(record).expect("a record has string keys and finite numbers")
}

/// A pin as its text.
mod as_text {
    use certs::SpkiPin;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(pin: &SpkiPin, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(pin)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpkiPin, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

const EXTENSION: &str = ".json";
/// No remote has this name: it has no extension.
const LOCK: &str = "lock";
const LONGEST_NAME: usize = 64;

#[cfg(test)]
mod tests;
