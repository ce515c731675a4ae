//! A client that goes by the description: methods, paths, queries and bodies are its examples, but for ids, keys and signatures.

use std::{collections::BTreeSet, net::SocketAddr, path::PathBuf};

use harness::{Answer, DeviceKey, Owner, RawRequest, TestDaemon, TlsClient, until, within};
use pairing::{Commitment, KeyHolder, guest_text, pair_text, proof_text};
use protocol::Bytes64;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

use super::Description;

pub(crate) struct Client {
    description: Description,
    owner: Owner,
    socket: PathBuf,
    address: SocketAddr,
    pin: String,
    done: BTreeSet<String>,
}

/// Who asks.
pub(crate) enum Who {
    /// The owner, on the Unix socket.
    Owner(Owner),
    /// Whoever shows this, over TLS.
    Remote(TlsClient, Option<String>),
}

impl Client {
    pub(crate) async fn of(daemon: &TestDaemon) -> Self {
        Self {
            description: Description::of(daemon).await,
            owner: daemon.owner(),
            socket: daemon.socket(),
            address: daemon.address(),
            pin: daemon.pin().to_owned(),
            done: BTreeSet::new(),
        }
    }

    pub(crate) fn owner(&self) -> Who {
        Who::Owner(self.owner.clone())
    }

    pub(crate) fn stranger(&self) -> Who {
        Who::Remote(TlsClient::new(self.address, &self.pin), None)
    }

    fn bearer(&self, token: &Value) -> Who {
        let token = token.as_str().unwrap().to_owned();
        Who::Remote(TlsClient::new(self.address, &self.pin), Some(token))
    }

    /// Sends the example of an operation, with the fields that are wanted otherwise, and none that is wanted to be null; whatever
    /// comes back is described.
    pub(crate) async fn asks(&self, who: &Who, name: &str, id: &str, wanted: &Value) -> Answer {
        let operation = self.description.operation(name);
        let path = operation.target(id, wanted);
        let body = operation.body().map(|mut body| {
            let fields = body.as_object_mut().unwrap();
            fields.extend(wanted.as_object().unwrap().clone());
            fields.retain(|_, value| !value.is_null());
            body
        });
        let method = &operation.method;
        let answer = match who {
            Who::Owner(owner) => owner.request(method, &path, body.as_ref()).await,
            Who::Remote(client, bearer) => {
                client
                    .request(method, &path, bearer.as_deref(), body.as_ref())
                    .await
            }
        };
        let fault = self.description.fault(&operation, &answer);
        assert_eq!(fault, None, "{name} {wanted}");
        answer
    }

    /// The same, and it is done.
    async fn does(&mut self, who: &Who, name: &str, id: &str, wanted: Value) -> Value {
        let answer = self.asks(who, name, id, &wanted).await;
        assert!(answer.status < 400, "{name} {wanted}: {}", answer.verdict());
        self.done.insert(name.to_owned());
        serde_json::from_str(&answer.body).unwrap_or(Value::String(answer.body))
    }

    /// The operations that were not done.
    pub(crate) fn undone(&self) -> Vec<String> {
        let all = self.description.operations().into_iter();
        let names = all.map(|operation| operation.name);
        names.filter(|name| !self.done.contains(name)).collect()
    }

    pub(crate) async fn looks_around(&mut self) {
        let (owner, stranger) = (self.owner(), self.stranger());
        self.does(&stranger, "health", "", json!({})).await;
        for name in [
            "health",
            "openapi",
            "whoami",
            "status",
            "configuration",
            "metrics",
            "list_audit",
            "verify_audit",
            "certificates",
            "list_devices",
            "list_guests",
            "list_offers",
            "list_requests",
            "list_sessions",
        ] {
            self.does(&owner, name, "", json!({})).await;
        }
    }

    /// Gives its id; it runs still.
    pub(crate) async fn uses_a_session(&mut self) -> String {
        let owner = self.owner();
        let made = self.does(&owner, "create_session", "", json!({})).await;
        let id = made["id"].as_str().unwrap();
        let waited = self.does(&owner, "wait_for_session", id, json!({})).await;
        assert_eq!(waited["reason"], "text");
        for name in [
            "show_session",
            "read_output",
            "read_screen",
            "read_recording",
            "leave_note",
            "resize_session",
            "type_text",
            "press_keys",
            "change_session",
        ] {
            self.does(&owner, name, id, json!({})).await;
        }
        let text = self
            .does(&owner, "read_screen", id, json!({ "format": "text" }))
            .await;
        assert!(text.as_str().unwrap().contains("ready"), "{text}");
        let listed = self.does(&owner, "list_sessions", "", json!({})).await;
        assert_eq!(listed[0]["name"], "diary");
        id.to_owned()
    }

    /// The two that do not end by themselves.
    pub(crate) async fn streams(&mut self, session: &str) {
        let attach = self.description.operation("attach");
        assert!(attach.says("responses").get("101").is_some());
        let request = RawRequest::upgrade(&attach.target(session, &json!({}))).header("Host", "transom");
        assert_eq!(request.over_unix(&self.socket).await.status, 101);
        let owner = self.owner();
        let refused = self.asks(&owner, "attach", session, &json!({})).await;
        assert_eq!(refused.verdict(), "426 upgrade_required");
        self.done.insert("attach".to_owned());

        let events = self.description.operation("follow_events");
        let path = events.target("", &json!({ "after": null }));
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: transom\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        // It follows once its head has come: what happens then is told.
        within("the head", until_said(&mut stream, "\r\n\r\n")).await;
        self.does(&owner, "leave_note", session, json!({ "text": "told" }))
            .await;
        let said = within("an event", until_said(&mut stream, "\n\n")).await;
        let data = said.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let place = "/paths/~1v1~1events/get/responses/200/content/text~1event-stream/x-event-data/schema";
        let event = serde_json::from_str(data).unwrap();
        assert_eq!(self.description.mismatch(place, &event), None, "{event}");
        self.done.insert("follow_events".to_owned());
    }

    pub(crate) async fn pairs_and_ends_devices(&mut self) {
        let owner = self.owner();
        let made = self.does(&owner, "make_offer", "", json!({})).await;
        self.does(&owner, "withdraw_offer", id_of(&made), json!({})).await;
        let alone = self.requests_pairing(&DeviceKey::generate(), Value::Null).await;
        let id = alone["request_id"].as_str().unwrap();
        self.does(&owner, "reject_request", id, json!({})).await;

        let key = DeviceKey::generate();
        let (id, token) = self.pairs(&key).await;
        let device = self.proves(&token, &key, &id).await;
        for name in [
            "whoami",
            "openapi",
            "show_own_device",
            "rename_own_device",
            "list_sessions",
        ] {
            self.does(&device, name, "", json!({})).await;
        }
        self.does(&owner, "announce_key", "", json!({})).await;
        let proven = self.proof(&token, &key, &id).await;
        let device = self.bearer(&proven["access_token"]);
        let next = json!({ "next_pin": proven["next_pin"] });
        self.does(&device, "keep_next_pin", "", next).await;
        for name in ["rebind_device", "disconnect_device", "change_device"] {
            self.does(&owner, name, &id, json!({})).await;
        }

        let added = self.does(&owner, "add_device", "", json!({})).await;
        let script = self.bearer(&added["token"]);
        self.does(&script, "whoami", "", json!({})).await;
        let added = added["device_id"].as_str().unwrap();
        self.does(&owner, "list_devices", "", json!({})).await;
        self.does(&owner, "revoke_device", added, json!({})).await;
        assert_eq!(
            self.asks(&script, "whoami", "", &json!({})).await.verdict(),
            "401 revoked"
        );

        // What it may do has changed, so it proves its key once more.
        let device = self.proves(&token, &key, &id).await;
        self.does(&device, "sign_out", "", json!({})).await;
    }

    async fn requests_pairing(&mut self, key: &DeviceKey, offer: Value) -> Value {
        let commitment = Commitment::to(&key.public(), &NONCE).0;
        let wanted = json!({ "commitment": bytes(&commitment), "offer": offer });
        let stranger = self.stranger();
        self.does(&stranger, "request_pairing", "", wanted).await
    }

    /// Gives the device's id and token.
    async fn pairs(&mut self, key: &DeviceKey) -> (String, Value) {
        let owner = self.owner();
        let made = self
            .does(&owner, "make_offer", "", json!({ "role": "operator" }))
            .await;
        let [offer, secret] = fragment(&made["url"]);
        let requested = self
            .requests_pairing(key, json!({ "id": offer, "secret": secret }))
            .await;
        let request = requested["request_id"].as_str().unwrap();
        let lane = self.bearer(&requested["request_secret"]);
        let shown = json!({ "public_key": bytes(key.public().as_bytes()), "nonce": bytes(&NONCE) });
        self.does(&lane, "reveal_key", request, shown).await;
        self.does(&owner, "list_requests", "", json!({})).await;
        let yes = json!({ "role": "operator" });
        self.does(&owner, "approve_request", request, yes).await;
        let polled = self.does(&lane, "poll_request", request, json!({})).await;
        let nonce = polled["exchange_nonce"].as_str().unwrap();
        let audience = self.audience();
        let text = pair_text(request.parse().unwrap(), nonce, &audience.parse().unwrap());
        let signed = json!({ "audience": audience, "signature": bytes(&key.sign(&text)) });
        let exchanged = self.does(&lane, "exchange_request", request, signed).await;
        let holder = self.bearer(&exchanged["token"]);
        self.does(&holder, "commit_request", request, json!({})).await;
        let id = exchanged["device_id"].as_str().unwrap().to_owned();
        (id, exchanged["token"].clone())
    }

    /// Who the device or guest is that proves its key.
    async fn proves(&mut self, token: &Value, key: &DeviceKey, id: &str) -> Who {
        let proven = self.proof(token, key, id).await;
        self.bearer(&proven["access_token"])
    }

    async fn proof(&mut self, token: &Value, key: &DeviceKey, id: &str) -> Value {
        let challenge = self.challenge().await;
        let audience = self.audience();
        let holder = match id.parse() {
            Ok(device) => KeyHolder::Device(device),
            Err(_) => KeyHolder::Guest(id.parse().unwrap()),
        };
        let text = proof_text(&challenge, &audience.parse().unwrap(), holder);
        let shown = json!({
            "challenge": challenge, "audience": audience, "signature": bytes(&key.sign(&text)),
        });
        let holder = self.bearer(token);
        self.does(&holder, "prove", "", shown).await
    }

    async fn challenge(&mut self) -> String {
        let stranger = self.stranger();
        let made = self.does(&stranger, "make_challenge", "", json!({})).await;
        made["challenge"].as_str().unwrap().to_owned()
    }

    fn audience(&self) -> String {
        format!("pin:{}", self.pin)
    }

    pub(crate) async fn invites_and_ends_guests(&mut self, session: &str) {
        let (owner, stranger) = (self.owner(), self.stranger());
        let sessions = json!({ "sessions": [session] });
        let made = self.does(&owner, "invite_guests", "", sessions.clone()).await;
        let [id, secret] = fragment(&made[0]["url"]);
        let (key, challenge, audience) = (DeviceKey::generate(), self.challenge().await, self.audience());
        let text = guest_text(&challenge, &audience.parse().unwrap(), id.parse().unwrap());
        let shown = json!({
            "id": id, "secret": secret, "public_key": bytes(key.public().as_bytes()), "challenge": challenge,
            "audience": audience, "signature": bytes(&key.sign(&text)),
        });
        let joined = self.does(&stranger, "join_as_guest", "", shown).await;
        let guest = self.proves(&joined["token"], &key, &id).await;
        for name in ["whoami", "openapi", "show_own_guest", "list_sessions"] {
            self.does(&guest, name, "", json!({})).await;
        }
        self.does(&guest, "show_session", session, json!({})).await;
        self.does(&owner, "list_guests", "", json!({})).await;
        self.does(&guest, "leave_as_guest", "", json!({})).await;
        let made = self.does(&owner, "invite_guests", "", sessions).await;
        self.does(&owner, "end_guest", id_of(&made[0]), json!({})).await;
    }

    pub(crate) async fn minds_certificates(&mut self) {
        let owner = self.owner();
        for name in ["make_root", "root_certificate", "certificates", "forget_root"] {
            self.does(&owner, name, "", json!({})).await;
        }
        let gone = self.asks(&owner, "root_certificate", "", &json!({})).await;
        assert_eq!(gone.verdict(), "404 not_found");
    }

    pub(crate) async fn ends_a_session(&mut self, session: &str) {
        let owner = self.owner();
        for name in ["stop_session", "delete_session", "restore_session"] {
            self.does(&owner, name, session, json!({})).await;
        }
    }

    pub(crate) async fn locks_down_and_ends_the_daemon(&mut self) {
        let owner = self.owner();
        for name in ["lock_down", "lift_lockdown", "reload", "rotate_key"] {
            self.does(&owner, name, "", json!({})).await;
        }
        let ending = self.does(&owner, "restart", "", json!({})).await;
        until("another life", || async {
            let answer = self.owner.try_get("/v1/whoami").await?;
            (answer.ok::<Value>()["life"] != ending["life"]).then_some(())
        })
        .await;
        self.does(&owner, "shut_down", "", json!({})).await;
    }
}

async fn until_said(stream: &mut UnixStream, end: &str) -> String {
    let mut said = String::new();
    let mut piece = [0; 4096];
    while !said.contains(end) {
        let read = stream.read(&mut piece).await.unwrap();
        assert_ne!(read, 0, "it ended: {said}");
        said.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    said
}

/// Id and secret of a link.
fn fragment(url: &Value) -> [String; 2] {
    let (_, fragment) = url.as_str().unwrap().split_once('#').unwrap();
    let mut parts = fragment.split('.').map(str::to_owned);
    [parts.next().unwrap(), parts.next().unwrap()]
}

fn id_of(made: &Value) -> &str {
    made["id"].as_str().unwrap()
}

fn bytes(bytes: &[u8]) -> Value {
    serde_json::to_value(Bytes64(bytes.to_vec())).unwrap()
}

const NONCE: [u8; 32] = [7; 32];
