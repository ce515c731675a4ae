//! `transom certs next` and `certs rotate`: another identity key.

use std::io::{self, IsTerminal};

use protocol::certificates::{Certificates, Knowing, KnowsBy, Rotated};
use serde_json::json;

use crate::{client::Client, escape::escape, exit, failure::Failure, output, prompt, table::Table};

/// Arguments of `certs rotate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Devices that know the daemon by its pin must pair again, but for those that have kept the pin that `certs next` announced. \
Browsers show a warning once more where the certificate was not issued by an authority that they trust.")]
pub(super) struct Args {
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Announces the key that comes next.
pub(super) async fn next(json: bool) -> Result<u8, Failure> {
    let client = Client::of_environment()?;
    let announced: Certificates = client.post("/certificates/next", &json!({})).await?;
    if json {
        output::json(&announced)?;
        return Ok(exit::OK);
    }
    let pin = announced.next_pin.as_deref().unwrap_or_default();
    output::sentence(&format!(
        "announced {pin}: devices that know this daemon by its pin keep it when they come; `transom certs rotate` then \
         puts it in the place of the present one"
    ))?;
    tell(&announced.devices)?;
    Ok(exit::OK)
}

/// Puts another key in the place of the present one.
pub(super) async fn rotate(args: &Args, json: bool) -> Result<u8, Failure> {
    let client = Client::of_environment()?;
    if !args.yes {
        // Before anything is asked, or demanded.
        let present: Certificates = client.get("/certificates").await?;
        name(&present.devices);
        if !io::stdin().is_terminal() {
            let hint = "say --yes to rotate without being asked";
            return Err(Failure::usage("nobody can be asked here", hint));
        }
        if !prompt::is_confirmed("Make another identity key?")? {
            return Err(Failure::failed(
                "not_confirmed",
                "nothing was changed",
                "answer y, or say --yes",
            ));
        }
    }
    let rotated: Rotated = client.post("/certificates/rotate", &json!({})).await?;
    if json {
        output::json(&rotated)?;
        return Ok(exit::OK);
    }
    output::sentence(&format!(
        "the pin is {} now, and {} no more; {} closed",
        rotated.pin,
        rotated.former_pin,
        output::connections(rotated.closed)
    ))?;
    if rotated.root_stays {
        output::sentence(ROOT_STAYS)?;
    }
    tell(&rotated.devices)?;
    Ok(exit::OK)
}

fn tell(devices: &[Knowing]) -> Result<(), Failure> {
    if devices.is_empty() {
        return Ok(());
    }
    output::line(&table(devices).render(output::width()))
}

fn table(devices: &[Knowing]) -> Table {
    let mut table = Table::new(&["DEVICE", "ID", "WITH ANOTHER KEY"]);
    for device in devices {
        table.row([&device.label, &device.id.to_string(), consequence(device.by)]);
    }
    table
}

fn consequence(by: KnowsBy) -> &'static str {
    match by {
        KnowsBy::Pin => "must pair again",
        KnowsBy::FormerPin => "knows a former key only: must pair again",
        KnowsBy::NextPin => "goes on: it has kept the pin that comes next",
        KnowsBy::Name => "goes on: a browser, which may warn of the certificate once more",
        KnowsBy::Unknown => "not seen since the daemon began: must pair again if it is no browser",
    }
}

/// Tells what another key means to each device.
fn name(devices: &[Knowing]) {
    for device in devices {
        let (label, then) = (escape(&device.label), consequence(device.by));
        output::note(&format!("{label} ({}): {then}", device.id));
    }
}

/// Said where devices trust a root: its authority has a key of its own, in `keys/ca.pem`.
const ROOT_STAYS: &str = "the root that devices were told to trust stays, and vouches for the new key; where somebody may have read \
     the daemon's keys, `transom certs trust --remove` and then `transom certs trust` make another";
