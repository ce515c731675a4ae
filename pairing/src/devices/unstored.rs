//! Ends that could not be stored: they are kept until they are.

use alloc::vec::Vec;

use super::{Devices, Revoked};

impl Devices {
    /// Notes that an end could not be stored, so that it can be made again before a restart brings the device back.
    pub fn end_was_not_stored(&mut self, revoked: Revoked) {
        self.unstored.insert(revoked.device.id, revoked);
    }

    /// The ends that are still to be stored. They are the caller's now: what fails again is noted again.
    pub fn take_unstored(&mut self) -> Vec<Revoked> {
        core::mem::take(&mut self.unstored).into_values().collect()
    }
}
