//! `transom up`: the daemon, in the foreground.

use std::{ffi::OsString, io::IsTerminal, path::PathBuf};

use clap::Parser;
use daemon::{UpError, UpOptions};
use protocol::access::Ready;

use crate::{
    escape::escape,
    exit,
    failure::{Failure, with_causes},
    output,
    wrap::wrap,
};

/// Arguments of `up`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep configuration, state and sockets in this directory (as TRANSOM_DIR does)
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// An address for a TLS listener, instead of the configured ones; port 0 picks a free port
    #[arg(long, value_name = "ADDR")]
    tls: Vec<String>,
    /// Say as one line of JSON when it is ready, and where
    #[arg(long)]
    pub(super) json: bool,
    /// Go on with a store that is older than what was written last, where devices that were revoked since are back; or, where it is
    /// gone, begin an empty one, in which none is paired
    #[arg(long)]
    accept_older_store: bool,
    /// Leave the terminal of whoever starts it
    #[arg(long, hide = true)]
    background: bool,
    /// Make no cgroups for sessions
    #[arg(long, hide = true)]
    no_cgroups: bool,
    /// Start a keeper that speaks no newer version of its messages, as an earlier build's
    #[arg(long, hide = true, value_name = "VERSION")]
    keeper_speaks: Option<u16>,
}

/// The same as a line of words, the verb being the first.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// Whether a daemon that is started with this line would take what is configured. Of a line that is none, nothing is known.
///
/// # Errors
/// What would keep it from starting.
pub(super) async fn check(line: &[OsString]) -> Result<(), Failure> {
    match Line::try_parse_from(line) {
        Ok(line) => {
            let checked = daemon::check(&line.args.options()).await;
            checked.map_err(|error| failure(&error))
        }
        Err(_) => Ok(()),
    }
}

impl Args {
    fn options(&self) -> UpOptions {
        UpOptions {
            dir: self.dir.clone(),
            tls: self.tls.clone(),
            no_cgroups: self.no_cgroups,
            keeper_speaks: self.keeper_speaks,
            accept_older_store: self.accept_older_store,
        }
    }
}

/// Runs the daemon until it is told to end.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    if args.background {
        // Only a leader of a process group cannot leave, and one was started by a shell: then that is its place.
        rustix::process::setsid().ok();
        std::env::set_current_dir("/")?;
    }
    let say = |ready: &Ready| {
        let said = if args.json {
            output::json(ready)
        } else {
            output::line(&described(ready, output::width()))
        };
        // Who started it may have gone: it serves all the same.
        said.ok();
    };
    daemon::up(&args.options(), say).map_err(|error| failure(&error))?;
    if std::io::stderr().is_terminal() {
        // Behind the `^C` that the terminal shows.
        output::note("\nthe daemon has ended");
    }
    Ok(exit::OK)
}

/// The failure with its causes.
pub(super) fn failure(error: &UpError) -> Failure {
    let detail = with_causes(error);
    match error.is_configuration() {
        true => Failure::configuration(detail, error.hint()),
        false => Failure::failed("start_failed", detail, error.hint()),
    }
}

fn described(ready: &Ready, width: Option<usize>) -> String {
    let mut lines = vec![format!(
        "ready: transom {}, instance {}",
        ready.version, ready.instance
    )];
    lines.push(format!("socket     {}", escape(&ready.socket)));
    for endpoint in &ready.tls {
        let names: Vec<_> = endpoint.names.iter().map(|name| escape(name)).collect();
        lines.push(format!("listener   {} ({})", endpoint.address, names.join(", ")));
        lines.push(format!("pin        {}", endpoint.pin));
    }
    if ready.locked_down {
        lines.push(LOCKED_DOWN.to_owned());
    }
    for warning in &ready.warnings {
        lines.push(format!("warning    {}", escape(warning)));
    }
    lines.push(NEXT.to_owned());
    let broken = lines
        .iter()
        .flat_map(|line| wrap(line, width.unwrap_or(usize::MAX), NAMES));
    broken.collect::<Vec<_>>().join("\n")
}

/// Columns of the names, and the blanks behind them.
const NAMES: usize = 11;
/// What one does then.
const NEXT: &str = "next       `transom run CMD` starts a session, `transom pair` lets a phone in";
/// Where the listeners would be listed.
const LOCKED_DOWN: &str = "listener   none: locked down; `transom lockdown --lift` opens the remote ways in";

#[cfg(test)]
mod tests {
    use protocol::access::{Ready, TlsEndpoint};

    use super::described;

    #[test]
    fn a_ready_daemon_says_where_it_is() {
        let tls = TlsEndpoint {
            address: "127.0.0.1:7443".to_owned(),
            pin: "sha256/x".to_owned(),
            names: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
        };
        let [instance, version, socket] = ["0123", "1.0", "/run/transom.sock"].map(str::to_owned);
        let ready = Ready {
            ready: true,
            instance,
            version,
            socket,
            tls: vec![tls],
            locked_down: false,
            warnings: vec!["nobody\u{1b} comes".to_owned()],
        };
        assert_eq!(
            described(&ready, None),
            "ready: transom 1.0, instance 0123\nsocket     /run/transom.sock\n\
             listener   127.0.0.1:7443 (localhost, 127.0.0.1)\npin        sha256/x\n\
             warning    nobody\\u{1b} comes\n\
             next       `transom run CMD` starts a session, `transom pair` lets a phone in"
        );
        let narrow = described(&ready, Some(40));
        assert!(
            narrow.contains(
                "\nlistener   127.0.0.1:7443 (localhost,\n           127.0.0.1)\npin        sha256/x"
            )
        );
    }
}
