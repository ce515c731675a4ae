//! Remote daemons, and this command as a device of theirs.
//!
//! A remote is reached over TLS with the one key that was agreed to. What makes this machine its device, a key and a token,
//! is in a private file per remote; access tokens are in memory only.

mod kept;
mod store;
mod words;

pub(crate) use self::{
    kept::{device, device_by, through},
    store::{Record, Store},
    words::explained,
};

/// What to do where a remote does not answer.
pub(crate) const AWAY: &str = "see that the daemon runs there, that the way is open (the tailnet, or the tunnel, as with \
`ssh -N -L 7443:127.0.0.1:7443`), and that the port is right; `transom remote list` shows the address";

/// What to do where a remote takes too long.
pub(crate) const SLOW: &str = "it may be busy or switched off, or the way to it slow: ask again in a moment";

/// What to do where a remote shows another key.
pub(crate) const CHANGED: &str = "ask its owner for the pin that `transom status` shows there. If it is the new one, \
remove this remote with `transom remote rm --forget` and add it again; if not, somebody stands between: do not go on";
