//! `POST /v1/pairing/requests`: step 1, a device asks to be paired.

use std::{net::IpAddr, sync::Arc};

use axum::Json;
use http::StatusCode;
use pairing::{Commitment, NewRequest, OfferClaim, OfferSecret, Principal, Requested, TailnetIdentity};
use protocol::{WireSecret, pairing as wire};

use super::{audited, exactly};
use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract,
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
    let now = clock::now();
    let offer = new.offer.as_ref().map(|claim| claim.id);
    let requested = access.authority().request(new, now, &mut random::rng())?;
    let mut row = AuditRow::new(
        now,
        name_of(&Principal::Nobody),
        &peer,
        action::PAIRING_REQUESTED,
        requested.id,
    );
    if let Some(offer) = offer {
        row = row.detail(format!("offer {offer}"));
    }
    if let Err(failure) = audited(&access, row).await {
        // Its secret was told to nobody: it must not wait for an owner's answer.
        let _ = access.authority().reject(requested.id, now);
        return Err(failure);
    }
    access.pairing_changed.notify_waiters();
    Ok((StatusCode::CREATED, Json(answer(&requested))))
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
        peer: limit_key(peer),
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

/// One peer for limits: a node of the tailnet, an IPv4 address, an IPv6 /64, all of loopback, or the Unix socket (access.md 2).
fn limit_key(peer: &Peer) -> String {
    let Peer::Remote(remote) = peer else {
        return "local".to_owned();
    };
    if let Some(tailnet) = &remote.tailnet {
        return tailnet.node_id.clone();
    }
    match remote.address.ip().to_canonical() {
        address if address.is_loopback() => "loopback".to_owned(),
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{address, limit_key};
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
    fn one_peer_is_an_address_a_network_of_version_6_or_all_of_loopback() {
        assert_eq!(
            limit_key(&remote("192.0.2.7:1")),
            limit_key(&remote("[::ffff:192.0.2.7]:2"))
        );
        assert_ne!(
            limit_key(&remote("192.0.2.7:1")),
            limit_key(&remote("192.0.2.8:1"))
        );
        assert_eq!(
            limit_key(&remote("[2001:db8:0:1::1]:1")),
            limit_key(&remote("[2001:db8:0:1:ffff::2]:2"))
        );
        assert_ne!(
            limit_key(&remote("[2001:db8:0:1::1]:1")),
            limit_key(&remote("[2001:db8:0:2::1]:1"))
        );
        assert_eq!(limit_key(&remote("127.0.0.1:1")), limit_key(&remote("[::1]:2")));
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
