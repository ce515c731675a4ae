//! The daemon under test, as its clients meet it.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use harness::{Answer, DaemonOptions, Device, Owner, TestDaemon};
use pairing::{DeviceId, Role};
use protocol::{
    access::{DeviceAdded, NewDevice, Revoked},
    attach::Mode,
    sessions::{NewSession, Session},
};
use rustix::process::Signal;
use tokio::runtime::Runtime;

use crate::{
    client::{Client, Http, Wire},
    kernel::{self, Memory},
};

/// A daemon with one paired device. Dropping it kills it and all that its sessions run.
pub(crate) struct UnderTest {
    daemon: TestDaemon,
    device: Device,
    // Last, since the daemon's child belongs to it.
    runtime: Runtime,
}

/// The processes whose costs are the daemon's.
pub(crate) struct Processes {
    pub(crate) daemon: u32,
    /// The keeper, where this build has one and it runs.
    pub(crate) keeper: Option<u32>,
    /// One per session.
    pub(crate) reapers: Vec<u32>,
}

impl UnderTest {
    /// A daemon that takes as many connections as a figure needs.
    pub(crate) fn start() -> Result<Self> {
        Self::start_with(options())
    }

    /// A daemon with another configuration.
    pub(crate) fn start_with(options: DaemonOptions) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (daemon, device) = runtime.block_on(async {
            let daemon = TestDaemon::start_with(options).await;
            let device = daemon.device(Role::Operator).await;
            (daemon, device)
        });
        Ok(Self {
            runtime,
            daemon,
            device,
        })
    }

    /// Starts a program.
    pub(crate) fn session(&self, words: &[String]) -> Result<String> {
        let (command, arguments) = words.split_first().context("a program has a name")?;
        let wish = NewSession {
            command: command.clone(),
            args: arguments.to_vec(),
            ..NewSession::default()
        };
        let made = self
            .runtime
            .block_on(self.daemon.owner().post("/v1/sessions", &wish));
        Ok(made.ok::<Session>().id)
    }

    /// Follows a session.
    pub(crate) fn attach(&self, wire: Wire, session: &str, mode: Mode) -> Result<Client> {
        self.attach_from(wire, session, mode, "screen")
    }

    /// Follows a session from an offset, or from its screen.
    pub(crate) fn attach_from(&self, wire: Wire, session: &str, mode: Mode, from: &str) -> Result<Client> {
        let path = path(session, mode, from)?;
        match wire {
            Wire::Unix => Client::unix(&self.daemon.ready().socket, &path),
            Wire::Tls => self.tls(self.daemon.address(), &path),
        }
    }

    /// Follows a session by a proxy at the address.
    pub(crate) fn attach_by(&self, address: SocketAddr, session: &str, mode: Mode) -> Result<Client> {
        self.tls(address, &path(session, mode, "screen")?)
    }

    fn tls(&self, address: SocketAddr, path: &str) -> Result<Client> {
        Client::tls(
            address,
            self.daemon.pin(),
            path,
            &self.runtime.block_on(self.device.access()),
        )
    }

    /// Its pin.
    pub(crate) fn pin(&self) -> &str {
        self.daemon.pin()
    }

    /// Has it read its configuration and certificates again.
    pub(crate) fn reload(&self) -> Result<()> {
        let owner = self.daemon.owner();
        let reloaded = self
            .runtime
            .block_on(owner.post("/v1/reload", &serde_json::json!({})));
        ensure!(reloaded.status / 100 == 2, "{reloaded:?}");
        Ok(())
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.daemon.address()
    }

    /// Follows a session over TLS as any device, by its token.
    pub(crate) fn attach_as(&self, token: &str, session: &str, mode: Mode) -> Result<Client> {
        let path = path(session, mode, "screen")?;
        Client::tls(self.daemon.address(), self.daemon.pin(), &path, token)
    }

    /// Connects over TLS, as nobody yet.
    pub(crate) fn connect(&self) -> Result<Http> {
        Http::connect(self.daemon.address(), self.daemon.pin())
    }

    /// The paired device.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// An access token of the paired device.
    pub(crate) fn access(&self) -> String {
        self.runtime.block_on(self.device.access())
    }

    /// Another device, without a key: its token opens the daemon by itself.
    pub(crate) fn bearer(&self) -> Result<DeviceAdded> {
        self.add(None)
    }

    /// The same in a role.
    pub(crate) fn add(&self, role: Option<Role>) -> Result<DeviceAdded> {
        let wish = NewDevice {
            label: "a bench".to_owned(),
            role,
            expires_in: None,
        };
        let added = self
            .runtime
            .block_on(self.daemon.owner().post("/v1/devices", &wish));
        ensure!(added.status / 100 == 2, "{added:?}");
        Ok(added.ok())
    }

    /// Revokes a device, as the owner.
    pub(crate) fn revoke(&self, owner: &Owner, device: DeviceId) -> Revoked {
        self.runtime.block_on(owner.revoke(device))
    }

    /// The owner's client, which is not connected yet.
    pub(crate) fn owner(&self) -> Owner {
        self.daemon.owner()
    }

    /// Ends a session's program and all it started.
    pub(crate) fn stop(&self, session: &str) {
        let path = format!("/v1/sessions/{session}/stop");
        self.runtime
            .block_on(self.daemon.owner().post(&path, &serde_json::json!({})));
    }

    /// Reads a resource as the owner.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.runtime.block_on(self.daemon.owner().get(path))
    }

    /// Where a session's output ends now.
    pub(crate) fn end(&self, session: &str) -> u64 {
        self.runtime.block_on(self.daemon.owner().session(session)).end
    }

    /// Kills the daemon with SIGKILL and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.daemon.signal(Signal::KILL);
        self.runtime.block_on(self.daemon.ended());
    }

    /// Starts a daemon in the folder of the one that was killed, and waits until it says that it is ready.
    pub(crate) fn start_again(&mut self) {
        self.runtime.block_on(self.daemon.start_again_with(&options()));
    }

    /// Where all its state is.
    pub(crate) fn folder(&self) -> &Path {
        self.daemon.folder()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// The processes that there are now.
    pub(crate) fn processes(&self) -> Result<Processes> {
        Processes::of(self.daemon.pid(), &self.daemon.folder().join("keeper.sock"))
    }
}

impl Drop for UnderTest {
    fn drop(&mut self) {
        // What runs below a keeper outlives its daemon.
        if let Ok(Processes { keeper: Some(_), .. }) = self.processes() {
            let all = serde_json::json!({ "sessions": true });
            self.runtime.block_on(async {
                self.daemon.owner().post("/v1/shutdown", &all).await;
                self.daemon.ended().await;
            });
        }
    }
}

impl Processes {
    fn of(daemon: u32, keeper: &Path) -> Result<Self> {
        let keeper = kernel::listener_of(&keeper.display().to_string(), daemon)?;
        let ours = kernel::binary_of(daemon);
        // A reaper is forked and not executed, so it runs our binary; the program below it does not.
        let reapers = keeper.map(harness::descendants).unwrap_or_default();
        let reapers = reapers
            .into_iter()
            .filter(|pid| ours.is_some() && kernel::binary_of(*pid) == ours);
        Ok(Self {
            daemon,
            keeper,
            reapers: reapers.collect(),
        })
    }

    fn all(&self) -> impl Iterator<Item = u32> {
        std::iter::once(self.daemon)
            .chain(self.keeper)
            .chain(self.reapers.iter().copied())
    }

    /// Processor time of all of them.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        self.all().map(kernel::cpu_seconds).sum()
    }

    /// Memory of all of them.
    pub(crate) fn memory(&self) -> Result<Memory> {
        let each: Vec<Memory> = self.all().map(kernel::memory).collect::<Result<_>>()?;
        Ok(Memory {
            proportional: each.iter().map(|memory| memory.proportional).sum(),
            private: each.iter().map(|memory| memory.private).sum(),
        })
    }

    /// Wake-ups so far, by thread.
    pub(crate) fn switches(&self) -> Result<BTreeMap<String, u64>> {
        let each: Vec<_> = self.all().map(kernel::switches).collect::<Result<_>>()?;
        Ok(each.into_iter().flatten().collect())
    }
}

/// This binary with other words, as a program.
pub(crate) fn program(words: &[&str]) -> Result<Vec<String>> {
    let binary: PathBuf = std::env::current_exe()?;
    let mut program = vec![binary.display().to_string()];
    program.extend(words.iter().map(|word| (*word).to_owned()));
    Ok(program)
}

fn path(session: &str, mode: Mode, from: &str) -> Result<String> {
    let mode = serde_json::to_value(mode)?;
    let mode = mode.as_str().context("a mode is a string")?;
    Ok(format!("/v1/sessions/{session}/attach?mode={mode}&from={from}"))
}

fn options() -> DaemonOptions {
    DaemonOptions {
        config: "[limits]\nper_principal = 4096\n".to_owned(),
        ..DaemonOptions::default()
    }
}
