//! From a link to a proven key.

use crate::challenge::OpenChallenge;
use crate::devices::{ProofCheck, ShownProof};
use crate::key::PublicKey;
use crate::{GuestId, JoinError, guest_text};

/// Somebody who has shown the secret of an invitation.
#[derive(Debug)]
pub struct LinkHolder {
    id: GuestId,
}

/// A checked proof that whoever has an invitation's secret also has a key.
#[derive(Debug)]
pub struct GuestProof {
    pub(super) id: GuestId,
    pub(super) public_key: PublicKey,
}

impl LinkHolder {
    pub(super) fn new(id: GuestId) -> Self {
        Self { id }
    }

    /// Checks that the key is at hand. Takes no lock: it takes longer than all the rest together.
    ///
    /// # Errors
    /// [`JoinError::WrongAudience`] or [`JoinError::BadSignature`].
    #[expect(clippy::needless_pass_by_value, reason = "a challenge is read for one proof")]
    pub fn prove(
        self,
        public_key: PublicKey,
        challenge: OpenChallenge,
        shown: ShownProof<'_>,
        check: ProofCheck<'_>,
    ) -> Result<GuestProof, JoinError> {
        if !(check.accepts)(shown.audience) {
            return Err(JoinError::WrongAudience);
        }
        let text = guest_text(&challenge.text, shown.audience, self.id);
        if !check
            .verifier
            .verify(public_key.as_bytes(), text.as_bytes(), shown.signature)
        {
            return Err(JoinError::BadSignature);
        }
        Ok(GuestProof {
            id: self.id,
            public_key,
        })
    }
}
