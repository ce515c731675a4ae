//! Revoking a device with many connections, beside one fsync and the closing of as many bare TLS streams.

use std::{
    fs::File,
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use certs::{Identity, Names, Resolver, UnixTime};
use protocol::attach::Mode;
use rustls::ServerConnection;
use tempfile::TempDir;

use super::raise_descriptors;
use crate::{
    client::{self, Client, Http},
    figures::Findings,
    gate::Gate,
    report::Figure,
    sampling::{median, tail},
    under_test::{UnderTest, program},
};

pub(in crate::figures) fn run(findings: &mut Findings) -> Result<()> {
    raise_descriptors()?;
    let gate = Gate::new()?;
    let daemon = UnderTest::start()?;
    let rests = program(&["rest", &gate.path().display().to_string(), "10"])?;
    let session = daemon.session(&rests)?;
    let _rests = gate.arrival()?;
    let others = daemon.bearer()?;
    let _others = Crowd::of(&daemon, &session, others.token.expose(), MANY)?;
    let bare = Bare::new()?;
    for (count, times) in [(MANY, 50), (FEW, 1_000)] {
        let (mut floor, mut taken) = (Vec::new(), Vec::new());
        for _ in 0..times {
            floor.push(bare.end(count)?);
            taken.push(revoked(&daemon, &session, count)?);
        }
        let (name, value) = tail(&taken);
        let beside = |name: String, value: f64, floor: f64| {
            let target = "≤ 3 × fsync and closing";
            Figure::beside(&name, (value, "ms"), floor, target, |ratio| ratio <= 3.0)
        };
        // The same of both: what the disk takes in its worst moments is no part of a median.
        findings.add(beside(format!("revoke {count}, {name}"), value, tail(&floor).1).required());
        findings.add(beside(
            format!("revoke {count}, {name} beside a median"),
            value,
            median(&floor),
        ));
        findings.add(beside(
            format!("revoke {count}, median"),
            median(&taken),
            median(&floor),
        ));
    }
    Ok(())
}

/// Milliseconds from the owner's request to its answer.
fn revoked(daemon: &UnderTest, session: &str, count: usize) -> Result<f64> {
    let device = daemon.bearer()?;
    let crowd = Crowd::of(daemon, session, device.token.expose(), count)?;
    let owner = daemon.owner();
    let begun = Instant::now();
    let revoked = daemon.revoke(&owner, device.device_id);
    let taken = begun.elapsed();
    ensure!(
        revoked.closed == count as u64,
        "{} of {count} connections were closed",
        revoked.closed
    );
    drop(crowd);
    Ok(taken.as_secs_f64() * 1e3)
}

/// Connections of one device: attachments, long polls and event streams, a third of each.
struct Crowd {
    _attached: Vec<Client>,
    _asking: Vec<Http>,
}

impl Crowd {
    fn of(daemon: &UnderTest, session: &str, token: &str, count: usize) -> Result<Self> {
        let (mut attached, mut asking) = (Vec::new(), Vec::new());
        for number in 0..count {
            match number % 3 {
                0 => {
                    let mut viewer = daemon.attach_as(token, session, Mode::View)?;
                    viewer.first_screen()?;
                    attached.push(viewer);
                }
                1 => {
                    let mut http = daemon.connect()?;
                    // Once known for whose it is, it waits for a text that nobody writes.
                    ensure!(
                        http.get("/v1/whoami", Some(token))?.status == 200,
                        "it was refused"
                    );
                    http.begin(&format!("/v1/sessions/{session}/wait?text=never"), token)?;
                    asking.push(http);
                }
                _ => {
                    let mut http = daemon.connect()?;
                    http.begin("/v1/events", token)?;
                    http.begun()?;
                    asking.push(http);
                }
            }
        }
        Ok(Self {
            _attached: attached,
            _asking: asking,
        })
    }
}

/// The floor: a listener whose streams are TLS and nothing more, and a file that is synced.
struct Bare {
    listener: TcpListener,
    address: SocketAddr,
    config: std::sync::Arc<rustls::ServerConfig>,
    pin: String,
    folder: TempDir,
}

impl Bare {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let identity = Identity::load_or_create(&folder.path().join("keys"))?;
        let certificate = identity.certificate(&Names::new("floor"), UnixTime::now())?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            config: certs::server_config(Resolver::new(certificate)),
            pin: identity.pin().to_string(),
            folder,
        })
    }

    /// Milliseconds for one fsync and the closing of so many streams.
    fn end(&self, count: usize) -> Result<f64> {
        let (accepted, connected) = thread::scope(|scope| {
            let accepting = scope.spawn(|| (0..count).map(|_| self.accept()).collect::<Result<Vec<_>>>());
            let connected = (0..count).map(|_| client::connect(self.address, &self.pin));
            let connected = connected.collect::<Result<Vec<_>>>()?;
            let accepted = accepting.join().ok().context("the floor panicked")??;
            anyhow::Ok((accepted, connected))
        })?;
        let mut file = File::create(self.folder.path().join("synced"))?;
        let begun = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_all()?;
        drop(accepted);
        let taken = begun.elapsed();
        drop(connected);
        Ok(taken.as_secs_f64() * 1e3)
    }

    fn accept(&self) -> Result<(ServerConnection, TcpStream)> {
        let (mut stream, _) = self.listener.accept()?;
        let mut connection = ServerConnection::new(self.config.clone())?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream)?;
        }
        Ok((connection, stream))
    }
}

/// Connections of the device, and as many of another beside them.
const MANY: usize = 1_000;
const FEW: usize = 10;
