//! Who may come in, and what they may do: devices, offers, pairing requests, codes, tokens, roles, scopes and permits.
//!
//! Pure: no IO, no clock, no generator of random numbers. Time is a [`UnixMillis`] argument, by [`Latest`]; randomness a
//! `&mut impl CryptoRng`, and checking a signature is the trait [`VerifySignature`]. Nothing here knows HTTP, a disk
//! or a terminal. Whoever embeds it keeps [`Authority`] and [`Devices`] behind a lock of their own and stores what
//! they hand out.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod access;
mod audience;
mod authority;
mod challenge;
mod code;
mod device;
mod devices;
mod error;
mod family;
mod guests;
mod holder;
mod id;
mod key;
mod label;
mod limits;
mod login;
pub mod marker;
mod offer;
mod permit;
mod principal;
mod proof;
mod proofs;
mod request;
mod role;
mod scope;
mod secret;
mod standing;
mod tailnet;
mod time;
mod token;
mod token_key;
mod view;

#[cfg(test)]
mod testing;

pub use audience::{Audience, MalformedAudience, Origin};
pub use authority::{
    Approved, Authority, Commit, Exchange, ExchangeCheck, Exchanged, NewRequest, OfferClaim, Requested,
};
pub use challenge::{Challenge, Generation, OpenChallenge};
pub use code::{CodeInput, MalformedCode, PairingCode};
pub use device::{ByHand, Device, EndCause, LivesTooLong, Tombstone};
pub use devices::{
    Binding, Changed, DeviceChange, Devices, ProofCheck, Renewal, Revoked, ShownProof, TokenHolder,
};
pub use error::{
    ApproveError, AuthError, ChallengeError, ChangeError, CommitError, EndGuestError, ExchangeError, Fault,
    FindError, InviteError, JoinError, OfferError, PollError, PrefixError, ProofError, RejectError,
    RequestError, RevealError, RevokeError, UnknownDevice,
};
pub use family::Family;
pub use guests::{
    EndedGuest, GuestEnd, GuestKey, GuestPhase, GuestProof, GuestRecord, Guests, Invitation, Invited, Joined,
    LinkHolder, NotOpened, Refusal, Sight,
};
pub use holder::{Holders, KeyHolder};
pub use id::{AccessId, DeviceId, GuestId, MalformedId, OfferId, RequestId, ResourceId};
pub use key::{Commitment, MalformedKey, Nonce, PublicKey, VerifySignature};
pub use label::{Label, MalformedLabel, is_invisible};
pub use limits::{ACCESS_TTL, BY_HAND, GUEST, PairingLimits};
pub use login::{Login, MalformedLogin};
pub use marker::{Manage, View, Write};
pub use offer::OfferTerms;
pub use permit::{Authenticated, Denied, Permit, PermitScope};
pub use principal::Principal;
pub use proof::{ExchangeNonce, guest_text, pair_text, proof_text};
pub use proofs::{Claimed, Granted, Place, Proof, Proofs};
pub use request::{ApproveTerms, Grant, RejectCause, RequestPhase};
pub use role::{Role, UnknownRole};
pub use scope::Scope;
pub use secret::{InviteSecret, OfferSecret};
pub use standing::{Epoch, Hold, Standing};
pub use tailnet::TailnetIdentity;
pub use time::{Clocks, Latest, UnixMillis};
pub use token::{
    AccessToken, DeviceToken, GuestToken, MalformedToken, RequestSecret, Token, TokenHash, TokenId, TokenKind,
};
pub use token_key::{TokenKey, TokenKeyId};
pub use view::{OfferPhase, OfferView, PollAnswer, PollKind, PollStatus, RequestView};
