//! `transom pair` where an approved device does not finish. An access layer of the test's own gives it next to no time.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use certs::{Identity, Names, Resolver, UnixTime};
use harness::{Elsewhere, Owner, Pairing, Running, TerminalOf, until};
use pairing::PairingLimits;
use protocol::{audit::AuditRecord, pairing::OfferMade};
use server::{
    Access, Deps, Listener, LockdownFile, OneDoor, Server, ServerConfig, Shutdown, Stop, clock, store::Store,
};
use tokio::net::{TcpListener, UnixListener};

#[tokio::test]
async fn a_device_that_was_approved_and_did_not_finish_is_not_paired_and_the_exit_code_says_so() {
    let (machine, daemon) = (Elsewhere::new(), Impatient::default());
    let address = daemon.serve(machine.folder()).await;
    let mut pair = Running::start(&mut machine.command(&["pair", "--json", "--yes"]));
    let offer: OfferMade = serde_json::from_str(&pair.line().await.unwrap()).unwrap();
    let mut device = Pairing::with_fragment_at(address, fragment(&offer));
    device.ask().await;
    pair.line_with("\"approved\"").await;
    pair.line_with("\"expired\"").await;
    let finished = pair.finish().await;
    assert_eq!(finished.code, 5, "{finished:?}");
    assert_eq!(device.try_exchange("late").await.status / 100, 4);
    let devices = machine.cli(&["devices", "--json"]).await;
    assert_eq!(devices.json(), serde_json::json!([]));
    let owner = Owner::new(machine.folder().join("transom.sock"));
    until("the row of a yes that came to nothing", || async {
        let rows: Vec<AuditRecord> = owner.get("/v1/audit?action=pairing_lapsed").await.ok();
        (rows.len() == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_live_list_says_that_the_device_did_not_finish() {
    let (machine, daemon) = (Elsewhere::new(), Impatient::default());
    let address = daemon.serve(machine.folder()).await;
    let terminal = TerminalOf::start(&machine.command(&["pair", "--pending"]), 80, 24).await;
    terminal.until_shows("nobody asks").await;
    let pin = daemon.pin(machine.folder());
    let mut device = Pairing::without_offer(address, &pin);
    terminal
        .until_shows(&device.ask_as("a tablet").await.grouped())
        .await;
    terminal.types(b"1").await;
    terminal.until_shows("y  yes: pair it as viewer").await;
    terminal.types(b"y").await;
    terminal
        .until_shows("\"a tablet\" was approved, and did not finish in time")
        .await;
    terminal.types(b"q").await;
    terminal.exit().await;
    assert_eq!(
        machine.cli(&["devices", "--json"]).await.json(),
        serde_json::json!([])
    );
}

/// Ends with the test.
#[derive(Default)]
struct Impatient(Stop);

impl Impatient {
    /// Serves on the socket of a folder, and on a port.
    async fn serve(&self, folder: &Path) -> SocketAddr {
        rustls::crypto::ring::default_provider().install_default().ok();
        let keys = folder.join("keys");
        let identity = Identity::load_or_create(&keys).unwrap();
        let opened = Store::open(&folder.join("transom.db"), &keys, clock::now()).unwrap();
        let certified = identity.certificate(&Names::new(&opened.instance), UnixTime::now());
        let config = certs::server_config(Resolver::new(certified.unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let unix = UnixListener::bind(folder.join("transom.sock")).unwrap();
        let door = Arc::new(OneDoor::new(address, &config));
        let about = ServerConfig {
            link_authority: Some(address.to_string()),
            pairing: PairingLimits {
                // What the command says and asks after the yes comes before its end, also on a busy machine.
                completion: Duration::from_secs(3),
                ..PairingLimits::default()
            },
            ..ServerConfig::new("session", env!("CARGO_PKG_VERSION"))
        };
        let deps = Deps::new(opened, identity.pin(), door, LockdownFile::new(folder));
        let server = Server::new(Access::new(about, deps));
        let listeners = vec![Listener::Unix(unix), Listener::Tls { listener, config }];
        tokio::spawn(server.serve(listeners, self.0.clone()));
        address
    }

    fn pin(&self, folder: &Path) -> String {
        Identity::load_or_create(&folder.join("keys"))
            .unwrap()
            .pin()
            .to_string()
    }
}

impl Drop for Impatient {
    fn drop(&mut self) {
        self.0.request(Shutdown::Hard);
    }
}

fn fragment(offer: &OfferMade) -> &str {
    offer
        .url
        .expose()
        .split_once('#')
        .expect("a link has a fragment")
        .1
}
