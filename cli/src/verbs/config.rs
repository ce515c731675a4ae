//! `transom config`: what is configured, and by what.

use std::collections::BTreeMap;

use daemon::{Config, Paths};
use serde::Serialize;

use crate::{escape::escape, exit, failure::Failure, output, table::Table};

/// Arguments of `config`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: ConfigVerb,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigVerb {
    /// Print each value with where it came from
    Show(ShowArgs),
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Print an object of keys, each with `value` and `source`
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Whether JSON is wanted.
    pub(super) fn is_json(&self) -> bool {
        let ConfigVerb::Show(show) = &self.verb;
        show.json
    }
}

#[derive(Debug, Serialize)]
struct Value {
    value: serde_json::Value,
    source: String,
}

/// Reads the configuration as the daemon would, and prints it.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let paths = Paths::find(None).map_err(|error| Failure::configuration(error.to_string(), error.hint()))?;
    let (_, layers) = Config::load(&paths.config, &[])
        .map_err(|error| Failure::configuration(error.to_string(), error.hint()))?;
    if args.is_json() {
        let value = |(key, _, source): (&'static str, String, &daemon::config::Source)| {
            (
                key,
                Value {
                    value: layers.json(key),
                    source: source.to_string(),
                },
            )
        };
        output::json(&layers.entries().map(value).collect::<BTreeMap<_, _>>())?;
        return Ok(exit::OK);
    }
    let mut table = Table::new(&["KEY", "VALUE", "FROM"]);
    for (key, value, source) in layers.entries() {
        table.row([key, &value, &source.to_string()]);
    }
    output::line(&table.render(output::width()))?;
    let file = paths.config.display().to_string();
    let missing = if paths.config.exists() {
        ""
    } else {
        " (it does not exist)"
    };
    output::note(&format!("\nconfiguration file: {}{missing}", escape(&file)));
    Ok(exit::OK)
}
