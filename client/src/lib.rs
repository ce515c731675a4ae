//! What a program needs to use a daemon: a way to it, pairing, requests, attachments and events.
//!
//! There are two ways. [`Client::at`] goes over the Unix socket, as the daemon's owner. [`Client::of`] goes over TLS to the one
//! key that was agreed to, as a [`Device`] that was paired before:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use client::{Client, Device, Newcomer, Unstored, Verdict, protocol::sessions::Session};
//!
//! # async fn pair(link: &str) -> Result<(), Box<dyn std::error::Error>> {
//! // The link is what `transom pair` shows. The person compares these digits with those that are shown there.
//! let newcomer = Newcomer::by(link.parse()?, "my program").await?;
//! println!("{}", newcomer.code().grouped());
//! let Verdict::Approved(nonce) = newcomer.wait().await? else {
//!     return Err("nobody let this in".into());
//! };
//! let mut credential = newcomer.exchange(&nonce).await?;
//! // Keep it now, as by `serde_json::to_vec(&credential)` in a file of mode 0600: it is this device.
//! newcomer.commit(&mut credential).await?;
//!
//! let client = Client::of(Device::new(credential, Arc::new(Unstored))?);
//! let sessions: Vec<Session> = client.get("/sessions").await?;
//! # Ok(())
//! # }
//! ```
//!
//! What is asked and answered are the types of [`protocol`]; paths are those of the API without `/v1`. A request of a device proves
//! its key where that is asked for, and its access token is renewed without a word. [`attachment::Attachment`] follows a session
//! over as many connections as that takes, and types every key once; [`events::follow`] tells what changes.
//!
//! The crate prints nothing, asks nobody, and keeps nothing on the disk: what must be kept goes to a [`Store`].

mod access;
mod address;
pub mod attachment;
mod device;
mod error;
pub mod events;
mod https;
mod key;
mod newcomer;
mod patience;
mod place;
mod random;
mod requests;
mod store;
mod tunnel;
mod way;

pub use certs::SpkiPin;
pub use protocol;

pub use self::{
    address::{Address, Link, Malformed},
    device::Device,
    error::{BoxError, Error, MayPass, TunnelError, Unknown, tls_error},
    https::{Https, first_sight},
    newcomer::{Newcomer, Verdict},
    patience::Patience,
    place::Place,
    requests::{Client, Streamed, with_query},
    store::{Change, Credential, Store, Unstored},
    tunnel::Tunnel,
    way::install_crypto,
};
