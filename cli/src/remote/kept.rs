//! Remotes as the crate `client` uses them: the ways there, and what is kept of what it learns.

use std::sync::Arc;

use ::client::{BoxError, Change, Device, Https, Place};
use certs::SpkiPin;
use pairing::DeviceId;

use super::{Record, Store};
use crate::{failure::Failure, output, ssh::Tunnel};

/// This machine as a device of the remote of this name; nothing is connected yet.
///
/// # Errors
/// There is none, its file is not as it must be, or no tunnel can be made.
pub(crate) fn device(store: Store, name: &str) -> Result<Device, Failure> {
    let record = store.get(name)?;
    let https = match &record.ssh {
        Some(far) => through(name, Tunnel::to(far.clone())?, record.pin, record.next_pin())?,
        None => Https::with_next(name, &record.address, record.pin, record.next_pin())?,
    };
    device_by(store, name, &record, https)
}

/// The same by a client that leads there already.
///
/// # Errors
/// The key that is kept cannot be read.
pub(crate) fn device_by(store: Store, name: &str, record: &Record, https: Https) -> Result<Device, Failure> {
    let kept = Kept {
        store,
        name: name.to_owned(),
        device: record.device_id,
    };
    Ok(Device::by(https, record.credential(), Arc::new(kept))?)
}

/// A client through a tunnel; nothing is connected yet.
///
/// # Errors
/// No client can be made.
pub(crate) fn through(
    name: &str,
    tunnel: Tunnel,
    pin: SpkiPin,
    next: Option<SpkiPin>,
) -> Result<Https, Failure> {
    let place = Place::Remote {
        name: name.to_owned(),
        address: format!("{} over SSH", tunnel.far().destination),
    };
    let address = tunnel.address();
    Ok(Https::through(place, Arc::new(tunnel), &address, pin, next)?)
}

/// The file of a remote, while it is that of this device.
#[derive(Debug)]
struct Kept {
    store: Store,
    name: String,
    device: DeviceId,
}

impl ::client::Store for Kept {
    fn change(&self, change: &Change) -> Result<(), BoxError> {
        let changed = self
            .store
            .change(&self.name, self.device, |record| record.with(change));
        let Err(failure) = changed else { return Ok(()) };
        // What was asked for is done all the same, and this is tried again by the next command: so it is a warning.
        let name = &self.name;
        let what = match change {
            Change::Committed => None,
            Change::Pins { .. } => Some(format!("which key `{name}` shows")),
            Change::Known { .. } => Some(format!("what this machine is to `{name}`")),
        };
        if let (Some(what), Failure::Problem { problem, .. }) = (what, &failure) {
            output::note(&format!("{what} could not be kept: {}", problem.detail));
        }
        Err(failure.into())
    }
}
