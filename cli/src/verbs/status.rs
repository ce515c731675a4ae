//! `transom status`: what the running daemon says of itself.

use jiff::Timestamp;
use protocol::access::{Status, TailnetCertificate, TailnetState, TailnetStatus};

use crate::{
    client::Client,
    duration,
    escape::escape,
    exit,
    failure::Failure,
    output::{self, STRONG},
    wrap::wrap,
};

/// Arguments of `status`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the status as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Asks and prints.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let status: Status = Client::of_environment()?.get("/status").await?;
    if args.json {
        output::json(&status)?;
    } else {
        output::line(&described(&status, Timestamp::now(), output::width()))?;
    }
    Ok(exit::OK)
}

fn described(status: &Status, now: Timestamp, width: Option<usize>) -> String {
    let mut lines = vec![
        (
            "daemon",
            format!(
                "running for {1}, process {0}",
                status.pid,
                duration::since(status.started_at, now)
            ),
        ),
        ("version", status.version.clone()),
        ("instance", status.instance.clone()),
        ("directory", status.directory.clone()),
        ("socket", status.socket.clone()),
    ];
    for endpoint in &status.tls {
        lines.push((
            "listener",
            format!("{} ({})", endpoint.address, endpoint.names.join(", ")),
        ));
        lines.push(("pin", endpoint.pin.clone()));
    }
    if status.locked_down {
        let lifted = "none: locked down; `transom lockdown --lift` opens the remote ways in";
        lines.push(("listener", lifted.to_owned()));
    } else if status.tls.is_empty() {
        lines.push(("listener", "none: no device can reach this daemon".to_owned()));
    }
    for fault in &status.degraded {
        lines.push(("degraded", fault.detail.clone()));
    }
    for warning in &status.warnings {
        lines.push(("warning", warning.in_words()));
    }
    if let Some(tailnet) = &status.tailnet {
        lines.push(("tailnet", described_tailnet(tailnet)));
        lines.extend(
            tailnet
                .problems
                .iter()
                .filter(|problem| status.degraded.iter().all(|fault| fault.detail != problem.detail))
                .map(|problem| ("problem", problem.in_words())),
        );
    }
    let app = if status.web_app {
        "in this binary"
    } else {
        "not in this binary: devices find no page"
    };
    lines.push(("web app", app.to_owned()));
    if let Some(keeper) = &status.keeper {
        let version = match &keeper.version {
            Some(version) => format!("version {version}"),
            None => "of an earlier version".to_owned(),
        };
        lines.push(("keeper", format!("process {}, {version}", keeper.pid)));
    }
    lines.push((
        "sessions",
        format!(
            "{} running, {} ended",
            status.sessions_running,
            status.sessions.saturating_sub(status.sessions_running)
        ),
    ));
    lines.push((
        "devices",
        format!(
            "{} paired, {} in all",
            status.devices,
            output::connections(status.connections)
        ),
    ));
    let line = |(name, value): (&str, String)| {
        let line = format!("{name:<NAMES$} {}", escape(&value));
        let lines = wrap(&line, width.unwrap_or(usize::MAX), NAMES + 1).join("\n");
        format!("{STRONG}{}{STRONG:#}{}", &lines[..NAMES], &lines[NAMES..])
    };
    lines.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn described_tailnet(tailnet: &TailnetStatus) -> String {
    let state = match tailnet.state {
        TailnetState::Running => "running",
        TailnetState::Starting => "starting",
        TailnetState::NeedsLogin => "not signed in",
        TailnetState::Stopped => "switched off",
        TailnetState::Unknown => "unknown",
    };
    let owner = match &tailnet.user {
        Some(user) => format!("of {user}"),
        None if tailnet.tags.is_empty() => String::new(),
        None => format!("tagged {}", tailnet.tags.join(", ")),
    };
    let addresses = tailnet.addresses.join(", ");
    let certificate = match tailnet.certificate {
        TailnetCertificate::Disabled if tailnet.embedded => "given no certificate",
        TailnetCertificate::Disabled => "HTTPS is not enabled in it",
        TailnetCertificate::Awaited => "its certificate is awaited",
        TailnetCertificate::Served { .. } => "with its certificate",
        TailnetCertificate::Failed => "without its certificate",
    };
    let parts = [
        if tailnet.embedded {
            "the daemon's own node (experimental)"
        } else {
            ""
        },
        tailnet.name.as_deref().unwrap_or_default(),
        &addresses,
        &owner,
        if tailnet.state == TailnetState::Running {
            certificate
        } else {
            ""
        },
    ];
    std::iter::once(state)
        .chain(parts.into_iter().filter(|part| !part.is_empty()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Columns of the names.
const NAMES: usize = 10;
