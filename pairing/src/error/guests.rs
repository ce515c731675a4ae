//! What can go wrong with guests.

use super::Fault;

/// Why nobody was invited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InviteError {
    /// There are as many as there may be.
    #[error("there are too many invitations and guests; end some of them first")]
    TooMany,
    /// An invitation says to what.
    #[error("an invitation names what may be seen")]
    Nothing,
    /// Whoever is trusted for so long is no guest.
    #[error("a guest stays for at most {} days; pair a device for more", crate::GUEST.as_secs() / 86_400)]
    TooLong,
}

impl InviteError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooMany => "too_many_guests",
            Self::Nothing => "invites_to_nothing",
            Self::TooLong => "stays_too_long",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::TooMany => Fault::Limit,
            Self::Nothing | Self::TooLong => Fault::Malformed,
        }
    }
}

/// Why an invitation was not exchanged for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// No invitation has this id and secret. An unknown id and a wrong secret are not told apart.
    #[error("there is no such invitation, or not any more")]
    Unknown,
    /// Somebody else's key has it.
    #[error("this link was used already; each opens once")]
    Used,
    /// It is for somebody else of the tailnet.
    #[error(
        "this link is for somebody else: it was made for a login, and the tailnet says that you have another"
    )]
    WrongLogin,
    /// It is for a user of a tailnet, and nobody can say whose this is.
    #[error("this link was made for a login of a tailnet, and this way in does not know who comes")]
    LoginUnknown,
    /// The owner ended it.
    #[error("this invitation was ended")]
    Ended,
    /// Its time is over.
    #[error("this invitation's time is over")]
    Expired,
    /// Wrong secrets were shown for it.
    #[error("somebody guessed at this invitation, so it was ended")]
    Burned,
    /// The audience is not this daemon.
    #[error("the audience is neither this daemon's pin nor one of its origins")]
    WrongAudience,
    /// The signature is not by the key that came with it.
    #[error("the signature does not verify")]
    BadSignature,
}

impl JoinError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown_invitation",
            Self::Used => "invitation_used",
            Self::WrongLogin => "wrong_login",
            Self::LoginUnknown => "unknown_login",
            Self::Ended => "invitation_ended",
            Self::Expired => "invitation_expired",
            Self::Burned => "invitation_burned",
            Self::WrongAudience => "wrong_audience",
            Self::BadSignature => "bad_signature",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Unknown | Self::WrongAudience | Self::BadSignature => Fault::Credential,
            Self::WrongLogin | Self::LoginUnknown => Fault::Permission,
            Self::Used | Self::Ended | Self::Expired | Self::Burned => Fault::Timing,
        }
    }
}

/// Why a guest was not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndGuestError {
    /// There is no such guest, or it has ended.
    #[error("there is no such guest, or not any more")]
    UnknownGuest,
    /// A guest may end itself, and devices with `can_revoke` any.
    #[error("only the owner, or a device that may revoke, may end this guest")]
    NotPermitted,
}

impl EndGuestError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownGuest => "unknown_guest",
            Self::NotPermitted => "not_permitted",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::UnknownGuest => Fault::Unknown,
            Self::NotPermitted => Fault::Permission,
        }
    }
}
