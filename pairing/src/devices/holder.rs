//! Who shows a device token, and what that alone is good for.

use crate::challenge::OpenChallenge;
use crate::key::{PublicKey, VerifySignature};
use crate::proofs::{Place, Proof};
use crate::{
    Audience, AuthError, Authenticated, Device, GuestId, KeyHolder, Login, ProofError, TailnetIdentity,
    guests, proof_text,
};

/// Somebody who has shown the token of a device or guest that lives. Where it is bound to a key that opens nothing by itself.
#[derive(Debug)]
pub struct TokenHolder {
    id: KeyHolder,
    public_key: Option<PublicKey>,
    bound: Bound,
    pub(super) authenticated: Authenticated,
}

/// From where the holder may come.
#[derive(Debug)]
enum Bound {
    /// A device: from its node, if it is bound to one.
    Node {
        tailnet: Option<TailnetIdentity>,
        any_path: bool,
        /// Whether it may bind itself to another node.
        rebinds: bool,
    },
    /// A guest: as the user whom its invitation names, if it does.
    Login(Option<Login>),
}

/// What a device shows besides its token.
#[derive(Clone, Copy, Debug)]
pub struct ShownProof<'a> {
    /// Whom it believes to be talking to.
    pub audience: &'a Audience,
    /// By its key over [`proof_text`].
    pub signature: &'a [u8],
}

/// By what a proof is checked.
#[derive(Clone, Copy)]
pub struct ProofCheck<'a> {
    /// Checks the signature.
    pub verifier: &'a dyn VerifySignature,
    /// Whether an audience is this daemon: its pin, or one of its own origins.
    pub accepts: &'a dyn Fn(&Audience) -> bool,
}

impl TokenHolder {
    /// `rebinds` says whether it may bind itself to another node.
    pub(super) fn of_device(device: &Device, rebinds: bool, authenticated: Authenticated) -> Self {
        Self {
            id: device.id.into(),
            public_key: device.public_key,
            bound: Bound::Node {
                tailnet: device.tailnet.clone(),
                any_path: device.any_path,
                rebinds,
            },
            authenticated,
        }
    }

    /// A guest who has shown its token.
    pub(crate) fn of_guest(
        id: GuestId,
        public_key: PublicKey,
        login: Option<Login>,
        authenticated: Authenticated,
    ) -> Self {
        Self {
            id: id.into(),
            public_key: Some(public_key),
            bound: Bound::Login(login),
            authenticated,
        }
    }

    /// Whose token it is.
    #[must_use]
    pub fn id(&self) -> KeyHolder {
        self.id
    }

    /// What the token opens alone, shown by a peer of whom the tailnet says `from`.
    ///
    /// # Errors
    /// Where it may not come from there; else [`AuthError::ProofRequired`] of one with a key.
    pub fn as_bearer(self, from: Option<&TailnetIdentity>) -> Result<Authenticated, AuthError> {
        // First, so that a key-bound token from elsewhere is refused, and written down, as what it is.
        self.admits(from)?;
        if self.public_key.is_some() {
            return Err(AuthError::ProofRequired);
        }
        Ok(self.authenticated)
    }

    /// The node to which a proof from there would bind the device: none unless the owner lets it bind itself anew, and none of
    /// the one that it is bound to.
    #[must_use]
    pub fn rebinds_to<'a>(&self, from: Option<&'a TailnetIdentity>) -> Option<&'a TailnetIdentity> {
        let Bound::Node {
            tailnet,
            rebinds: true,
            ..
        } = &self.bound
        else {
            return None;
        };
        let is_there = |from: &TailnetIdentity| tailnet.as_ref().is_some_and(|bound| bound.is_same(from));
        from.filter(|from| !is_there(from))
    }

    /// Checks a proof of possession. What comes of it is good for one access token.
    ///
    /// # Errors
    /// See [`ProofError`].
    pub fn prove(
        self,
        challenge: OpenChallenge,
        shown: ShownProof<'_>,
        check: ProofCheck<'_>,
        place: &Place<'_>,
    ) -> Result<Proof, ProofError> {
        if self.public_key.is_some() {
            self.admits(place.tailnet)?;
        }
        self.prove_elsewhere(challenge, shown, check, place)
    }

    /// The same wherever it comes from. Of a device that may bind itself to another node: until it has, what comes of the proof
    /// opens nothing there.
    ///
    /// # Errors
    /// See [`ProofError`].
    pub fn prove_elsewhere(
        self,
        challenge: OpenChallenge,
        shown: ShownProof<'_>,
        check: ProofCheck<'_>,
        place: &Place<'_>,
    ) -> Result<Proof, ProofError> {
        let public_key = self.public_key.ok_or(ProofError::NoKey)?;
        if !(check.accepts)(shown.audience) {
            return Err(ProofError::WrongAudience);
        }
        let text = proof_text(&challenge.text, shown.audience, self.id);
        if !check
            .verifier
            .verify(public_key.as_bytes(), text.as_bytes(), shown.signature)
        {
            return Err(ProofError::BadSignature);
        }
        Ok(Proof {
            holder: self.id,
            node: place.tailnet.filter(|_| self.bound.is_somewhere()).cloned(),
            authenticated: self.authenticated,
            challenge,
        })
    }

    fn admits(&self, from: Option<&TailnetIdentity>) -> Result<(), AuthError> {
        match &self.bound {
            Bound::Node {
                tailnet, any_path, ..
            } => admits(tailnet.as_ref(), *any_path, from),
            Bound::Login(login) => guests::admits(login.as_ref(), from),
        }
    }
}

impl Bound {
    /// Whether what was proven on one node is good on that alone.
    fn is_somewhere(&self) -> bool {
        match self {
            Self::Node { tailnet, .. } => tailnet.is_some(),
            Self::Login(login) => login.is_some(),
        }
    }
}

/// Whether a device that is bound to `tailnet` may come from a peer of whom the tailnet says `from`. One that is bound to no
/// node may come from anywhere. `any_path` forgives a listener that cannot say, never a node that is another.
pub(crate) fn admits(
    tailnet: Option<&TailnetIdentity>,
    any_path: bool,
    from: Option<&TailnetIdentity>,
) -> Result<(), AuthError> {
    match (tailnet, from) {
        (None, _) => Ok(()),
        (Some(bound), Some(seen)) if bound.is_same(seen) => Ok(()),
        (Some(_), Some(_)) => Err(AuthError::WrongNode),
        (Some(_), None) if any_path => Ok(()),
        (Some(_), None) => Err(AuthError::NodeUnknown),
    }
}
