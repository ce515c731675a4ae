//! The pin by which native clients know the daemon, the one that comes next, and which device knows which.

use std::collections::HashMap;

use certs::SpkiPin;
use pairing::{Audience, Authority, DeviceId};
use protocol::certificates::KnowsBy;

use crate::access::Access;

/// In memory only: what devices know is heard again whenever they come.
pub(crate) struct Pins {
    current: SpkiPin,
    next: Option<SpkiPin>,
    /// Of paired devices only: written while those are held, or for one that has just ended.
    known: HashMap<DeviceId, KnowsBy>,
}

impl Pins {
    pub(crate) fn new(current: SpkiPin) -> Self {
        Self {
            current,
            next: None,
            known: HashMap::new(),
        }
    }
}

impl Access {
    /// The pin of the identity key.
    pub fn pin(&self) -> SpkiPin {
        self.pins().current
    }

    /// The pin that was announced to come next.
    pub fn next_pin(&self) -> Option<SpkiPin> {
        self.pins().next
    }

    /// Announces the pin that comes next to each device that proves its key to the present one.
    pub fn announce(&self, next: SpkiPin) {
        let mut pins = self.pins();
        if pins.next == Some(next) {
            return;
        }
        pins.next = Some(next);
        for known in pins
            .known
            .values_mut()
            .filter(|known| **known == KnowsBy::NextPin)
        {
            *known = KnowsBy::Pin;
        }
    }

    /// Another key is served from now on. What was offered and requested ends, and what is being committed: all were about the
    /// former one.
    pub fn rotate_pin(&self, pin: SpkiPin) {
        {
            // Under its lock no code is made by the one pin and no link by the other.
            let mut authority = self.authority();
            let mut pins = self.pins();
            pins.current = pin;
            pins.next = None;
            for known in pins.known.values_mut() {
                *known = match *known {
                    KnowsBy::NextPin => KnowsBy::Pin,
                    // Whoever did not take the next one knows a daemon that is no more.
                    KnowsBy::Pin | KnowsBy::FormerPin => KnowsBy::FormerPin,
                    other @ (KnowsBy::Name | KnowsBy::Unknown) => other,
                };
            }
            self.lockdown.end_pairings(&mut authority, Authority::rotate_key);
        }
        self.pairing_changed.notify_waiters();
    }

    /// By what each device with a key knows the daemon, as far as that was heard in this life: its id, its label, and that.
    pub fn knowing(&self) -> Vec<(DeviceId, String, KnowsBy)> {
        let devices = self.devices();
        let bound = devices.iter().filter(|device| device.public_key.is_some());
        let bound: Vec<_> = bound
            .map(|device| (device.id, device.label.to_string()))
            .collect();
        drop(devices);
        let pins = self.pins();
        let by = |id: &DeviceId| pins.known.get(id).copied().unwrap_or(KnowsBy::Unknown);
        let knowing = bound.into_iter().map(|(id, label)| (id, label, by(&id)));
        knowing.collect()
    }

    /// Notes to whom a device has proven its key.
    pub(crate) fn note_audience(&self, device: DeviceId, audience: &Audience) {
        let devices = self.devices();
        if devices.get(device).is_none() {
            return;
        }
        let mut pins = self.pins();
        let by = match audience {
            Audience::Origin(_) => KnowsBy::Name,
            Audience::Pin(_) if pins.known.get(&device) == Some(&KnowsBy::NextPin) => KnowsBy::NextPin,
            Audience::Pin(_) => KnowsBy::Pin,
        };
        pins.known.insert(device, by);
    }

    /// Notes that a device has kept the pin that comes next; says whether it is that one.
    pub(crate) fn note_kept(&self, device: DeviceId, pin: SpkiPin) -> bool {
        let devices = self.devices();
        let mut pins = self.pins();
        let is_next = pins.next == Some(pin);
        if is_next && devices.get(device).is_some() {
            pins.known.insert(device, KnowsBy::NextPin);
        }
        is_next
    }
    /// Forgets what a device knows that has ended.
    pub(crate) fn forget_pins_of(&self, device: DeviceId) {
        self.pins().known.remove(&device);
    }
}

#[cfg(test)]
mod tests {
    use pairing::{Audience, Role};

    use crate::testing::TestServer;

    #[tokio::test]
    async fn what_a_device_knows_is_forgotten_with_it() {
        let server = TestServer::start().await;
        let device = server.device(Role::Viewer, false).await;
        let audience: Audience = format!("pin:{}", server.access.pin()).parse().unwrap();
        server.access.note_audience(device.id, &audience);
        assert!(server.access.pins().known.contains_key(&device.id));
        let mut owner = server.owner().await;
        let path = format!("/v1/devices/{}", device.id);
        assert_eq!(owner.delete(&path, None).await.status, 200);
        assert!(server.access.pins().known.is_empty());
        // A proof that was under way may be late.
        server.access.note_audience(device.id, &audience);
        assert!(server.access.pins().known.is_empty());
    }
}
