//! The event stream, `GET /v1/events?after=`.

use pairing::{DeviceId, Role};
use serde::{Deserialize, Serialize};

use crate::sessions::Session;

/// The query of the event stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// The last sequence number that the client has seen. A guest's numbers are of one stream each: its next one begins anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// An ordered fact: the server-sent event's `event` is the kind, its `data` this object, its `id` the sequence number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "nearly every event is the large one")]
pub enum Event {
    /// Events were missed: read the state again, then go on from here.
    Gap,
    /// A session is new or has changed: its whole state.
    Session {
        /// The session as it is now.
        session: Session,
    },
    /// A session is gone.
    SessionRemoved {
        /// The session.
        id: String,
    },
    /// A device was paired or added; every other device is told.
    DevicePaired {
        /// The device.
        #[cfg_attr(feature = "ts", ts(type = "string"))]
        #[cfg_attr(feature = "schema", schemars(with = "crate::schema::DeviceId"))]
        device_id: DeviceId,
        /// What it is called.
        label: String,
        /// What it may do.
        #[cfg_attr(feature = "ts", ts(type = "\"viewer\" | \"operator\" | \"metrics\""))]
        #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Role"))]
        role: Role,
    },
}

impl Event {
    /// The name in the `event` field of the stream.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Session { .. } => "session",
            Self::SessionRemoved { .. } => "session_removed",
            Self::DevicePaired { .. } => "device_paired",
        }
    }
}
