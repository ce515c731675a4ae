//! Schemas of types that have none themselves: those of other crates, and those that are written by hand.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{Bytes64, WireSecret};

macro_rules! stand_ins {
    ($($(#[$docs:meta])* $name:ident: $schema:tt)*) => {$(
        $(#[$docs])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

stand_ins! {
    /// Stands for a [`Timestamp`](crate::Timestamp).
    Time: {
        "type": "string", "format": "date-time", "description": "RFC 3339, with zone.", "examples": ["2026-01-31T09:30:00Z"],
    }
    /// Stands for a [`pairing::DeviceId`].
    DeviceId: { "type": "string", "pattern": "^dev_[0-9a-f]{16}$" }
    /// Stands for a [`pairing::OfferId`].
    OfferId: { "type": "string", "pattern": "^ofr_[0-9a-f]{16}$" }
    /// Stands for a [`pairing::RequestId`].
    RequestId: { "type": "string", "pattern": "^req_[0-9a-f]{16}$" }
    /// Stands for a [`pairing::GuestId`].
    GuestId: { "type": "string", "pattern": "^gst_[0-9a-f]{16}$" }
    /// Stands for a [`pairing::Role`].
    Role: {
        "type": "string",
        "enum": ["viewer", "operator", "metrics"],
        "description": "A viewer looks, an operator types and manages too. `metrics` is for devices without a key alone.",
    }
}

impl JsonSchema for Bytes64 {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "contentEncoding": "base64url",
            "pattern": "^[A-Za-z0-9_-]*$",
            "description": "Bytes, in base64url without padding (RFC 4648, section 5).",
        })
    }
}

impl JsonSchema for WireSecret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "password",
            "description": "A secret, or a link that holds one in its fragment: told this once.",
        })
    }
}
