//! `transom reload`: take up what changed of the configuration and the certificate.

use protocol::{access::Reloaded, condition::DegradedKind};
use serde_json::json;

use crate::{client::Client, escape::escape, exit, failure::Failure, output};

/// Arguments of `reload`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The daemon reloads by itself too when its files change, and on SIGHUP. A configuration that cannot be used changes \
nothing. Exit code 1: it was taken up, but the daemon is not all that it says.")]
pub(crate) struct Args {
    /// Print what changed as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Asks for it, and tells what came of it.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let reloaded: Reloaded = Client::of_environment()?.post("/reload", &json!({})).await?;
    match args.json {
        true => output::json(&reloaded)?,
        false => output::sentence(&in_words(&reloaded))?,
    }
    for fault in &reloaded.degraded {
        let words = escape(&fault.detail);
        match fault.kind {
            DegradedKind::AwaitsRestart => output::warning(&words),
            _ => output::error(&words),
        }
    }
    Ok(match reloaded.degraded.is_empty() {
        true => exit::OK,
        false => exit::FAILED,
    })
}

fn in_words(reloaded: &Reloaded) -> String {
    let short = match reloaded.degraded.is_empty() {
        true => "",
        false => "; the daemon is not as it says:",
    };
    match &reloaded.changed[..] {
        [] => format!("reloaded: nothing in the configuration has changed{short}"),
        [key] => format!("reloaded: {key} has changed{short}"),
        keys => format!("reloaded: {} have changed{short}", keys.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use protocol::{
        access::Reloaded,
        condition::{Degraded, DegradedKind},
    };

    use super::in_words;

    #[test]
    fn that_nothing_has_changed_is_not_said_to_be_well_where_something_waits() {
        let said = |changed: &[&str], degraded: &[Degraded]| {
            in_words(&Reloaded {
                changed: changed.iter().map(ToString::to_string).collect(),
                degraded: degraded.to_vec(),
            })
        };
        let waits = [Degraded::new(
            DegradedKind::AwaitsRestart,
            "tailnet.mode waits for a restart",
        )];
        assert_eq!(
            said(&[], &[]),
            "reloaded: nothing in the configuration has changed"
        );
        assert_eq!(
            said(&[], &waits),
            "reloaded: nothing in the configuration has changed; the daemon is not as it says:"
        );
        assert_eq!(
            said(&["tailnet.mode"], &waits),
            "reloaded: tailnet.mode has changed; the daemon is not as it says:"
        );
    }
}
