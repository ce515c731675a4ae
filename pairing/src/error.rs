//! Errors: one closed enum for each area. They know no HTTP; they have a stable code and say who is at fault.

mod access;
mod devices;
mod guests;
mod pairing;

pub use access::{ChallengeError, ProofError};
pub use devices::{AuthError, ChangeError, PrefixError, RevokeError, UnknownDevice};
pub use guests::{EndGuestError, InviteError, JoinError};
pub use pairing::{
    ApproveError, CommitError, ExchangeError, FindError, OfferError, PollError, RejectError, RequestError,
    RevealError,
};

/// Who is at fault, and in what way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What was sent cannot be read, or contradicts itself.
    Malformed,
    /// The sender did not prove to be who it says.
    Credential,
    /// The sender is known and may not do that.
    Permission,
    /// What was named does not exist.
    Unknown,
    /// It comes too early, too late or twice.
    Timing,
    /// There is too much of it.
    Limit,
}
