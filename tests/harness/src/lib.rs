//! What the tests drive: real daemons in folders of their own, and those who talk to them over real sockets.
//!
//! [`TestDaemon`] runs the binary; [`Owner`] speaks to its Unix socket, [`Device`] pairs and speaks TLS, and
//! [`Attached`] follows a session. Every wait ends by an event, or fails after [`PATIENCE`].

mod answer;
mod attached;
mod authority;
mod bad_link;
mod binary;
mod cutting_proxy;
mod daemon;
mod device;
mod elsewhere;
mod events;
mod guest;
mod holding_proxy;
mod inside;
mod own_network;
mod owner;
mod pacer;
mod pairing;
mod patience;
mod process;
mod raw;
mod raw_http2;
mod relay;
mod running;
mod scanner;
mod sshd;
mod stamping_proxy;
mod tailscaled;
mod terminal_of;
mod transcript;
mod tunnel;
mod wall_clock;

pub use answer::Answer;
pub use attached::{Attached, Unattached};
pub use authority::{Authority, Files, accepts, shown};
pub use bad_link::BadLink;
pub use binary::{another_build, binary, example};
pub use cutting_proxy::CuttingProxy;
pub use daemon::{DaemonOptions, TestDaemon};
pub use device::{Device, TlsClient};
pub use elsewhere::Elsewhere;
pub use events::EventReader;
pub use guest::{Guest, Invitation};
pub use holding_proxy::HoldingProxy;
pub use inside::{Connection, Inside, Lent};
pub use own_network::in_own_network;
pub use owner::Owner;
pub use pacer::{Gate, Pacer};
pub use pairing::{DeviceKey, Pairing};
pub use patience::{PATIENCE, until, within};
pub use process::{Finished, descendants, open_files, raise_descriptors, resident_kib, unread};
pub use raw::{RawRequest, tls};
pub use raw_http2::{Frame, RawHttp2};
pub use relay::Relay;
pub use running::Running;
pub use scanner::scan;
pub use sshd::{KnownHost, Sshd, SshdOptions};
pub use stamping_proxy::StampingProxy;
pub use tailscaled::Tailscaled;
pub use terminal_of::{Left, TerminalOf};
pub use transcript::Transcript;
pub use tunnel::Tunnel;
pub use wall_clock::WallClock;
