use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use certs::{Identity, Names, Resolver};
use pairing::DeviceId;
use protocol::WireSecret;
use reqwest::Method;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use rustls::pki_types::UnixTime;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    address::Address,
    device::Device,
    error::Error,
    https::Https,
    key::DeviceKey,
    place::Place,
    requests::Client,
    store::{Credential, Unstored},
};

/// A daemon that asks for proofs, over real TLS.
struct Daemon {
    state: Arc<State>,
    client: Client,
    _folder: tempfile::TempDir,
}

struct State {
    pin: String,
    device: DeviceId,
    public: [u8; 65],
    /// The challenge that is good now; each is good for one proof.
    challenge: AtomicU64,
    /// The access token that is good now: the number of the last proof, unless all were ended.
    access: AtomicU64,
    proofs: AtomicU64,
    expires_in: AtomicU64,
    is_revoked: Mutex<bool>,
    /// Method, path and bearer of each request.
    heard: Mutex<Vec<String>>,
}

const TOKEN: &str = "tsm_dev_the-device-token";
const DEVICE: &str = "dev_0123456789abcdef";

impl Daemon {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let identity = Identity::load_or_create(&folder.path().join("keys")).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_795_000_000));
        let certificate = identity
            .certificate(&Names::new("0011223344556677"), now)
            .unwrap();
        let acceptor = TlsAcceptor::from(certs::server_config(Resolver::new(certificate)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (key, key_text) = DeviceKey::generate().unwrap();
        let state = Arc::new(State {
            pin: identity.pin().to_string(),
            device: DEVICE.parse().unwrap(),
            public: *key.public().as_bytes(),
            challenge: AtomicU64::new(1),
            access: AtomicU64::new(0),
            proofs: AtomicU64::new(0),
            expires_in: AtomicU64::new(900),
            is_revoked: Mutex::new(false),
            heard: Mutex::default(),
        });
        let serving = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, state) = (acceptor.clone(), Arc::clone(&serving));
                tokio::spawn(async move {
                    if let Ok(mut stream) = acceptor.accept(stream).await {
                        while let Some(answer) = state.answer(&mut stream).await {
                            stream.write_all(answer.as_bytes()).await.unwrap();
                        }
                    }
                });
            }
        });
        let credential = Credential {
            address: address.parse().unwrap(),
            pin: identity.pin(),
            next_pin: None,
            instance: "0011223344556677".to_owned(),
            device_id: DEVICE.parse().unwrap(),
            label: "laptop".to_owned(),
            role: pairing::Role::Viewer,
            token: WireSecret::new(TOKEN),
            key: key_text,
            uncommitted: None,
        };
        Self {
            state,
            client: Client::of(Device::new(credential, Arc::new(Unstored)).unwrap()),
            _folder: folder,
        }
    }

    async fn ask(&self) -> Result<Value, String> {
        let answer = self.client.get::<Value>("/sessions").await;
        answer.map_err(|error| error.code().to_owned())
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.state.heard.lock().unwrap())
    }
}

impl State {
    /// Reads a request, and answers it as a daemon does that knows one device with a key.
    async fn answer(&self, stream: &mut (impl AsyncReadExt + Unpin)) -> Option<String> {
        let (head, body) = read(stream).await?;
        let field = |name: &str| {
            head.lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap_or_default()
                .to_owned()
        };
        let line = head
            .lines()
            .next()
            .unwrap()
            .trim_end_matches(" HTTP/1.1")
            .to_owned();
        let bearer = field("authorization: Bearer ");
        self.heard.lock().unwrap().push(format!("{line} {bearer}"));
        let (status, body) = self.decide(&line, &bearer, &body);
        Some(format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    fn decide(&self, line: &str, bearer: &str, body: &[u8]) -> (u16, String) {
        let refuse = |code: &str| {
            let challenge = format!("c{}", self.challenge.fetch_add(1, Ordering::SeqCst) + 1);
            let problem = json!({"type": "/problems/x", "title": "x", "status": 401, "code": code,
                "detail": "no", "hint": "", "challenge": challenge});
            (401, problem.to_string())
        };
        if *self.is_revoked.lock().unwrap() {
            return refuse("revoked");
        }
        if line == "POST /v1/auth/proof" {
            return match self.is_proven(bearer, body) {
                true => {
                    let number = self.proofs.fetch_add(1, Ordering::SeqCst) + 1;
                    self.access.store(number, Ordering::SeqCst);
                    let challenge = format!("c{}", self.challenge.fetch_add(1, Ordering::SeqCst) + 1);
                    let expires_in = self.expires_in.load(Ordering::SeqCst);
                    let proven = json!({"access_token": format!("tsm_acc_{number}"), "expires_in": expires_in,
                        "principal": "device", "challenge": challenge});
                    (200, proven.to_string())
                }
                false => refuse("bad_challenge"),
            };
        }
        match bearer.strip_prefix("tsm_acc_") {
            Some(number) if number == self.access.load(Ordering::SeqCst).to_string() => {
                (200, "[]".to_owned())
            }
            Some(_) => refuse("access_ended"),
            None => refuse("proof_required"),
        }
    }

    fn is_proven(&self, bearer: &str, body: &[u8]) -> bool {
        let proof: Value = serde_json::from_slice(body).unwrap();
        let challenge = format!("c{}", self.challenge.load(Ordering::SeqCst));
        let audience = format!("pin:{}", self.pin);
        let text = format!("transom-proof-v1\n{challenge}\n{audience}\n{}", self.device);
        let signature: protocol::Bytes64 = serde_json::from_value(proof["signature"].clone()).unwrap();
        bearer == TOKEN
            && proof["challenge"] == challenge
            && proof["audience"] == audience
            && UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.public)
                .verify(text.as_bytes(), &signature.0)
                .is_ok()
    }
}

async fn read(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(read @ 1..) => bytes.extend_from_slice(&piece[..read]),
            _ => return None,
        }
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        if bytes.len() >= end + 4 + length {
            return Some((head, bytes[end + 4..].to_vec()));
        }
    }
}

#[tokio::test]
async fn a_device_that_is_asked_for_a_proof_gives_it_and_goes_on_with_an_access_token() {
    let daemon = Daemon::start().await;
    assert_eq!(daemon.ask().await.unwrap(), json!([]));
    assert_eq!(
        daemon.heard(),
        [
            format!("GET /v1/sessions {TOKEN}"),
            format!("POST /v1/auth/proof {TOKEN}"),
            "GET /v1/sessions tsm_acc_1".to_owned(),
        ]
    );
    daemon.ask().await.unwrap();
    assert_eq!(daemon.heard(), ["GET /v1/sessions tsm_acc_1"]);
}

#[tokio::test]
async fn an_access_token_that_ended_early_is_replaced_without_a_word() {
    let daemon = Daemon::start().await;
    daemon.ask().await.unwrap();
    daemon.state.access.store(0, Ordering::SeqCst);
    daemon.ask().await.unwrap();
    assert_eq!(daemon.state.proofs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_access_token_is_renewed_before_its_end_in_one_round_trip() {
    let daemon = Daemon::start().await;
    // Its time is over as soon as it is given; its challenge is what the next proof signs.
    daemon.state.expires_in.store(0, Ordering::SeqCst);
    daemon.ask().await.unwrap();
    daemon.state.expires_in.store(900, Ordering::SeqCst);
    daemon.heard();
    daemon.ask().await.unwrap();
    let heard = daemon.heard();
    assert_eq!(heard.last().unwrap(), "GET /v1/sessions tsm_acc_2");
    assert!(
        !heard.iter().any(|line| line.contains("sessions tsm_acc_1")),
        "{heard:?}"
    );
}

#[tokio::test]
async fn those_who_ask_at_the_same_time_wait_for_one_proof() {
    let daemon = Daemon::start().await;
    let all = futures_util::future::join_all((0..20).map(|_| daemon.ask())).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(daemon.state.proofs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_attachment_that_needs_a_proof_is_asked_for_again_with_one() {
    let daemon = Daemon::start().await;
    // This daemon attaches nobody: what counts is what it is shown.
    daemon.client.upgrade("/sessions/x/attach").await.unwrap_err();
    assert_eq!(
        daemon.heard(),
        [
            format!("GET /v1/sessions/x/attach {TOKEN}"),
            format!("GET /v1/whoami {TOKEN}"),
            format!("POST /v1/auth/proof {TOKEN}"),
            "GET /v1/whoami tsm_acc_1".to_owned(),
            "GET /v1/sessions/x/attach tsm_acc_1".to_owned(),
        ]
    );
}

#[tokio::test]
async fn a_revoked_device_is_told_so_and_proves_nothing() {
    let daemon = Daemon::start().await;
    daemon.ask().await.unwrap();
    *daemon.state.is_revoked.lock().unwrap() = true;
    assert_eq!(daemon.ask().await.unwrap_err(), "revoked");
    assert_eq!(daemon.state.proofs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_daemon_with_another_key_hears_nothing() {
    let daemon = Daemon::start().await;
    let other = Identity::load_or_create(&tempfile::tempdir().unwrap().path().join("keys")).unwrap();
    let https = Https::to("desk", &daemon_address(&daemon), other.pin()).unwrap();
    let sent = https
        .request(Method::GET, "/whoami")
        .bearer_auth(TOKEN)
        .send()
        .await
        .unwrap_err();
    let error = crate::way::broken(https.place(), &sent);
    assert!(matches!(&error, Error::WrongPin { .. }), "{error:?}");
    assert!(https.upgrade("/sessions/x/attach", TOKEN).await.is_err());
    assert_eq!(daemon.heard(), [""; 0]);
}

fn daemon_address(daemon: &Daemon) -> Address {
    let Place::Remote { address, .. } = daemon.client.place() else {
        panic!("it is a remote")
    };
    address.parse().unwrap()
}
