//! A tailscaled of one test: its LocalAPI on a Unix socket, as Tailscale's own clients know it.

use std::{
    collections::HashMap,
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::watch,
    task::JoinSet,
};

use crate::{DaemonOptions, TestDaemon};

/// Says what the test wants of a node, its tailnet and its certificates. Dropping it ends it.
pub struct Tailscaled {
    folder: TempDir,
    shared: Arc<Shared>,
    /// Who accepts, while it runs; with it go those that were accepted.
    running: JoinSet<()>,
}

struct Shared {
    state: Mutex<State>,
    /// Counts what the bus tells of.
    changes: watch::Sender<u64>,
}

struct State {
    phase: &'static str,
    name: String,
    addresses: Vec<IpAddr>,
    owner: (i64, String),
    tags: Vec<String>,
    peers: HashMap<IpAddr, Value>,
    /// Phones of users, each as the status lists it, with its user's login.
    phones: Vec<(Value, String)>,
    certificate: Option<Result<String, (u16, String)>>,
    hangs: bool,
    asked: Vec<String>,
}

impl Tailscaled {
    /// Runs a node of `alice@example.com` called `box.tail1234.ts.net` at these addresses, in a tailnet without others and
    /// without certificates.
    ///
    /// # Panics
    /// Where there is no place for its socket.
    pub fn start(addresses: &[&str]) -> Self {
        let state = State {
            phase: "Running",
            name: NAME.to_owned(),
            addresses: parsed(addresses),
            owner: (ALICE, "alice@example.com".to_owned()),
            tags: Vec::new(),
            peers: HashMap::new(),
            phones: Vec::new(),
            certificate: None,
            hangs: false,
            asked: Vec::new(),
        };
        let mut tailscaled = Self {
            folder: tempfile::tempdir().expect("a folder can be made"),
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                changes: watch::Sender::new(0),
            }),
            running: JoinSet::new(),
        };
        tailscaled.start_again();
        tailscaled
    }

    /// Where it is asked.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("tailscaled.sock")
    }

    /// The part of a configuration that asks it, with this list of who may come.
    pub fn config(&self, allow: &str) -> String {
        let socket = self.socket();
        format!(
            "[tailnet]\nmode = \"host\"\nallow = {allow}\nsocket = \"{}\"\n",
            socket.display()
        )
    }

    /// What a daemon is started with that listens in the tailnet and lets these come.
    pub fn options(&self, allow: &str) -> DaemonOptions {
        DaemonOptions {
            config: self.config(allow),
            arguments: ["--tls", "tailnet:0"].map(str::to_owned).to_vec(),
            ..DaemonOptions::default()
        }
    }

    /// Such a daemon.
    pub async fn daemon(&self, allow: &str) -> TestDaemon {
        TestDaemon::start_with(self.options(allow)).await
    }

    /// The node's MagicDNS name.
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// A node of a user behind an address; 42 is alice.
    pub fn user_at(&self, address: &str, node: &str, user: i64, login: &str) {
        let answer = json!({
            "Node": {
                "ID": 7, "StableID": node, "Name": format!("{node}.tail1234.ts.net."), "User": user,
                "Addresses": [format!("{address}/32")], "Tags": null,
            },
            "UserProfile": { "ID": user, "LoginName": login, "DisplayName": login },
            "CapMap": null,
        });
        self.change(|state| state.peers.insert(parsed(&[address])[0], answer));
    }

    /// A phone of a user is in the tailnet; 42 is alice.
    pub fn has_phone(&self, node: &str, user: i64, login: &str, is_online: bool) {
        let phone = json!({
            "ID": node, "PublicKey": format!("nodekey:{node}"), "HostName": node,
            "DNSName": format!("{node}.tail1234.ts.net."), "OS": "android", "UserID": user,
            "TailscaleIPs": ["100.64.0.9"], "Online": is_online,
        });
        self.change(|state| state.phones.push((phone, login.to_owned())));
    }

    /// A tagged node behind an address.
    pub fn tagged_at(&self, address: &str, node: &str, tag: &str) {
        let answer = json!({
            "Node": {
                "ID": 8, "StableID": node, "Name": format!("{node}.tail1234.ts.net."), "User": TAGGED,
                "Addresses": [format!("{address}/32")], "Tags": [tag],
            },
            "UserProfile": { "ID": TAGGED, "LoginName": "tagged-devices", "DisplayName": "Tagged Devices" },
            "CapMap": {},
        });
        self.change(|state| state.peers.insert(parsed(&[address])[0], answer));
    }

    /// Nobody is behind the address any more.
    pub fn forget(&self, address: &str) {
        self.change(|state| state.peers.remove(&parsed(&[address])[0]));
    }

    /// Other addresses of the node.
    pub fn move_to(&self, addresses: &[&str]) {
        self.change(|state| state.addresses = parsed(addresses));
    }

    /// What it is doing: `Running`, `Stopped`, `NeedsLogin`, `Starting`, or `NoState`, in which it knows nothing of its node.
    pub fn is_now(&self, phase: &'static str) {
        self.change(|state| state.phase = phase);
    }

    /// The node belongs to somebody else.
    pub fn belongs_to(&self, user: i64, login: &str) {
        self.change(|state| state.owner = (user, login.to_owned()));
    }

    /// The node is tagged, and nobody's.
    pub fn tag(&self, tag: &str) {
        self.change(|state| {
            state.tags = vec![tag.to_owned()];
            state.owner = (TAGGED, "tagged-devices".to_owned());
        });
    }

    /// The tailnet has a certificate for the node that is over in so long; returns it in PEM.
    ///
    /// # Panics
    /// Where none can be made.
    pub fn certify(&self, lasts: Duration) -> String {
        let (key, certificate) = pair(lasts);
        let answer = format!("{key}{certificate}");
        self.change(|state| state.certificate = Some(Ok(answer)));
        certificate
    }

    /// The tailnet has certificates, and this is what asking for one gives.
    pub fn certify_not(&self, status: u16, text: &str) {
        let refusal = Err((status, text.to_owned()));
        self.change(|state| state.certificate = Some(refusal));
    }

    /// The tailnet has no certificates any more.
    pub fn uncertify(&self) {
        self.change(|state| state.certificate = None);
    }

    /// From now on nothing is answered, but whoever comes is taken; or it goes on.
    pub fn hang(&self, hangs: bool) {
        self.change(|state| state.hangs = hangs);
    }

    /// Ends it, as if it were killed: its socket stays, and nobody is there.
    pub async fn kill(&mut self) {
        self.running.shutdown().await;
    }

    /// Starts it again.
    ///
    /// # Panics
    /// Where its socket cannot be made.
    pub fn start_again(&mut self) {
        std::fs::remove_file(self.socket()).ok();
        let listener = UnixListener::bind(self.socket()).expect("the folder is the test's own");
        let shared = Arc::clone(&self.shared);
        self.running.spawn(async move {
            let mut accepted = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                accepted.spawn(answer(stream, Arc::clone(&shared)));
            }
        });
    }

    /// How often it was asked something that begins like this, such as `whois`.
    pub fn asked(&self, what: &str) -> usize {
        let path = format!("/localapi/v0/{what}");
        let state = self.shared.state();
        state
            .asked
            .iter()
            .filter(|asked| asked.starts_with(&path))
            .count()
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) {
        change(&mut self.shared.state());
        self.shared.changes.send_modify(|changes| *changes += 1);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until_it_goes_on(&self) {
        let mut changes = self.changes.subscribe();
        while self.state().hangs {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl State {
    fn status(&self) -> Value {
        let certified: &[&str] = if self.certificate.is_some() { &[NAME] } else { &[] };
        if self.phase == "NoState" {
            return json!({
                "Version": "1.90.0", "TUN": true, "BackendState": self.phase, "HaveNodeKey": false, "AuthURL": "",
                "TailscaleIPs": null, "Self": { "ID": "", "DNSName": "", "UserID": 0, "TailscaleIPs": null },
                "Health": [], "CertDomains": null, "Peer": null, "User": null,
            });
        }
        let (id, login) = &self.owner;
        let user = |id: &Value, login: &str| json!({ "ID": id, "LoginName": login, "DisplayName": login });
        let mut users = serde_json::Map::new();
        let mut peers = serde_json::Map::new();
        users.insert(id.to_string(), user(&json!(id), login));
        for (phone, login) in &self.phones {
            users.insert(phone["UserID"].to_string(), user(&phone["UserID"], login));
            peers.insert(phone["PublicKey"].to_string(), phone.clone());
        }
        json!({
            "Version": "1.90.0", "TUN": true, "BackendState": self.phase, "HaveNodeKey": true, "AuthURL": "",
            "TailscaleIPs": self.addresses,
            "Self": {
                "ID": "nBox", "PublicKey": "nodekey:00", "HostName": "box", "DNSName": format!("{}.", self.name),
                "OS": "linux", "UserID": id, "TailscaleIPs": self.addresses, "Online": true,
                "Tags": if self.tags.is_empty() { Value::Null } else { json!(self.tags) },
            },
            "Health": [], "MagicDNSSuffix": "tail1234.ts.net",
            "CurrentTailnet": { "Name": "example.com", "MagicDNSSuffix": "tail1234.ts.net", "MagicDNSEnabled": true },
            "CertDomains": certified, "Peer": if peers.is_empty() { Value::Null } else { Value::Object(peers) },
            "User": users,
        })
    }

    /// The node itself, as whoever asks about one of its addresses is told.
    fn own(&self) -> Value {
        let (id, login) = &self.owner;
        json!({
            "Node": {
                "ID": 1, "StableID": "nBox", "Name": format!("{}.", self.name), "User": id,
                "Tags": if self.tags.is_empty() { Value::Null } else { json!(self.tags) },
            },
            "UserProfile": { "ID": id, "LoginName": login, "DisplayName": login },
            "CapMap": null,
        })
    }

    fn answer(&self, target: &str) -> (u16, String) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match path.strip_prefix("/localapi/v0/") {
            Some("status") => (200, self.status().to_string()),
            Some("whois") => match query.strip_prefix("addr=").map(str::parse::<IpAddr>) {
                Some(Ok(address)) if self.addresses.contains(&address) => (200, self.own().to_string()),
                Some(Ok(address)) => match self.peers.get(&address) {
                    Some(peer) => (200, peer.to_string()),
                    None => (404, "no match for IP:port\n".to_owned()),
                },
                _ => (400, "invalid 'addr' parameter\n".to_owned()),
            },
            Some(path) if path == format!("cert/{NAME}") && query.contains("type=pair") => {
                match &self.certificate {
                    Some(Ok(pair)) => (200, pair.clone()),
                    Some(Err((status, text))) => (*status, text.clone()),
                    None => (
                        500,
                        "your Tailscale account does not support getting TLS certs\n".to_owned(),
                    ),
                }
            }
            _ => (404, "404 page not found\n".to_owned()),
        }
    }
}

async fn answer(mut stream: UnixStream, shared: Arc<Shared>) {
    let Some((target, is_host)) = head(&mut stream).await else {
        return;
    };
    shared.state().asked.push(target.clone());
    shared.until_it_goes_on().await;
    let (status, body) = match is_host {
        true => shared.state().answer(&target),
        false => (403, "invalid localapi request\n".to_owned()),
    };
    if target.starts_with("/localapi/v0/watch-ipn-bus") {
        return tell_changes(stream, &shared).await;
    }
    let text = format!(
        "HTTP/1.1 {status} Status\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).await.ok();
}

/// A line at first, and one for each change, until whoever listens goes away.
async fn tell_changes(mut stream: UnixStream, shared: &Shared) {
    let mut changes = shared.changes.subscribe();
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    loop {
        let line = format!(
            "{{\"Version\":\"1.90.0\",\"SessionID\":\"{}\"}}\n",
            *changes.borrow_and_update()
        );
        let chunk = format!("{:x}\r\n{line}\r\n", line.len());
        if stream.write_all(chunk.as_bytes()).await.is_err() {
            return;
        }
        if changes.changed().await.is_err() {
            return;
        }
        shared.until_it_goes_on().await;
    }
}

/// What is asked for, and whether by the name that it goes by, from no page.
async fn head(stream: &mut UnixStream) -> Option<(String, bool)> {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(stream.read_u8().await.ok()?);
    }
    let text = String::from_utf8(text).ok()?;
    let target = text.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    let lower = text.to_ascii_lowercase();
    let is_host = lower.contains("\r\nhost: local-tailscaled.sock\r\n") && !lower.contains("\r\norigin:");
    Some((target, is_host))
}

fn pair(lasts: Duration) -> (String, String) {
    let key = KeyPair::generate().expect("a key can be made");
    let mut params = CertificateParams::new(vec![NAME.to_owned()]).expect("the name is one");
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    params.not_before = date_time_ymd(1970, 1, 1) + now.saturating_sub(Duration::from_secs(3600));
    params.not_after = date_time_ymd(1970, 1, 1) + now + lasts;
    let certificate = params.self_signed(&key).expect("a certificate can be made");
    (key.serialize_pem(), certificate.pem())
}

fn parsed(addresses: &[&str]) -> Vec<IpAddr> {
    let parse = |text: &&str| text.parse().expect("the test writes addresses");
    addresses.iter().map(parse).collect()
}

const NAME: &str = "box.tail1234.ts.net";
const ALICE: i64 = 42;
const TAGGED: i64 = 9_000;
