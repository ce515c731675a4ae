//! From a peer and what it shows to a principal.

use std::sync::Arc;

use axum::{RequestPartsExt, extract::RawPathParams};
use http::{HeaderMap, header, request::Parts};
use pairing::{
    AccessToken, AuthError, Authenticated, DeviceId, DeviceToken, Fault, GuestToken, KeyHolder,
    MalformedToken, Principal, ResourceId, Scope, TokenHolder, TokenKind, UnixMillis,
};

use crate::{
    access::Access,
    audit::action,
    clock,
    connections::Connection,
    error::Failure,
    peer::{LocalAnswer, LocalPeer, Peer, RemotePeer},
    request,
    router::On,
};

/// Somebody who was authenticated, and the connection that they came on.
pub(crate) struct Caller {
    pub(crate) connection: Arc<Connection>,
    pub(crate) authenticated: Authenticated,
}

/// Authenticates a request by its peer and its `Authorization`.
pub(crate) async fn caller(access: &Access, parts: &mut Parts) -> Result<Caller, Failure> {
    let On(connection) = parts.extract().await?;
    let authenticated = match connection.peer() {
        Peer::Local(peer) => local(access, peer, &connection).await?,
        Peer::Remote(peer) => {
            let token = bearer(&parts.headers)?.ok_or(Failure::Unauthenticated)?;
            device(access, token, peer).await?
        }
    };
    Ok(Caller {
        connection,
        authenticated,
    })
}

/// Whether the request shows anything by which [`caller`] could authenticate it.
pub(crate) fn shows_something(peer: &Peer, headers: &HeaderMap) -> bool {
    peer.is_local() || headers.contains_key(header::AUTHORIZATION)
}

/// The text of a bearer credential (RFC 6750 section 2.1), if there is one.
///
/// # Errors
/// When there are two, or one that is no text.
pub fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let text = match (shown.next(), shown.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.to_str().map_err(|_| MalformedToken::Body)?,
        (Some(_), Some(_)) => return Err(MalformedToken::Kind.into()),
    };
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
            Ok(Some(token.trim_start_matches(' ')))
        }
        Some(_) | None => Err(Failure::Unauthenticated),
    }
}

/// What the audit trail calls a principal.
pub fn name_of(principal: &Principal) -> String {
    match principal {
        Principal::Owner => "owner".to_owned(),
        Principal::Session(session) => session.to_string(),
        Principal::Device { id, .. } => id.to_string(),
        Principal::Guest(id) => id.to_string(),
        Principal::Nobody => "nobody".to_owned(),
    }
}

/// Whose token this is: an access token, or that of a device without a key. Notes that the device was seen, at most once a
/// minute, and in the audit trail that it came from where it may not.
pub(crate) async fn device(
    access: &Access,
    token: &str,
    peer: &RemotePeer,
) -> Result<Authenticated, Failure> {
    let now = clock::latest();
    let (holder, found) = match TokenKind::of(token) {
        Some(TokenKind::Access) => by_access_token(access, &AccessToken::parse(token)?, peer)?,
        _ => by_own_token(token_holder(access, token, now)?, peer),
    };
    if let Err(refused) = &found
        && refused.fault() == Fault::Permission
    {
        access
            .note_refusal(holder, peer, action::NODE_REFUSED, refused.code(), now)
            .await;
    }
    let authenticated = found?;
    seen(access, holder, peer, now);
    Ok(authenticated)
}

/// Whose token this is, and as whom it may come from there.
type Found = (KeyHolder, Result<Authenticated, AuthError>);

/// Whose long-lived token this is: a device's or a guest's.
///
/// # Errors
/// Where it is nobody's, or not any more.
pub(crate) fn token_holder(access: &Access, token: &str, now: UnixMillis) -> Result<TokenHolder, Failure> {
    let key = &access.token_key;
    Ok(match TokenKind::of(token) {
        Some(TokenKind::Guest) => {
            let token = GuestToken::parse(token)?;
            access.guests().authenticate(&token, key, now)?
        }
        _ => access
            .devices()
            .authenticate(&DeviceToken::parse(token)?, key, now)?,
    })
}

fn by_access_token(access: &Access, token: &AccessToken, peer: &RemotePeer) -> Result<Found, AuthError> {
    let (devices, guests) = (access.devices(), access.guests());
    let holders = (&*devices, &*guests);
    let proofs = access.proofs();
    proofs.authenticate(token, &holders, &peer.place(), clock::latest())
}

fn by_own_token(holder: TokenHolder, peer: &RemotePeer) -> Found {
    (holder.id(), holder.as_bearer(peer.tailnet.as_deref()))
}

/// Notes that a device was seen. Of guests nothing is stored.
pub(crate) fn seen(access: &Access, holder: KeyHolder, peer: &RemotePeer, now: UnixMillis) {
    if let Some(device) = holder.device_id() {
        note_seen(access, device, peer.address.ip().to_canonical().to_string(), now);
    }
}

/// Notes that a device is at this address.
pub(crate) fn note_seen(access: &Access, device: DeviceId, address: String, now: UnixMillis) {
    if access.devices().touch(device, &address, now).is_none() {
        return;
    }
    let store = access.store.clone();
    request::spawn(async move {
        if let Err(error) = store.seen(device, now, address).await {
            tracing::warn!(%device, %error, "could not store when a device was last seen");
        }
    });
}

/// The path's parameter that names a resource.
pub(crate) async fn resource(parts: &mut Parts, name: &str) -> Result<ResourceId, Failure> {
    let unknown = || Failure::NotFound("there is nothing of that id");
    let params: RawPathParams = parts.extract().await.map_err(|_| unknown())?;
    let value = params
        .iter()
        .find_map(|(key, value)| (key == name).then_some(value));
    value.and_then(|value| value.parse().ok()).ok_or_else(unknown)
}

async fn local(access: &Access, peer: &LocalPeer, connection: &Connection) -> Result<Authenticated, Failure> {
    // Compared for each request: the kernel's word at accept is all the proof that an owner has.
    if !peer.is_own() {
        return Err(Failure::OtherUser);
    }
    let owner = || Authenticated::new(Principal::Owner, Arc::clone(&access.owner));
    let process = connection
        .process()
        .ok_or_else(|| Failure::internal(&"a local connection has no process"))?;
    match process.origin().await {
        LocalAnswer::Outside => Ok(owner()),
        LocalAnswer::Doubtful => Ok(owner().without(&WITHHELD)),
        LocalAnswer::Inside(inside) => Ok(inside),
        LocalAnswer::Unknown { detail, hint } => Err(Failure::UnknownOrigin { detail, hint }),
    }
}

/// What would let somebody else in, or end the daemon.
const WITHHELD: [Scope; 3] = [Scope::DeviceManage, Scope::GuestManage, Scope::DaemonManage];

#[cfg(test)]
mod tests {
    use http::{HeaderMap, header};

    use super::bearer;
    use crate::error::Failure;

    fn headers(values: &[&str]) -> HeaderMap {
        values
            .iter()
            .map(|value| (header::AUTHORIZATION, value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn the_scheme_is_read_whatever_its_case() {
        for text in ["Bearer tsm_dev_x", "bearer tsm_dev_x", "BEARER  tsm_dev_x"] {
            assert_eq!(bearer(&headers(&[text])).unwrap(), Some("tsm_dev_x"));
        }
        assert_eq!(bearer(&headers(&[])).unwrap(), None);
    }

    #[test]
    fn another_scheme_is_no_credential_and_two_headers_are_a_malformed_one() {
        assert!(matches!(
            bearer(&headers(&["Basic dTpw"])),
            Err(Failure::Unauthenticated)
        ));
        let twice = headers(&["Bearer a", "Bearer a"]);
        assert!(matches!(bearer(&twice), Err(Failure::MalformedToken(_))));
    }
}
