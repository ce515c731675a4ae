//! `transom remote list`.

use jiff::Timestamp;

use super::View;
use crate::{duration, escape::escape, exit, failure::Failure, output, remote::Store, table::Table};

/// Lists them, and asks none of them.
pub(super) fn run(json: bool) -> Result<u8, Failure> {
    let all = Store::of_environment()?.list()?;
    let (mut views, mut broken) = (Vec::new(), None);
    for (name, record) in &all {
        match record {
            Ok(record) => views.push(View::of(name, record)),
            Err(Failure::Problem { problem, .. }) => {
                broken = Some(exit::FAILED);
                output::error(&escape(&problem.detail));
            }
            Err(Failure::ClosedPipe) => {}
        }
    }
    if json {
        output::json(&views)?;
    } else if all.is_empty() {
        output::note("no remotes; `transom remote add` pairs this machine with a daemon elsewhere");
    } else if !views.is_empty() {
        output::line(&table(&views, Timestamp::now()).render(output::width()))?;
    }
    Ok(broken.unwrap_or(exit::OK))
}

fn table(views: &[View<'_>], now: Timestamp) -> Table {
    let mut table = Table::new(&["NAME", "ADDRESS", "ROLE", "KNOWN AS", "ADDED", "PIN"]);
    for view in views {
        table.row([
            view.name,
            &match view.ssh {
                Some(destination) => format!("{destination} over SSH"),
                None => view.address.to_string(),
            },
            &view.role.to_string(),
            view.label,
            &duration::since(view.added_at, now),
            &view.pin,
        ]);
    }
    table
}
