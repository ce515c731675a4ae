//! Another identity key, on purpose.

use std::sync::Arc;

use certs::{CertsError, Identity, Source, SpkiPin, UnixTime};

use super::Certificates;

impl Certificates {
    /// The pin of the key that comes next, if one was made.
    ///
    /// # Errors
    /// When its file is not as it must be.
    pub(crate) fn next_pin(&self) -> Result<Option<SpkiPin>, CertsError> {
        Ok(Identity::load_next(&self.keys)?.map(|next| next.pin()))
    }

    /// Makes the key that comes next, if there is none, and says its pin.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub(crate) fn make_next(&self) -> Result<SpkiPin, CertsError> {
        // Under the lock: a rotation must not take the key away that is about to be announced.
        let _changing = self.changing();
        Ok(Identity::make_next(&self.keys)?.pin())
    }

    /// Puts the key that comes next, made now where there is none, in the place of this one, and shows it from the next handshake
    /// on; says its pin and the former one. Whatever goes by the pin follows in `follow`, before anybody is shown the key.
    ///
    /// # Errors
    /// When it cannot be made or kept: then the former one goes on.
    pub(crate) fn rotate(
        &self,
        now: UnixTime,
        follow: impl FnOnce(SpkiPin),
    ) -> Result<(SpkiPin, SpkiPin), CertsError> {
        let _changing = self.changing();
        let names = self.held().names.clone();
        // Before the key takes its place: what follows that must not fail.
        let made = Identity::make_next(&self.keys)?.certificate(&names, now)?;
        let identity = Identity::rotate(&self.keys)?;
        let kept = identity.kept_certificate(&self.keys, &names, now);
        let leaf = kept.unwrap_or_else(|error| {
            tracing::warn!(%error, "the new certificate could not be kept: a restart makes another");
            made
        });
        let mut held = self.held();
        let (pin, former) = (identity.pin(), held.identity.pin());
        held.identity = Arc::new(identity);
        follow(pin);
        self.resolver.swap(leaf.clone());
        held.leaf = leaf;
        self.resolver.serve(Source::Trusted, None);
        self.issue(&held, now);
        drop(held);
        self.changed.notify_one();
        Ok((pin, former))
    }
}
