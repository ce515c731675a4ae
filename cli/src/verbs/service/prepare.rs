//! `transom service prepare`: what the socket units ask before systemd makes their sockets.

use std::{
    fs, io,
    os::unix::{
        fs::{FileTypeExt, MetadataExt},
        net::UnixStream,
    },
    path::PathBuf,
};

use crate::{exit, failure::Failure};

/// Arguments of `service prepare`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the socket is to be
    path: PathBuf,
}

/// Removes our own socket that nobody listens on. Only ECONNREFUSED proves that, for a socket of any type: systemd would remove
/// one of a process that lives as well.
pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let path = &args.path;
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(exit::OK),
        found => found?,
    };
    let is_ours = found.file_type().is_socket() && found.uid() == rustix::process::geteuid().as_raw();
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if is_ours && UnixStream::connect(path).is_err_and(refused) {
        fs::remove_file(path)?;
        return Ok(exit::OK);
    }
    Err(Failure::failed(
        "socket_in_use",
        format!(
            "{} is in use: a daemon or a keeper runs that is not the service's",
            path.display()
        ),
        "`transom shutdown` ends the daemon, and its sessions go on; a keeper ends with its last session",
    ))
}
