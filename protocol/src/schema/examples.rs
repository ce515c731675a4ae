//! An example of each type that a route takes or answers.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Described;
use crate::{access, attach, audit, certificates, events, guests, pairing, sessions};

/// A value as the wire shows it, which can be read as what it is said to be.
///
/// # Panics
/// Where it cannot.
pub fn shown<T: DeserializeOwned>(value: Value) -> Value {
    if let Err(error) = serde_json::from_value::<T>(value.clone()) {
        panic!("{} is not {value}: {error}", std::any::type_name::<T>());
    }
    value
}

macro_rules! examples {
    ($($type:ty: $json:tt)*) => {$(
        impl Described for $type {
            fn example() -> Value {
                shown::<Self>(json!($json))
            }
        }
    )*};
}

examples! {
    access::Health: { "status": "ok", "version": "0.1.0", "instance": INSTANCE }
    access::WhoAmI: {
        "principal": "device", "session_id": null, "device_id": DEVICE, "label": "Ada's phone", "role": "viewer",
        "scopes": ["public", "any", "session:view", "self"], "instance": INSTANCE, "life": LIFE,
    }
    access::ChallengeMade: { "challenge": CHALLENGE }
    access::ProofOfKey: { "challenge": CHALLENGE, "audience": AUDIENCE, "signature": SIGNATURE }
    access::Proven: {
        "access_token": "tsm_acc_…", "expires_in": 900, "principal": "device", "challenge": CHALLENGE,
    }
    access::KeptPin: { "next_pin": PIN }
    access::NewDevice: { "label": "nightly job", "role": "viewer", "expires_in": 86400 }
    access::DeviceAdded: { "device_id": DEVICE, "token": "tsm_dev_…", "role": "viewer", "expires_at": LATER }
    access::DeviceRecord: {
        "id": DEVICE, "label": "Ada's phone", "role": "operator", "can_revoke": false, "any_path": false,
        "key_bound": true, "created_at": NOW, "approved_from": "192.0.2.7", "tailnet_node": null, "expires_at": null,
        "last_seen_at": LATER, "last_address": "192.0.2.7", "connections": 1,
    }
    access::DeviceSummary: { "id": DEVICE, "label": "Ada's phone", "last_seen_at": LATER }
    access::DeviceChanges: { "label": "Ada's old phone", "role": "viewer" }
    access::Rebind: { "unbind": true }
    access::NewLabel: { "label": "Ada's new phone" }
    access::Revoked: { "device_id": DEVICE, "closed": 2, "sessions": [SESSION], "elapsed_us": 1840 }
    access::Disconnected: { "device_id": DEVICE, "closed": 1 }
    access::Lockdown: {}
    access::LockedDown: { "closed": 3, "elapsed_us": 2210 }
    access::LockdownLifted: { "listeners": 1 }
    access::Shutdown: { "sessions": true }
    access::ShuttingDown: { "pid": 4117, "stopped": [SESSION] }
    access::Reload: {}
    access::Reloaded: { "changed": ["sessions.max"], "degraded": [] }
    access::Restart: {}
    access::Restarting: { "pid": 4117, "life": LIFE }
    access::Configured: { "key": "sessions.max", "value": "64", "source": "default" }
    access::Status: {
        "ready": true, "instance": INSTANCE, "life": LIFE, "version": "0.1.0", "pid": 4117, "started_at": NOW,
        "activated": false, "socket": "/home/ada/.local/state/transom/transom.sock",
        "tls": [{ "address": "0.0.0.0:7300", "pin": PIN, "names": ["desk.example"] }],
        "link_authority": "desk.example:7300", "locked_down": false,
        "degraded": [{ "kind": "names", "detail": "the certificate lacks a name" }],
        "warnings": [{ "kind": "root", "detail": "the root ends soon", "hint": "make another" }],
        "tailnet": null, "directory": "/home/ada/.local/state/transom", "web_app": true, "devices": 2, "connections": 3,
        "keeper": { "pid": 4120, "version": "0.1.0" }, "sessions_running": 1, "sessions": 2,
    }
    audit::AuditQuery: { "action": "session_created", "limit": 10 }
    audit::AuditRecord: {
        "sequence": 214, "time": NOW, "principal": "owner", "peer": "unix:uid=1000", "action": "device_revoked",
        "target": DEVICE, "outcome": "ok", "detail": null,
    }
    audit::AuditVerdict: { "whole": true, "rows": 214, "first": 1, "last": 214, "fault_count": 0, "faults": [] }
    guests::NewInvitation: { "sessions": [SESSION], "expires_in": 3600, "count": 1, "with_scrollback": false }
    guests::InvitationMade: { "id": GUEST, "url": "https://desk.example:7300/guest#gst_….….sha256/…", "expires_at": LATER }
    guests::GuestRecord: {
        "id": GUEST, "state": "joined", "sessions": [SESSION], "with_scrollback": false, "login": null,
        "invited_at": NOW, "expires_at": LATER, "joined_at": NOW, "address": "192.0.2.9", "refused": null,
        "connections": 1,
    }
    guests::GuestExchange: {
        "id": GUEST, "secret": SECRET, "public_key": KEY, "challenge": CHALLENGE, "audience": AUDIENCE,
        "signature": SIGNATURE,
    }
    guests::GuestJoined: { "token": "tsm_gst_…", "expires_in": 3600, "pin": PIN }
    guests::GuestSelf: { "id": GUEST, "sessions": [SESSION], "with_scrollback": false, "expires_in": 3512 }
    guests::GuestEnded: { "guest_id": GUEST, "closed": 1, "elapsed_us": 920 }
    pairing::NewOffer: { "role": "viewer", "label": "Ada's phone" }
    pairing::OfferMade: { "id": OFFER, "url": "https://desk.example:7300/pair#ofr_….….sha256/…", "expires_in": 300 }
    pairing::OfferView: {
        "id": OFFER, "state": "open", "role": "viewer", "label": null, "request_id": null, "expires_at": LATER,
    }
    pairing::NewRequest: { "label": "Ada's phone", "commitment": NONCE, "offer": { "id": OFFER, "secret": SECRET } }
    pairing::Requested: {
        "request_id": REQUEST, "request_secret": "tsm_req_…", "server_nonce": NONCE, "expires_in": 600, "interval": 2,
    }
    pairing::Reveal: { "public_key": KEY, "nonce": NONCE }
    pairing::PollQuery: { "wait": 0 }
    pairing::Poll: { "status": "approved", "interval": 2, "exchange_nonce": NONCE }
    pairing::Approve: { "role": "viewer" }
    pairing::RequestView: {
        "id": REQUEST, "state": "pending", "code": "493027", "label": "Ada's phone", "peer": "192.0.2.7",
        "tailnet": null, "role": "viewer", "offer_id": OFFER, "device_id": null, "expires_at": LATER,
    }
    pairing::Exchange: { "audience": AUDIENCE, "signature": SIGNATURE }
    pairing::Exchanged: {
        "device_id": DEVICE, "token": "tsm_dev_…", "role": "viewer", "pin": PIN,
        "server_name": "identity.transom.invalid",
    }
    certificates::Certificates: {
        "pin": PIN,
        "certificates": [{
            "source": "identity", "names": ["desk.example"], "issuer": null, "pin": PIN, "sha256": HASH,
            "not_before": NOW, "not_after": LATER, "renews_at": LATER, "file": null,
            "pem": "-----BEGIN CERTIFICATE-----\n…",
        }],
        "root": null, "next_pin": null, "devices": [{ "id": DEVICE, "label": "Ada's phone", "by": "pin" }],
    }
    certificates::NextKey: {}
    certificates::Trust: {}
    certificates::Rotated: { "pin": PIN, "former_pin": PIN, "devices": [], "closed": 1, "root_stays": false }
    certificates::Root: {
        "pem": "-----BEGIN CERTIFICATE-----\n…", "sha256": HASH, "names": ["desk.example"], "not_after": LATER,
        "url": "https://desk.example:7300/v1/certificates/root",
    }
    sessions::ListQuery: { "deleted": true }
    sessions::NewSession: {
        "command": "sh", "args": ["-c", "echo ready; exec cat"], "name": "notes",
        "size": { "columns": 100, "rows": 30 }, "labels": { "project": "transom" },
    }
    sessions::Session: (session())
    sessions::Stopped: { "session": session() }
    sessions::SessionChanges: { "name": "diary", "labels": { "project": "home" } }
    sessions::RemoveQuery: { "purge": false }
    sessions::Input: { "text": "echo hello", "enter": true }
    sessions::Keys: { "keys": ["h", "i", "Enter"] }
    sessions::Size: { "columns": 100, "rows": 30 }
    sessions::NewNote: { "text": "waits for review", "ttl": 3600 }
    sessions::OutputQuery: { "from": 0, "limit": 4096 }
    sessions::Output: {
        "data": "cmVhZHkNCg", "offset": 0, "next_offset": 7, "end": 7, "truncated": false, "running": true, "exit": null,
    }
    sessions::ScreenQuery: { "format": "json", "lines": 10 }
    sessions::Screen: {
        "size": { "columns": 100, "rows": 30 }, "title": "", "alternate": false, "cursor": [0, 1],
        "cursor_visible": true, "first_line": 0, "top_line": 0,
        "lines": [{ "number": 0, "ansi": "ready", "text": "ready", "wrapped": false }],
    }
    sessions::WaitQuery: { "text": "ready", "timeout_ms": 10000 }
    sessions::Waited: { "reason": "text", "line": "ready", "session": session() }
    events::EventsQuery: { "after": 12 }
    events::Event: { "kind": "session", "session": session() }
    attach::Hello: {
        "session": SESSION, "name": "notes", "size": { "columns": 100, "rows": 30 }, "mode": "write", "offset": 7,
        "instance": INSTANCE, "life": LIFE, "viewers": 0, "writers": 1, "input_applied": 0,
    }
}

fn session() -> Value {
    json!({
        "id": SESSION, "name": "notes", "command": "sh", "args": ["-c", "echo ready; exec cat"], "cwd": "/home/ada",
        "state": "running", "exit": null, "created_at": NOW, "ended_at": null, "last_output_at": NOW,
        "size": { "columns": 100, "rows": 30 }, "end": 7, "title": null, "last_line": "ready", "viewers": 0, "writers": 1,
        "labels": { "project": "transom" }, "attention": { "state": "idle", "since": NOW, "message": null },
        "note": { "text": "waits for review", "expires_at": LATER }, "parent": null, "trusted": false, "purge_at": null,
    })
}

const NOW: &str = "2026-01-31T09:30:00Z";
const LATER: &str = "2026-01-31T10:30:00Z";
const INSTANCE: &str = "t2cq5gkzv7m4xwha";
const LIFE: &str = "9b1f64c02ad37e58";
const SESSION: &str = "ses_5f3a91c07be24d68";
const DEVICE: &str = "dev_0f4c2b9a8d7e6135";
const GUEST: &str = "gst_7c01d2e3f4a5b697";
const OFFER: &str = "ofr_1a2b3c4d5e6f7081";
const REQUEST: &str = "req_90a1b2c3d4e5f607";
const PIN: &str = "sha256/3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const AUDIENCE: &str = "pin:sha256/3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const CHALLENGE: &str = "AAAAAAAAAAEAAAGX2zQWAL7v3q2-7wAAAAAAAAAAAAA";
const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const SECRET: &str = "c2VjcmV0IG9mIG9uZSB1c2UsIGluIHRoZSBmcmFnbWU";
/// 32 bytes.
const NONCE: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
/// 65 bytes, the first of them 4.
const KEY: &str = "BAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0-P0A";
/// 64 bytes.
const SIGNATURE: &str =
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0-Pw";
