//! A daemon without its wire, and a phone that pairs with it.

use std::{future::pending, path::Path as FilePath, sync::Arc, time::Duration};

use axum::Json;
use http::{HeaderMap, StatusCode, header};
use pairing::{
    Authenticated, CodeInput, Commitment, Nonce, OfferId, PairingCode, PairingLimits, Principal, PublicKey,
    RequestId, RequestSecret, marker::DeviceManage, pair_text,
};
use protocol::{Bytes64, WireSecret, pairing as wire};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};

use super::super::{
    approve, commit, exchange, list_offers, list_requests, make_offer, poll, reject, request, reveal,
    withdraw_offer,
};
use crate::{
    access::{Access, Deps, ServerConfig},
    clock,
    error::Failure,
    extract,
    limits::Limits,
    peer::{EveryoneOutside, LocalPeer, NoTailnet, Peer, RemotePeer},
    router::{App, Permitted},
    store::Store,
};

/// What an owner's route hands to its handler.
pub(super) type OwnersPermit = Permitted<DeviceManage>;

pub(super) struct World {
    pub(super) home: tempfile::TempDir,
    pub(super) access: Arc<Access>,
}

/// What a device keeps while it is being paired.
pub(super) struct Phone {
    pub(super) key: EcdsaKeyPair,
    pub(super) nonce: Nonce,
    pub(super) peer: Peer,
    pub(super) request: Option<wire::Requested>,
}

fn start(home: &FilePath, pairing: PairingLimits) -> Arc<Access> {
    let config = ServerConfig {
        life: "0011223344556677".to_owned(),
        version: "0".to_owned(),
        app: None,
        names: Vec::new(),
        link_authority: Some("localhost:7443".to_owned()),
        noun: "thing",
        limits: Limits::default(),
        pairing,
        idle_expiry: Duration::from_secs(90 * 24 * 60 * 60),
    };
    let deps = Deps {
        opened: Store::open(&home.join("transom.db"), &home.join("keys"), clock::now()).unwrap(),
        pin: certs::SpkiPin::of_spki(b"a key"),
        local_origin: Arc::new(EveryoneOutside),
        touched: Arc::new(|_| Vec::new()),
        stands_at: Arc::new(|_| Some(100)),
        figures: Arc::new(|_| ()),
        who_is: Arc::new(NoTailnet),
        doors: Arc::new(crate::lockdown::NoDoors),
        lockdown: crate::lockdown::LockdownFile::new(home),
    };
    Access::new(config, deps)
}

pub(super) fn world() -> World {
    world_with(PairingLimits::default())
}

pub(super) fn world_with(limits: PairingLimits) -> World {
    let home = tempfile::tempdir().unwrap();
    let access = start(home.path(), limits);
    World { home, access }
}

impl World {
    pub(super) fn restarted(self) -> Self {
        let Self { home, access } = self;
        drop(access);
        let access = start(home.path(), PairingLimits::default());
        Self { home, access }
    }

    pub(super) fn app(&self) -> App<Arc<Access>> {
        App(Arc::clone(&self.access))
    }

    pub(super) fn owner(&self) -> OwnersPermit {
        self.permit_of(Principal::Owner).unwrap()
    }

    /// What lets a principal do what the owner does, as the router makes it.
    pub(super) fn permit_of(&self, principal: Principal) -> Option<OwnersPermit> {
        let authenticated = Authenticated::new(principal, Arc::clone(&self.access.owner));
        authenticated.permit(None).map(Permitted).ok()
    }

    pub(super) async fn offer(&self, terms: wire::NewOffer) -> Result<wire::OfferMade, Failure> {
        self.offer_as(self.owner(), terms).await
    }

    pub(super) async fn offer_as(
        &self,
        owner: OwnersPermit,
        terms: wire::NewOffer,
    ) -> Result<wire::OfferMade, Failure> {
        let made = make_offer::make(self.app(), owner, local(), extract::OptionalJson(terms)).await;
        made.map(|(_, Json(made))| made)
    }

    pub(super) async fn withdraw_as(&self, owner: OwnersPermit, id: OfferId) -> Result<StatusCode, Failure> {
        withdraw_offer::withdraw(self.app(), owner, local(), extract::Path(id)).await
    }

    pub(super) async fn approve(
        &self,
        id: RequestId,
        terms: wire::Approve,
    ) -> Result<wire::RequestView, Failure> {
        self.approve_as(self.owner(), id, terms).await
    }

    pub(super) async fn approve_as(
        &self,
        owner: OwnersPermit,
        id: RequestId,
        terms: wire::Approve,
    ) -> Result<wire::RequestView, Failure> {
        let body = extract::OptionalJson(terms);
        approve::approve(self.app(), owner, local(), extract::Path(id), body)
            .await
            .map(|Json(view)| view)
    }

    pub(super) async fn reject(&self, id: RequestId) -> Result<StatusCode, Failure> {
        self.reject_as(self.owner(), id).await
    }

    pub(super) async fn reject_as(&self, owner: OwnersPermit, id: RequestId) -> Result<StatusCode, Failure> {
        reject::reject(self.app(), owner, local(), extract::Path(id)).await
    }

    pub(super) async fn requests(&self) -> Vec<wire::RequestView> {
        list_requests::listed(&self.access).entries
    }

    pub(super) async fn offers(&self) -> Vec<wire::OfferView> {
        list_offers::listed(&self.access).entries
    }

    pub(super) async fn commit(&self, id: RequestId, token: &str) -> Result<StatusCode, Failure> {
        commit::commit(self.app(), remote(1), extract::Path(id), bearer(token)).await
    }

    pub(super) async fn actions(&self) -> Vec<String> {
        let rows = self.access.store.audit_rows(100).await.unwrap();
        rows.into_iter().map(|row| row.action.into_owned()).collect()
    }

    /// A device that has shown the offer and revealed its key.
    pub(super) async fn revealed(&self, offer: Option<wire::OfferProof>) -> Phone {
        self.revealed_as(1, offer).await
    }

    /// What the owner lifts a lock-down for.
    pub(super) fn lifted(&self) {
        self.access.lockdown.lifted();
    }

    async fn revealed_as(&self, host: u8, offer: Option<wire::OfferProof>) -> Phone {
        let mut phone = Phone::new(host);
        phone.ask(self, "phone", offer).await.unwrap();
        phone.reveal(self).await.unwrap();
        phone
    }

    /// A device that the owner has said yes to.
    pub(super) async fn approved(&self) -> Phone {
        self.approved_as(1).await
    }

    /// The same at an address of its own.
    pub(super) async fn approved_as(&self, host: u8) -> Phone {
        let phone = self.revealed_as(host, None).await;
        self.approve(phone.id(), wire::Approve::default()).await.unwrap();
        phone
    }
}

impl Phone {
    pub(super) fn new(host: u8) -> Self {
        let rng = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &rng).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &rng).unwrap();
        Self {
            key,
            nonce: [host; 32],
            peer: remote(host),
            request: None,
        }
    }

    pub(super) fn public_key(&self) -> PublicKey {
        PublicKey::from_slice(self.key.public_key().as_ref()).unwrap()
    }

    pub(super) fn id(&self) -> RequestId {
        self.request.as_ref().unwrap().request_id
    }

    pub(super) fn secret(&self) -> &str {
        self.request.as_ref().unwrap().request_secret.expose()
    }

    pub(super) async fn ask(
        &mut self,
        world: &World,
        label: &str,
        offer: Option<wire::OfferProof>,
    ) -> Result<(), Failure> {
        let commitment = Commitment::to(&self.public_key(), &self.nonce)
            .0
            .as_slice()
            .into();
        let body = wire::NewRequest {
            label: label.to_owned(),
            commitment,
            offer,
        };
        let (status, Json(requested)) =
            request::request(world.app(), self.peer.clone(), extract::Json(body)).await?;
        assert_eq!(status, StatusCode::CREATED);
        self.request = Some(requested);
        Ok(())
    }

    pub(super) async fn reveal(&self, world: &World) -> Result<StatusCode, Failure> {
        let body = wire::Reveal {
            public_key: self.key.public_key().as_ref().into(),
            nonce: self.nonce.as_slice().into(),
        };
        let headers = bearer(self.secret());
        reveal::reveal(
            world.app(),
            self.peer.clone(),
            extract::Path(self.id()),
            headers,
            extract::Json(body),
        )
        .await
    }

    /// The code as the device computes it.
    pub(super) fn code(&self, pin: &str) -> String {
        let server_nonce = self
            .request
            .as_ref()
            .unwrap()
            .server_nonce
            .0
            .as_slice()
            .try_into()
            .unwrap();
        let (public_key, request_id) = (self.public_key(), self.id());
        let input = CodeInput {
            request_id,
            public_key: &public_key,
            device_nonce: &self.nonce,
            server_nonce: &server_nonce,
            pin,
        };
        PairingCode::compute(&input).to_string()
    }

    pub(super) async fn poll(&self, world: &World, wait: Duration) -> pairing::PollAnswer {
        let secret = RequestSecret::parse(self.secret()).unwrap();
        poll::until_news(&world.access, self.id(), &secret, wait, pending())
            .await
            .unwrap()
    }

    pub(super) async fn exchange(&self, world: &World) -> Result<wire::Exchanged, Failure> {
        self.exchange_as(world, &format!("pin:{}", world.access.pin()))
            .await
    }

    pub(super) async fn exchange_as(
        &self,
        world: &World,
        audience: &str,
    ) -> Result<wire::Exchanged, Failure> {
        let nonce = self.poll(world, Duration::ZERO).await.exchange_nonce;
        let nonce = nonce.as_ref().map_or("", |nonce| nonce.as_str());
        let text = pair_text(self.id(), nonce, &audience.parse().unwrap());
        let signature = self
            .key
            .sign(&SystemRandom::new(), text.as_bytes())
            .unwrap()
            .as_ref()
            .into();
        let body = wire::Exchange {
            audience: audience.to_owned(),
            signature,
        };
        let headers = bearer(self.secret());
        let answer = exchange::exchange(
            world.app(),
            self.peer.clone(),
            extract::Path(self.id()),
            headers,
            extract::Json(body),
        );
        answer.await.map(|Json(exchanged)| exchanged)
    }
}

pub(super) fn local() -> Peer {
    Peer::Local(LocalPeer { uid: 1000, pid: None })
}

fn remote(host: u8) -> Peer {
    let address = format!("192.0.2.{host}:4711").parse().unwrap();
    Peer::Remote(RemotePeer {
        address,
        listener: "192.0.2.200:7443".parse().unwrap(),
        generation: pairing::Generation(1),
        tailnet: None,
    })
}

fn bearer(token: &str) -> HeaderMap {
    [(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap())]
        .into_iter()
        .collect()
}

/// The offer as a device reads it from the link's fragment, with the pin.
pub(super) fn fragment(made: &wire::OfferMade) -> (wire::OfferProof, String) {
    let parts: Vec<_> = made
        .url
        .expose()
        .split_once("/pair#")
        .unwrap()
        .1
        .splitn(3, '.')
        .collect();
    (
        wire::OfferProof {
            id: parts[0].parse().unwrap(),
            secret: WireSecret::new(parts[1]),
        },
        parts[2].to_owned(),
    )
}

pub(super) fn code_of<T: std::fmt::Debug>(result: Result<T, Failure>) -> String {
    result.unwrap_err().problem().code
}

pub(super) fn works(world: &World, token: &str) -> Result<pairing::TokenHolder, pairing::AuthError> {
    let token = pairing::DeviceToken::parse(token).unwrap();
    world
        .access
        .devices()
        .authenticate(&token, &world.access.token_key, clock::latest())
}

/// Bytes as a link's fragment writes them.
pub(super) struct Bytes64Text(pub(super) [u8; 32]);

impl std::fmt::Display for Bytes64Text {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let json = serde_json::to_string(&Bytes64(self.0.to_vec())).unwrap();
        formatter.write_str(json.trim_matches('"'))
    }
}
