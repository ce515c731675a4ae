//! Back-ups: what makes this daemon the one that its devices know, in one file, and from there into place.
//!
//! A back-up is a tar archive: a manifest, the store as of one moment, the keys with a `keys/epoch` that belongs to that store, the
//! configuration, and whether it was locked down. It is encrypted with a passphrase in the format age (<https://age-encryption.org/v1>),
//! unless the owner wants it plain. Sessions, logs and the remotes of the command line are not in it.

mod archive;
mod create;
mod error;
mod restore;
mod seal;
mod swap;

pub use server::store::{Beyond, Restored, Trust};

pub(crate) use self::swap::{finish, finish_under, look};
pub use self::{
    archive::{Manifest, PartRecord},
    create::{create, create_file},
    error::BackupError,
    restore::{Restoration, RestoreOptions, check_place, restore},
    seal::{Passphrase, Source},
};
