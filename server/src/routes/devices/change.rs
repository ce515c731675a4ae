//! `PATCH /v1/devices/{id}` and `/v1/devices/self`: another name, role or end, which holds at once.

use std::sync::Arc;

use axum::Json;
use pairing::{
    ChangeError, Changed, Device, DeviceChange, DeviceId, Principal, Renewal, TailnetIdentity, UnixMillis,
    marker::{DeviceManage, OwnRecord},
};
use protocol::access::{DeviceChanges, DeviceRecord, NewLabel};

use super::record;
use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract::{self, Path},
    operation::{DEVICE, Operation, problems},
    peer::Peer,
    request,
    revocation::until_quiet,
    router::{App, Permitted},
    routes::{label, lifetime},
};

pub(crate) async fn change(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<DeviceManage>,
    peer: Peer,
    Path(id): Path<DeviceId>,
    extract::Json(body): extract::Json<DeviceChanges>,
) -> Result<Json<DeviceRecord>, Failure> {
    let renewal = lifetime(body.expires_in)?.map(|lives| Renewal {
        from: clock::latest(),
        lives,
    });
    let change = DeviceChange {
        label: body.label.as_deref().map(label).transpose()?,
        role: body.role,
        can_revoke: body.can_revoke,
        renewal,
        binding: None,
    };
    whole(access, permit.principal().clone(), peer, id, change).await
}

pub(crate) async fn rename_self(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<OwnRecord>,
    peer: Peer,
    extract::Json(body): extract::Json<NewLabel>,
) -> Result<Json<DeviceRecord>, Failure> {
    let principal = permit.principal();
    let id = principal
        .device_id()
        .ok_or(Failure::NotFound("there is no record of you"))?;
    let change = DeviceChange {
        label: Some(label(&body.label)?),
        ..DeviceChange::default()
    };
    whole(access, principal.clone(), peer, id, change).await
}

/// In a task of its own: a peer that hangs up must not leave a record that memory contradicts.
pub(super) async fn whole(
    access: Arc<Access>,
    by: Principal,
    peer: Peer,
    id: DeviceId,
    change: DeviceChange,
) -> Result<Json<DeviceRecord>, Failure> {
    let changing = request::spawn(async move {
        let (changed, number) = apply(&access, &by, &peer, id, &change).await?;
        // What was taken away is taken already, and what was given is not to be taken back unseen.
        if let Some(number) = number {
            access.store.until_epoch(number).await;
        }
        Ok(Json(record(&access, &access.devices(), &changed.device)))
    });
    let changed = changing.await;
    changed.unwrap_or_else(|crash| Err(Failure::internal(&crash)))
}

/// On the disk first, with its row; without it nothing changes. When it returns, nothing is written by the former rights any more.
/// Gives the number of a row about other rights.
async fn apply(
    access: &Access,
    by: &Principal,
    peer: &Peer,
    id: DeviceId,
    change: &DeviceChange,
) -> Result<(Changed, Option<u64>), Failure> {
    // One at a time, so that memory and store end with the same.
    let _turn = access.commits.lock().await;
    let (before, device) = would_be(access, id, change)?;
    let action = action_of(&before, &device);
    let row = AuditRow::new(clock::now(), name_of(by), peer, action, id).detail(difference(&before, &device));
    // A device may call itself something else without end; whose rights change, the owner alone says.
    let row = access.admitted(by, peer, row);
    let number = access.store.change_device(device, row).await.map_err(|error| {
        tracing::error!(device = %id, %error, "a device's change could not be stored");
        Failure::StoreFailed
    })?;
    let changed = access.devices().change(id, change)?;
    if change.renewal.is_some() {
        // It may be the next to expire.
        access.devices_changed.notify_one();
    }
    if let Some(ended) = &changed.ended {
        match changed.has_moved {
            true => drop(access.connections().disconnect(id)),
            false => access.connections().say_changed(id),
        }
        until_quiet(ended).await;
        tracing::info!(device = %id, role = %changed.device.role, moved = changed.has_moved, "changed what a device may do");
    }
    Ok((changed, number.filter(|_| action == action::ROLE_CHANGED)))
}

fn would_be(access: &Access, id: DeviceId, change: &DeviceChange) -> Result<(Device, Device), ChangeError> {
    let devices = access.devices();
    let before = devices.get(id).ok_or(ChangeError::UnknownDevice)?.clone();
    Ok((before, devices.would_be(id, change)?))
}

fn action_of(before: &Device, after: &Device) -> &'static str {
    let rights = |device: &Device| (device.role, device.can_revoke);
    if rights(before) != rights(after) {
        action::ROLE_CHANGED
    } else if before.expires_at != after.expires_at {
        action::DEVICE_RENEWED
    } else if before.tailnet != after.tailnet {
        action::DEVICE_REBOUND
    } else {
        action::DEVICE_RENAMED
    }
}

fn difference(before: &Device, after: &Device) -> String {
    let mut said = Vec::new();
    if before.role != after.role {
        said.push(format!("role {} instead of {}", after.role, before.role));
    }
    if before.can_revoke != after.can_revoke {
        said.push(format!("can_revoke {}", after.can_revoke));
    }
    if before.label != after.label {
        // Quoted: a device chooses it, and it must not read as another part of this row.
        let [after, before] = [after, before].map(|device| device.label.as_str());
        said.push(format!("called {after:?} instead of {before:?}"));
    }
    if before.expires_at != after.expires_at {
        let [after, before] = [after.expires_at, before.expires_at].map(end);
        said.push(format!("ends {after} instead of {before}"));
    }
    if before.tailnet != after.tailnet {
        let [after, before] = [after, before].map(|device| node(device.tailnet.as_ref()));
        said.push(format!("bound to {after} instead of {before}"));
    }
    if said.is_empty() {
        said.push("nothing".to_owned());
    }
    said.join(", ")
}

fn node(bound: Option<&TailnetIdentity>) -> String {
    bound.map_or_else(
        || "no node".to_owned(),
        |bound| format!("{} ({}) of {}", bound.node, bound.node_id, bound.user),
    )
}

fn end(at: Option<UnixMillis>) -> String {
    at.map_or_else(|| "never".to_owned(), |at| format!("at {}", clock::shown(at)))
}

pub(in crate::routes) const CHANGE: Operation = Operation::new(
    "change_device",
    "Gives a device another name, role or end, or lets it revoke; it holds at once.",
)
.about(DEVICE)
.takes::<DeviceChanges>()
.gives::<DeviceRecord>(200)
.fails(|| {
    let mut all = problems([
        ChangeError::UnknownDevice,
        ChangeError::WithoutKey,
        ChangeError::NoReader,
        ChangeError::LivesTooLong,
    ]);
    all.extend(problems(label("").err()));
    all.extend(problems([Failure::StoreFailed]));
    all
});

pub(in crate::routes) const RENAME_SELF: Operation = Operation::new(
    "rename_own_device",
    "The calling device gives itself another name.",
)
.takes::<NewLabel>()
.gives::<DeviceRecord>(200)
.fails(|| {
    let mut all = problems(label("").err());
    all.extend(problems([
        Failure::NotFound("there is no record of you"),
        Failure::StoreFailed,
    ]));
    all
});

#[cfg(test)]
mod tests {
    use pairing::{Device, DeviceId, Role, TokenHash, UnixMillis};

    use super::difference;

    fn called(label: &str) -> Device {
        Device {
            id: DeviceId::from_bytes([1; 8]),
            label: label.parse().unwrap(),
            public_key: None,
            role: Role::Viewer,
            can_revoke: false,
            any_path: false,
            token_hash: TokenHash::from_bytes([1; 32]),
            created: UnixMillis(0),
            approved_from: String::new(),
            tailnet: None,
            expires_at: None,
            last_seen: None,
            last_address: None,
        }
    }

    #[test]
    fn a_label_reads_as_nothing_else_of_its_row() {
        let forged = "x, can_revoke true\" instead of \"y";
        assert_eq!(
            difference(&called("phone"), &called(forged)),
            r#"called "x, can_revoke true\" instead of \"y" instead of "phone""#
        );
        assert_eq!(
            difference(&called("한 🙂"), &called("é")),
            r#"called "é" instead of "한 🙂""#,
            "what people read stays readable"
        );
    }
}
