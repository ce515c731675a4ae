//! Descriptors that are waited for.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the runtime.
#[expect(
    unsafe_code,
    reason = "tokio has no safe constructor for a type that it cannot check"
)]
pub(crate) fn watch(descriptor: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and the same descriptor as long as it lives, and nothing in this crate takes it
    // out of an `AsyncFd` or forgets one.
    let watched = unsafe { AsyncFd::register_with_interest(descriptor, interest) };
    watched.map_err(io::Error::from)
}

/// Registers a descriptor that others use besides who waits for it.
#[expect(
    unsafe_code,
    reason = "tokio has no safe constructor for a type that it cannot check"
)]
pub(crate) fn watch_shared(
    descriptor: Arc<OwnedFd>,
    interest: Interest,
) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: as above; an `Arc` keeps its `OwnedFd` open, and the same, as long as the `AsyncFd` has it.
    let watched = unsafe { AsyncFd::register_with_interest(descriptor, interest) };
    watched.map_err(io::Error::from)
}
