//! `/v1/devices` and below.

mod revoke;
