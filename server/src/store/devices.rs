//! The tables `devices` and `tombstones`. Times stand in them as the wall clock says them, and in memory by
//! [`clock::latest`].

use pairing::{Device, DeviceId, EndCause, TailnetIdentity, Tombstone, UnixMillis};
use rusqlite::{Row, Transaction, named_params, params};

use super::{
    StoreError,
    columns::{Columns, KEPT},
};
use crate::clock::on_the_wall;

pub(super) fn all(transaction: &Transaction<'_>) -> Result<Vec<Device>, StoreError> {
    let mut statement = transaction.prepare("SELECT * FROM devices ORDER BY created_at, id")?;
    statement.query_and_then([], device)?.collect()
}

pub(super) fn insert(transaction: &Transaction<'_>, device: &Device) -> Result<(), StoreError> {
    let tailnet = device.tailnet.as_ref();
    transaction.execute(
        "INSERT INTO devices VALUES (:id, :label, :public_key, :role, :can_revoke, :any_path, :token_hash, :created_at,
            :approved_from, :tailnet_user_id, :tailnet_user, :tailnet_node_id, :tailnet_node, :expires_at, :last_seen_at,
            :last_address)",
        named_params! {
            ":id": device.id.to_string(),
            ":label": device.label.as_str(),
            ":public_key": device.public_key.as_ref().map(|key| key.as_bytes().as_slice()),
            ":role": device.role.as_str(),
            ":can_revoke": device.can_revoke,
            ":any_path": device.any_path,
            ":token_hash": device.token_hash.as_bytes().as_slice(),
            ":created_at": on_the_wall(device.created).0,
            ":approved_from": device.approved_from,
            ":tailnet_user_id": tailnet.map(|identity| &identity.user_id),
            ":tailnet_user": tailnet.map(|identity| &identity.user),
            ":tailnet_node_id": tailnet.map(|identity| &identity.node_id),
            ":tailnet_node": tailnet.map(|identity| &identity.node),
            ":expires_at": device.expires_at.map(|time| on_the_wall(time).0),
            ":last_seen_at": device.last_seen.map(|time| on_the_wall(time).0),
            ":last_address": device.last_address,
        },
    )?;
    Ok(())
}

/// Puts the tombstone where the device was; a device that was never stored gets one as well.
pub(super) fn bury(transaction: &Transaction<'_>, tombstone: &Tombstone) -> Result<(), StoreError> {
    let id = tombstone.id.to_string();
    transaction.execute("DELETE FROM devices WHERE id = ?", [&id])?;
    transaction.execute(
        "INSERT OR REPLACE INTO tombstones (id, token_hash, cause, ended_at) VALUES (?, ?, ?, ?)",
        params![
            id,
            tombstone.token_hash.as_bytes().as_slice(),
            tombstone.cause.as_str(),
            on_the_wall(tombstone.ended).0
        ],
    )?;
    Ok(())
}

/// Only what may change: when it was last seen is written on its own.
pub(super) fn change(transaction: &Transaction<'_>, device: &Device) -> Result<(), StoreError> {
    let tailnet = device.tailnet.as_ref();
    transaction.execute(
        "UPDATE devices SET label = :label, role = :role, can_revoke = :can_revoke, expires_at = :expires_at,
            tailnet_user_id = :tailnet_user_id, tailnet_user = :tailnet_user, tailnet_node_id = :tailnet_node_id,
            tailnet_node = :tailnet_node WHERE id = :id",
        named_params! {
            ":id": device.id.to_string(),
            ":label": device.label.as_str(),
            ":role": device.role.as_str(),
            ":can_revoke": device.can_revoke,
            ":expires_at": device.expires_at.map(|time| on_the_wall(time).0),
            ":tailnet_user_id": tailnet.map(|identity| &identity.user_id),
            ":tailnet_user": tailnet.map(|identity| &identity.user),
            ":tailnet_node_id": tailnet.map(|identity| &identity.node_id),
            ":tailnet_node": tailnet.map(|identity| &identity.node),
        },
    )?;
    Ok(())
}

pub(super) fn seen(
    transaction: &Transaction<'_>,
    id: DeviceId,
    at: UnixMillis,
    from: &str,
) -> Result<(), StoreError> {
    transaction.execute(
        "UPDATE devices SET last_seen_at = ?, last_address = ? WHERE id = ?",
        params![on_the_wall(at).0, from, id.to_string()],
    )?;
    Ok(())
}

pub(super) fn tombstones(transaction: &Transaction<'_>) -> Result<Vec<Tombstone>, StoreError> {
    let mut statement = transaction.prepare("SELECT * FROM tombstones ORDER BY ended_at, id")?;
    statement.query_and_then([], tombstone)?.collect()
}

pub(super) fn forget_tombstones(transaction: &Transaction<'_>, now: UnixMillis) -> Result<(), StoreError> {
    let oldest = now.0.saturating_sub(KEPT.as_millis() as i64);
    transaction.execute("DELETE FROM tombstones WHERE ended_at < ?", [oldest])?;
    Ok(())
}

fn device(row: &Row<'_>) -> Result<Device, StoreError> {
    let columns = Columns {
        table: "devices",
        row,
    };
    Ok(Device {
        id: columns.parsed("id")?,
        label: columns.parsed("label")?,
        public_key: columns.public_key()?,
        role: columns.parsed("role")?,
        can_revoke: row.get("can_revoke")?,
        any_path: row.get("any_path")?,
        token_hash: columns.token_hash("token_hash")?,
        created: columns.time("created_at")?,
        approved_from: row.get("approved_from")?,
        tailnet: tailnet(row)?,
        expires_at: columns.time_if_any("expires_at")?,
        last_seen: columns.time_if_any("last_seen_at")?,
        last_address: row.get("last_address")?,
    })
}

fn tombstone(row: &Row<'_>) -> Result<Tombstone, StoreError> {
    let columns = Columns {
        table: "tombstones",
        row,
    };
    let cause: String = row.get("cause")?;
    let causes = [EndCause::Revoked, EndCause::Expired];
    Ok(Tombstone {
        id: columns.parsed("id")?,
        token_hash: columns.token_hash("token_hash")?,
        cause: causes
            .into_iter()
            .find(|known| known.as_str() == cause)
            .ok_or_else(|| columns.wrong("cause"))?,
        ended: columns.time("ended_at")?,
    })
}

/// A device is bound to a user and a node, or to nothing.
fn tailnet(row: &Row<'_>) -> Result<Option<TailnetIdentity>, StoreError> {
    let Some(node_id) = row.get("tailnet_node_id")? else {
        return Ok(None);
    };
    Ok(Some(TailnetIdentity {
        user_id: row.get("tailnet_user_id")?,
        user: row.get("tailnet_user")?,
        node_id,
        node: row.get("tailnet_node")?,
        tags: Vec::new(),
    }))
}
