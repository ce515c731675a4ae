//! `POST /v1/pairing/requests`: step 1, a device asks to be paired.

use std::sync::Arc;

use axum::Json;
use http::StatusCode;
use pairing::{
    Authority, Commitment, NewRequest, OfferClaim, OfferId, OfferPhase, OfferSecret, RequestError, Requested,
    TailnetIdentity, UnixMillis,
};
use protocol::{WireSecret, pairing as wire};

use super::{audited_of, exactly, row_of_stranger};
use crate::{
    access::Access,
    audit::action,
    clock,
    error::Failure,
    extract,
    operation::{Operation, problems},
    peer::Peer,
    random,
    router::App,
    routes::label,
};

pub(in crate::routes) async fn request(
    App(access): App<Arc<Access>>,
    peer: Peer,
    extract::Json(body): extract::Json<wire::NewRequest>,
) -> Result<(StatusCode, Json<wire::Requested>), Failure> {
    let new = parse(&body, &peer)?;
    let now = clock::latest();
    let offer = new.offer.as_ref().map(|claim| claim.id);
    let requested = ask(&access, new, offer, now)?;
    let mut row = row_of_stranger(&peer, action::PAIRING_REQUESTED, requested.id);
    if let Some(offer) = offer {
        row = row.detail(format!("offer {offer}"));
    }
    if let Err(failure) = audited_of(&access, &peer, row).await {
        // Its secret was told to nobody: it must not wait for an owner's answer.
        access.authority().abandon(requested.id, now);
        return Err(failure);
    }
    access.pairing_changed.notify_waiters();
    Ok((StatusCode::CREATED, Json(answer(&requested))))
}

/// Takes the first word. A refused one wakes those who wait for news only where it has changed something: anybody may send as many
/// as they like.
fn ask(
    access: &Access,
    new: NewRequest,
    offer: Option<OfferId>,
    now: UnixMillis,
) -> Result<Requested, Failure> {
    let mut authority = access.unlocked_authority()?;
    let was_burned = is_burned(&authority, offer, now);
    let requested = authority.request(new, now, &mut random::rng());
    let has_burned = !was_burned && is_burned(&authority, offer, now);
    drop(authority);
    if has_burned {
        access.pairing_changed.notify_waiters();
    }
    Ok(requested?)
}

fn is_burned(authority: &Authority, offer: Option<OfferId>, now: UnixMillis) -> bool {
    let offer = offer.and_then(|id| authority.offer_by_id(id, now));
    offer.is_some_and(|offer| offer.phase == OfferPhase::Burned)
}

fn parse(body: &wire::NewRequest, peer: &Peer) -> Result<NewRequest, Failure> {
    let claim = |proof: &wire::OfferProof| -> Result<OfferClaim, Failure> {
        Ok(OfferClaim {
            id: proof.id,
            secret: OfferSecret::parse(proof.secret.expose())?,
        })
    };
    Ok(NewRequest {
        label: label(&body.label)?,
        commitment: Commitment(exactly(&body.commitment, "a commitment")?),
        offer: body.offer.as_ref().map(claim).transpose()?,
        peer: peer.limit_key(),
        address: address(peer),
        tailnet: tailnet(peer),
    })
}

fn tailnet(peer: &Peer) -> Option<TailnetIdentity> {
    match peer {
        Peer::Local(_) => None,
        Peer::Remote(remote) => remote.tailnet.as_deref().cloned(),
    }
}

fn answer(requested: &Requested) -> wire::Requested {
    wire::Requested {
        request_id: requested.id,
        request_secret: WireSecret::new(requested.secret.reveal().as_str()),
        server_nonce: requested.server_nonce.as_slice().into(),
        expires_in: requested.expires_in.as_secs(),
        interval: requested.interval.as_secs(),
    }
}

/// Where people are told that a request came from.
fn address(peer: &Peer) -> String {
    match peer {
        Peer::Local(_) => peer.to_string(),
        Peer::Remote(remote) => remote.address.ip().to_canonical().to_string(),
    }
}

pub(in crate::routes) const REQUEST_PAIRING: Operation = Operation::new(
    "request_pairing",
    "Step 1: a device asks to be paired, with a commitment to its key.",
)
.takes::<wire::NewRequest>()
.gives::<wire::Requested>(201)
.fails(|| {
    let retry_after = std::time::Duration::from_secs(60);
    let mut all = problems([RequestError::TooManyPending { retry_after }]);
    all.extend(problems(super::OFFER_ERRORS));
    all.extend(problems(label("").err()));
    all.extend(problems([Failure::LockedDown, Failure::StoreFailed]));
    all
});

#[cfg(test)]
mod tests {
    use super::address;
    use crate::peer::{LocalPeer, Peer, RemotePeer};

    fn remote(text: &str) -> Peer {
        let [address, listener] = [text, "[::]:7443"].map(|text| text.parse().unwrap());
        Peer::Remote(RemotePeer {
            address,
            listener,
            generation: pairing::Generation(1),
            tailnet: None,
        })
    }

    #[test]
    fn people_are_shown_the_address_without_its_port() {
        assert_eq!(address(&remote("[::ffff:192.0.2.7]:2")), "192.0.2.7");
        assert_eq!(
            address(&Peer::Local(LocalPeer { uid: 7, pid: None })),
            "unix:uid=7"
        );
    }
}
