//! What is said of those who are let in by an invitation for a login, and of those who are not.

/// Why an invitation for a login is of no use here, or of no more use than it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Uninvited {
    /// The guest was invited by login, and this is somebody else.
    #[error("this guest was invited by login, and the tailnet says that you are somebody else")]
    WrongLogin,
    /// The guest was invited by login, and the listener knows none.
    #[error("this guest was invited by login, and this way in does not know who comes")]
    UnknownLogin,
    /// The peer is let in as a guest only.
    #[error("you are let in by an invitation, which makes you a guest and nothing else")]
    GuestsOnly,
    /// Nobody could come by login.
    #[error("this daemon knows no tailnet, so nobody could open a link that is made for a login")]
    NoTailnet,
}

impl Uninvited {
    /// Status and code.
    pub(super) const fn row(self) -> (u16, &'static str) {
        match self {
            Self::WrongLogin => (403, "wrong_login"),
            Self::UnknownLogin => (403, "unknown_login"),
            Self::GuestsOnly => (403, "guests_only"),
            Self::NoTailnet => (409, "no_tailnet"),
        }
    }

    /// What to do now.
    pub(super) const fn hint(self) -> &'static str {
        match self {
            Self::WrongLogin => "come as who was invited, or ask the owner for a link of your own",
            Self::UnknownLogin => "reach the daemon over its tailnet address",
            Self::GuestsOnly => "ask the owner to list you in tailnet.allow, and to pair your device",
            Self::NoTailnet => "invite without --login, and give the link only to whom it is for",
        }
    }
}
