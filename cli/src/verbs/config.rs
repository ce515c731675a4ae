//! `transom config`: what is configured, and by what.

use std::collections::BTreeMap;

use daemon::{Config, Paths, config::Source};
use protocol::access::Configured;
use serde::Serialize;

use crate::{client::Client, escape::escape, exit, failure::Failure, output, table::Table};

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

/// Reads the configuration as the daemon would, and prints it, with what a running one goes by instead.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let paths = Paths::find(None).map_err(|error| Failure::configuration(error.to_string(), error.hint()))?;
    let layers = match Config::load(&paths.config, &[]) {
        Ok((_, layers)) => layers,
        Err(error) => {
            if !args.is_json() {
                goes_on_with(&in_force().await)?;
            }
            return Err(Failure::configuration(error.to_string(), error.hint()));
        }
    };
    if args.is_json() {
        let value = |(key, _, source): (&'static str, String, &Source)| {
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
    let entries = layers.entries();
    let entries: Vec<_> = entries
        .map(|(key, value, source)| Configured {
            key: key.to_owned(),
            value,
            source: source.to_string(),
        })
        .collect();
    output::line(&table(&entries).render(output::width()))?;
    let file = paths.config.display().to_string();
    let missing = if paths.config.exists() {
        ""
    } else {
        " (it does not exist)"
    };
    output::note(&format!("\nconfiguration file: {}{missing}", escape(&file)));
    goes_on_with(&others(in_force().await, &entries))?;
    Ok(exit::OK)
}

/// What the running daemon goes by; nothing where none runs, or it does not say.
async fn in_force() -> Vec<Configured> {
    let Ok(client) = Client::of_environment() else {
        return Vec::new();
    };
    client.get("/configuration").await.unwrap_or_default()
}

/// Those in force that are others than those configured.
fn others(in_force: Vec<Configured>, configured: &[Configured]) -> Vec<Configured> {
    let is_configured = |one: &Configured| {
        let mut same = configured.iter().filter(|other| other.key == one.key);
        same.any(|other| other.value == one.value)
    };
    in_force.into_iter().filter(|one| !is_configured(one)).collect()
}

fn goes_on_with(in_force: &[Configured]) -> Result<(), Failure> {
    if in_force.is_empty() {
        return Ok(());
    }
    output::note("\nthe running daemon goes on with:");
    output::line(&table(in_force).render(output::width()))
}

fn table(entries: &[Configured]) -> Table {
    let mut table = Table::new(&["KEY", "FROM", "VALUE"]).wrapping();
    for Configured { key, value, source } in entries {
        // Which file it is, is said below, and has no room here.
        let source = if source.starts_with('/') { "file" } else { source };
        table.row([key, source, value]);
    }
    table
}

#[cfg(test)]
mod tests {
    use protocol::access::Configured;

    use super::others;

    fn one(key: &str, value: &str, source: &str) -> Configured {
        let [key, value, source] = [key, value, source].map(str::to_owned);
        Configured { key, value, source }
    }

    #[test]
    fn what_is_in_force_is_told_where_its_value_is_another() {
        let configured = [one("a.a", "1", "default"), one("a.b", "2", "/config.toml")];
        let in_force = [
            one("a.a", "1", "/config.toml"),
            one("a.b", "3", "flag"),
            one("a.c", "4", "default"),
        ];
        let others = others(in_force.to_vec(), &configured);
        assert_eq!(others, in_force[1..]);
    }
}
