//! `transom open`: a daemon elsewhere in the browser here, through the user's own `ssh`.

use std::{
    env,
    net::{IpAddr, Ipv4Addr, TcpListener},
    pin::pin,
    process::Stdio,
    time::Duration,
};

use ::client::{Address, Error, Https};
use certs::SpkiPin;
use protocol::access::Health;
use serde::Serialize;
use tokio::{
    net::lookup_host,
    process::Command,
    signal::unix::{SignalKind, signal},
    time::timeout,
};

use crate::{
    escape::escape,
    exit,
    failure::Failure,
    output,
    remote::Store,
    ssh::{Asking, Connection, Destination, Far, FarDaemon, free_port},
};

/// Arguments of `open`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Your own `ssh` goes there, with your configuration, keys and agent, and tells where the daemon listens and what its pin is; \
that pin is checked through the tunnel before a browser is opened. It is closed by Ctrl-C, or when `ssh` ends.

A browser keeps its pairing by address: so the same daemon is at the same port whenever that is free.")]
pub(crate) struct Args {
    /// user@host, or whatever else `ssh` takes; or a remote that was added so
    destination: String,
    /// The port on this machine, instead of one that is chosen by the daemon's id
    #[arg(long)]
    port: Option<u16>,
    /// Print the address, and open no browser
    #[arg(long)]
    no_browser: bool,
    /// How the command is called there, where `transom` is not found
    #[arg(long, value_name = "COMMAND")]
    program: Option<String>,
    /// Print the address as one line of JSON when it can be opened
    #[arg(long)]
    pub(super) json: bool,
}

/// What is open.
#[derive(Debug, Serialize)]
struct Opened {
    url: String,
    destination: String,
    instance: String,
    pin: String,
    port: u16,
}

/// Opens it, and stays until either side ends.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut asked = pin!(async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    });
    let failure = tokio::select! {
        ended = serve(args) => match ended {
            Ok(never) => match never {},
            Err(failure) => failure,
        },
        () = &mut asked => return Ok(exit::OK),
    };
    // Ctrl-C goes to `ssh` as well, whose end may be noticed first.
    match timeout(SIGNALLED, asked).await {
        Ok(()) => Ok(exit::OK),
        Err(_) => Err(failure),
    }
}

/// Opens it; returns only what kept it from being opened, or ended it.
async fn serve(args: &Args) -> Result<std::convert::Infallible, Failure> {
    let (far, expected) = far(args)?;
    let (mut connection, daemon) = Connection::open(&far, Asking::Allowed).await?;
    for line in connection.said() {
        output::note(&format!("ssh: {}", escape(&line)));
    }
    if let Some(pin) = expected.filter(|pin| *pin != daemon.pin) {
        return Err(Failure::wrong_key(&far.destination.to_string(), pin, daemon.pin));
    }
    let port = forward(&connection, args.port, &daemon).await?;
    check(&connection, &far, &daemon, port).await?;
    let opened = Opened {
        url: format!("https://{}:{port}/", host(&daemon.instance, port).await),
        destination: far.destination.to_string(),
        instance: daemon.instance.clone(),
        pin: daemon.pin.to_string(),
        port,
    };
    tell(&opened, args)?;
    Err(connection.ended().await)
}

/// What is meant: a remote that was added over SSH, with the pin that was agreed to then, or a destination.
fn far(args: &Args) -> Result<(Far, Option<SpkiPin>), Failure> {
    if let Ok(record) = Store::of_environment()?.get(&args.destination)
        && let Some(far) = record.ssh
    {
        let program = args.program.clone().or(far.program);
        return Ok((Far { program, ..far }, Some(record.pin)));
    }
    let destination: Destination = args.destination.parse().map_err(|_no_destination| {
        Failure::usage(
            "this is no destination of `ssh`",
            "give user@host, a host of your ssh_config(5), or ssh://user@host:port",
        )
    })?;
    let program = args.program.clone();
    Ok((Far { destination, program }, None))
}

/// Makes the tunnel at the port that is asked for, else at the daemon's usual one, else at a free one.
async fn forward(connection: &Connection, asked: Option<u16>, daemon: &FarDaemon) -> Result<u16, Failure> {
    if let Some(port) = asked {
        connection.forward(port).await?;
        return Ok(port);
    }
    let usual = usual_port(&daemon.instance);
    let is_free = TcpListener::bind((Ipv4Addr::LOCALHOST, usual)).is_ok();
    if is_free && connection.forward(usual).await.is_ok() {
        return Ok(usual);
    }
    let port = free_port()?;
    connection.forward(port).await?;
    output::note(&format!(
        "port {usual}, at which this daemon usually is here, is in use: at {port} a browser does not know its pairing of there"
    ));
    Ok(port)
}

/// Whether the daemon that was told of is at the other end.
async fn check(connection: &Connection, far: &Far, daemon: &FarDaemon, port: u16) -> Result<(), Failure> {
    let near = Address {
        host: Ipv4Addr::LOCALHOST.to_string(),
        port,
    };
    let https = Https::to(&far.destination.to_string(), &near, daemon.pin)?;
    match https.get::<Health>("/health").await {
        Ok(health) if health.instance == daemon.instance => Ok(()),
        Err(error) if !matches!(error, Error::NotUnderstood(..)) => {
            Err(connection.explained(error.into()).await)
        }
        _ => Err(Failure::failed(
            "no_daemon",
            format!(
                "what answers through the tunnel is not the daemon of {}",
                far.destination
            ),
            format!("see `{} status` there", far.program()),
        )),
    }
}

/// Says where it is, and opens a browser there if there is one.
fn tell(opened: &Opened, args: &Args) -> Result<(), Failure> {
    if args.json {
        output::json(opened)?;
    } else {
        output::line(&opened.url)?;
        output::note(&format!(
            "this is the daemon on {}, with the pin {}; Ctrl-C closes the way to it",
            opened.destination, opened.pin
        ));
    }
    if args.no_browser {
        return Ok(());
    }
    let has_display =
        ["DISPLAY", "WAYLAND_DISPLAY"].map(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    let begun = has_display.contains(&true).then(|| {
        Command::new("xdg-open")
            .arg(&opened.url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    });
    if !args.json && !matches!(begun, Some(Ok(_))) {
        output::note("no browser can be opened from here: open that address in one of this machine");
    }
    Ok(())
}

/// The name that keeps what a browser knows of this daemon apart from others, where this machine resolves it to itself.
async fn host(instance: &str, port: u16) -> String {
    let own = format!("{instance}.localhost");
    let found = lookup_host((own.as_str(), port)).await;
    let addresses: Vec<IpAddr> = found
        .map(|all| all.map(|at| at.ip()).collect())
        .unwrap_or_default();
    let is_here =
        addresses.contains(&Ipv4Addr::LOCALHOST.into()) && addresses.iter().all(IpAddr::is_loopback);
    match is_here {
        true => own,
        false => "localhost".to_owned(),
    }
}

/// The same for the same daemon, and below those that the system gives out by itself (ip(7), `ip_local_port_range`).
fn usual_port(instance: &str) -> u16 {
    // FNV-1a: any hash would do that stays the same in later versions.
    let hash = instance.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let offset = u16::try_from(hash % u32::from(PORTS)).expect("it is less than a number of 16 bits");
    FIRST_PORT + offset
}

/// How much later than the end of `ssh` the signal may be seen that ended both.
const SIGNALLED: Duration = Duration::from_millis(100);
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 12_000;

#[cfg(test)]
mod tests {
    use super::usual_port;

    #[test]
    fn a_daemon_is_always_at_the_same_port_and_others_are_elsewhere() {
        assert_eq!(usual_port("0123456789abcdef"), usual_port("0123456789abcdef"));
        assert_ne!(usual_port("0123456789abcdef"), usual_port("0123456789abcdee"));
        for number in 0..1000_u32 {
            assert!((20_000..32_000).contains(&usual_port(&number.to_string())));
        }
    }
}
