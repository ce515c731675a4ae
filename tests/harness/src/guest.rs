//! Somebody who opens an invitation's link.

use std::{
    net::SocketAddr,
    ops::{Deref, DerefMut},
};

use pairing::{GuestId, guest_text};
use protocol::{
    Bytes64, WireSecret,
    access::ChallengeMade,
    guests::{GuestExchange, GuestJoined, InvitationMade, NewInvitation},
};

use crate::{Answer, Device, DeviceKey, Owner, TestDaemon, TlsClient};

/// A link that was handed to somebody.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// The guest that it names.
    pub id: GuestId,
    /// Its secret.
    pub secret: String,
    /// The pin of the daemon.
    pub pin: String,
}

/// A guest, which speaks as a device does, and opens what its invitation says.
pub struct Guest {
    device: Device,
    id: GuestId,
}

impl Invitation {
    /// Has the owner invite somebody to look at the sessions from now on.
    pub async fn to(daemon: &TestDaemon, sessions: &[&str], seconds: u64) -> Self {
        let wish = NewInvitation {
            sessions: sessions.iter().map(ToString::to_string).collect(),
            expires_in: seconds,
            count: None,
            with_scrollback: false,
            login: None,
        };
        Self::by(&daemon.owner(), &wish).await.remove(0)
    }

    /// The links of any invitation.
    pub async fn by(owner: &Owner, wish: &NewInvitation) -> Vec<Self> {
        let made: Vec<InvitationMade> = owner.post("/v1/guests", wish).await.ok();
        made.iter().map(|one| Self::parse(one.url.expose())).collect()
    }

    /// Reads a link.
    ///
    /// # Panics
    /// Where it is none.
    pub fn parse(url: &str) -> Self {
        let (page, fragment) = url.split_once('#').expect("the link has a fragment");
        assert!(page.ends_with("/guest"), "{page}");
        let parts: Vec<&str> = fragment.split('.').collect();
        let [id, secret, pin] = parts.as_slice() else {
            panic!("a fragment has three parts")
        };
        Self {
            id: id.parse().expect("a guest's id"),
            secret: (*secret).to_owned(),
            pin: (*pin).to_owned(),
        }
    }

    /// What a browser with this key sends to exchange the link.
    pub async fn exchange(&self, client: &TlsClient, key: &DeviceKey) -> GuestExchange {
        let made: ChallengeMade = client.get("/v1/auth/challenge", None).await.ok();
        let audience = format!("pin:{}", self.pin);
        let parsed = audience.parse().expect("an audience");
        let text = guest_text(&made.challenge, &parsed, self.id);
        GuestExchange {
            id: self.id,
            secret: WireSecret::new(self.secret.clone()),
            public_key: Bytes64(key.public().as_bytes().to_vec()),
            challenge: made.challenge,
            audience,
            signature: Bytes64(key.sign(&text)),
        }
    }

    /// Opens the link with a new key.
    ///
    /// # Errors
    /// The answer that refused it.
    pub async fn open(&self, daemon: &TestDaemon) -> Result<Guest, Answer> {
        self.open_with(daemon, DeviceKey::generate()).await
    }

    /// Opens the link with a key.
    ///
    /// # Errors
    /// The answer that refused it.
    pub async fn open_with(&self, daemon: &TestDaemon, key: DeviceKey) -> Result<Guest, Answer> {
        self.open_at(daemon.address(), key).await
    }

    /// Opens the link of whatever listens there with a key.
    ///
    /// # Errors
    /// The answer that refused it.
    pub async fn open_at(&self, address: SocketAddr, key: DeviceKey) -> Result<Guest, Answer> {
        let client = TlsClient::new(address, &self.pin);
        let shown = self.exchange(&client, &key).await;
        let answer = client.post("/v1/guests/exchange", None, &shown).await;
        if answer.status != 200 {
            return Err(answer);
        }
        let joined: GuestJoined = answer.ok();
        let token = joined.token.expose().to_owned();
        Ok(Guest {
            device: Device::new(client, self.id, token, key),
            id: self.id,
        })
    }
}

impl Guest {
    /// Invited to these sessions, and here.
    pub async fn of(daemon: &TestDaemon, sessions: &[&str]) -> Self {
        let invitation = Invitation::to(daemon, sessions, 3600).await;
        let opened = invitation.open(daemon).await;
        opened.unwrap_or_else(|answer| panic!("{answer:?}"))
    }

    /// Who the guest is.
    pub fn guest_id(&self) -> GuestId {
        self.id
    }
}

impl Deref for Guest {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl DerefMut for Guest {
    fn deref_mut(&mut self) -> &mut Device {
        &mut self.device
    }
}
