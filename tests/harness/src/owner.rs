//! The local user, on the Unix socket.

use std::path::PathBuf;

use pairing::{DeviceId, RequestId, Role};
use protocol::{
    access::{DeviceRecord, Revoked},
    attach::Mode,
    pairing::{Approve, NewOffer, OfferMade, RequestStatus, RequestView},
    sessions::{NewSession, Session},
};
use serde::Serialize;

use crate::{Answer, Attached, EventReader, until, within};

/// Whoever can open the Unix socket.
#[derive(Clone, Debug)]
pub struct Owner {
    client: reqwest::Client,
    socket: PathBuf,
}

impl Owner {
    /// Speaks to the socket.
    ///
    /// # Panics
    /// Where no client can be made.
    pub fn new(socket: PathBuf) -> Self {
        crate::device::install_crypto();
        let client = reqwest::Client::builder()
            .unix_socket(socket.clone())
            .no_proxy()
            .build();
        Self {
            client: client.expect("a client needs nothing"),
            socket,
        }
    }

    /// Sends one request.
    pub async fn request(&self, method: &str, path: &str, body: Option<&impl Serialize>) -> Answer {
        let method = method.parse().expect("tests use real methods");
        let mut request = self.client.request(method, format!("http://transom{path}"));
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = within(path, request.send())
            .await
            .unwrap_or_else(|error| panic!("{path}: {error:?}"));
        within(path, Answer::read(response))
            .await
            .unwrap_or_else(|error| panic!("{path}: {error:?}"))
    }

    /// Reads a resource.
    pub async fn get(&self, path: &str) -> Answer {
        self.request("GET", path, None::<&()>).await
    }

    /// Reads a resource of a daemon that may be away.
    pub async fn try_get(&self, path: &str) -> Option<Answer> {
        let request = self.client.get(format!("http://transom{path}"));
        let response = within(path, request.send()).await.ok()?;
        within(path, Answer::read(response)).await.ok()
    }

    /// Posts a body.
    pub async fn post(&self, path: &str, body: &impl Serialize) -> Answer {
        self.request("POST", path, Some(body)).await
    }

    /// Makes an offer.
    pub async fn offer(&self, role: Role, can_revoke: bool) -> OfferMade {
        let terms = NewOffer {
            role: Some(role),
            can_revoke: Some(can_revoke),
            ..NewOffer::default()
        };
        self.post("/v1/pairing/offers", &terms).await.ok()
    }

    /// The request with this id, as listed.
    pub async fn pairing_request(&self, id: RequestId) -> RequestView {
        let requests: Vec<RequestView> = self.get("/v1/pairing/requests").await.ok();
        requests
            .into_iter()
            .find(|request| request.id == id)
            .expect("the request is listed")
    }

    /// Says yes to a request, with its offer's terms.
    pub async fn approve(&self, id: RequestId) -> Answer {
        self.post(&format!("/v1/pairing/requests/{id}/approve"), &Approve::default())
            .await
    }

    /// Waits for somebody who shows a code, and gives back the request.
    pub async fn asked(&self) -> RequestView {
        until("a request that shows a code", || async {
            let requests: Vec<RequestView> = self.get("/v1/pairing/requests").await.ok();
            requests
                .into_iter()
                .find(|request| request.state == RequestStatus::Pending && request.code.is_some())
        })
        .await
    }

    /// Revokes a device.
    pub async fn revoke(&self, id: DeviceId) -> Revoked {
        self.request("DELETE", &format!("/v1/devices/{id}"), None::<&()>)
            .await
            .ok()
    }

    /// The paired devices.
    pub async fn devices(&self) -> Vec<DeviceRecord> {
        self.get("/v1/devices").await.ok()
    }

    /// Starts a program, as a shell would run it.
    pub async fn shell(&self, script: &str) -> Session {
        let session = NewSession {
            command: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            ..NewSession::default()
        };
        self.post("/v1/sessions", &session).await.ok()
    }

    /// A session as it is now.
    pub async fn session(&self, id: &str) -> Session {
        self.get(&format!("/v1/sessions/{id}")).await.ok()
    }

    /// The session once its program has ended.
    pub async fn ended(&self, id: &str) -> Session {
        until("a session's end", || async {
            Some(self.session(id).await).filter(|session| session.exit.is_some())
        })
        .await
    }

    /// Attaches; `from` is an offset or `screen`.
    pub async fn attach(&self, id: &str, mode: Mode, from: &str) -> Attached {
        Attached::over_unix(&self.socket, id, mode, from, None).await
    }

    /// Attaches as the client that chose this id, to write.
    pub async fn attach_as(&self, client: &str, id: &str, from: &str) -> Attached {
        Attached::over_unix(&self.socket, id, Mode::Write, from, Some(client)).await
    }

    /// Follows the events.
    pub async fn events(&self, after: Option<u64>) -> EventReader {
        let query = after.map(|after| format!("?after={after}")).unwrap_or_default();
        let request = self.client.get(format!("http://transom/v1/events{query}"));
        EventReader::new(
            within("the event stream", request.send())
                .await
                .expect("the daemon answers"),
        )
    }
}
