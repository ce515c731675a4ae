//! Terminal sessions: PTY, journal, screen, snapshots and attachments.
//!
//! A [`Session`] is a program on a PTY, the output it wrote since it began (a journal, bounded), and the
//! screen that this output draws. It lives with nobody attached; an [`Attachment`] is a cursor into its output
//! and costs nothing while it stands still; a [`Writer`] types into it as long as its [`Gate`] lets it.
//!
//! This crate knows no HTTP, no device and no permission: what may be done is decided above it, and reaches it
//! as a [`Gate`] only. Widths of characters are those of the `unicode-width` tables, for everybody who
//! watches.

mod attachment;
mod checkpoint;
mod descriptor;
mod drain;
pub mod fuzzing;
mod gate;
mod id;
mod journal;
mod keeper;
mod offset;
mod passed;
mod process;
mod pty;
mod said;
mod scanner;
mod screen;
mod session;
mod size;
mod snapshot;
mod spawn;
mod tail;

pub use attachment::{Acks, Attachment, Mode, Start, Update, skipped_replays};
pub use gate::Gate;
pub use id::{ParseSessionIdError, SessionId};
pub use journal::UnixMs;
pub use keeper::{Held, Keeper, KeeperError, KeeperOptions, Listed, Listing, Origin, keep};
pub use offset::Offset;
pub use passed::passed_sockets;
pub use process::{Exit, PeerProcess, take_short_turns};
pub use said::{QUIET_MS, Said, Word};
pub use screen::{Line, Numbering, Screen, Signal, Snapshot, screen};
pub use session::{
    Changes, ClientKey, Ended, Event, Input, InputError, Last, Options, Output, Recorded, Recording, Session,
    SessionState, Writer, stored_last,
};
pub use size::Size;
pub use spawn::{Command, DescriptorLimit, SpawnError, program_environment};
pub use tail::stored_bytes;
