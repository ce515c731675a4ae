//! What the authority issues that the user's own devices were told to trust.

use std::sync::Arc;

use certs::{Authority, CertsError, Source, UnixTime};
use rustls::pki_types::CertificateDer;

use super::{Certificates, Held};

impl Certificates {
    /// Makes an authority for the daemon's names where there is none that is good for all of them, and shows what it issues from
    /// the next handshake on; says whether it is another one than before, so that devices have to be told.
    ///
    /// # Errors
    /// When it cannot be made or kept; then nothing changed.
    pub(crate) fn trust(&self, now: UnixTime) -> Result<bool, CertsError> {
        let _changing = self.changing();
        if self.is_trusted(now) {
            return Ok(false);
        }
        let names = self.held().names.clone();
        let made = Authority::make(&self.keys, &self.instance, &names, now)?;
        let mut held = self.held();
        held.authority = Some(made);
        self.resolver.serve(Source::Trusted, None);
        self.issue(&held, now);
        Ok(true)
    }

    /// Whether there is an authority that is good for all of the daemon's names.
    pub(crate) fn is_trusted(&self, now: UnixTime) -> bool {
        self.held().is_trusted(now)
    }

    /// Forgets the authority; says whether there was one.
    ///
    /// # Errors
    /// When its file cannot be removed; then nothing changed.
    pub(crate) fn distrust(&self) -> Result<bool, CertsError> {
        let _changing = self.changing();
        Authority::forget(&self.keys)?;
        let mut held = self.held();
        self.resolver.serve(Source::Trusted, None);
        Ok(held.authority.take().is_some())
    }

    /// The root that devices are told to trust.
    pub(crate) fn root(&self) -> Option<CertificateDer<'static>> {
        self.held()
            .authority
            .as_ref()
            .map(|authority| authority.root().clone())
    }

    /// Has the authority issue a leaf, where there is one, and what it issued before is due or for other names.
    pub(super) fn issue(&self, held: &Held, now: UnixTime) {
        let Some(authority) = &held.authority else { return };
        let present = self.resolver.from_source(Source::Trusted);
        let wanted = authority.covered(&held.names);
        let is_last = present
            .as_ref()
            .is_some_and(|pair| pair.not_after == authority.not_after() && pair.is_good(now));
        if present.is_some_and(|pair| pair.names == wanted && (is_last || !pair.is_due(now))) {
            return;
        }
        let issued = authority.issue(&held.identity, &wanted, now);
        if let Err(error) = &issued {
            tracing::warn!(%error, "the authority that devices trust issues nothing: `transom certs trust` makes another");
        }
        self.resolver.serve(Source::Trusted, issued.ok().map(Arc::new));
    }
}

impl Held {
    fn is_trusted(&self, now: UnixTime) -> bool {
        let authority = self.authority.as_ref();
        authority.is_some_and(|authority| authority.is_good_for(&self.names, now))
    }
}
