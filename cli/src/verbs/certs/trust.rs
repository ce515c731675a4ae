//! `transom certs trust`: have browsers trust the daemon, for its own names and nothing else.

use std::{env, path::PathBuf};

use protocol::{
    access::Health,
    certificates::{Certificates, Root},
};
use serde_json::json;

use super::stores::{self, Done, Wish};
use crate::{
    client::Client,
    escape::escape,
    exit,
    failure::Failure,
    output,
    qr::{Code, Ink, QUIET_AT_LEAST},
};

/// Arguments of `certs trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A root is made that can vouch for this daemon's own names and addresses only; its key is destroyed at once. Browsers of \
this user that keep their own store are told to trust it, and for phones the steps are printed. Run it again when \
the daemon got another name, or after two years.")]
pub(super) struct Args {
    /// Trust it in the system's own store too, which takes root's rights
    #[arg(long)]
    system: bool,
    /// Forget it again, here and in the stores
    #[arg(long)]
    remove: bool,
}

/// Makes it, and tells browsers.
pub(super) async fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let client = Client::of_environment()?;
    let health: Health = client.get("/health").await?;
    let name = format!("transom-{}", health.instance);
    let root = match args.remove {
        true => {
            client.delete::<Certificates>("/certificates/trust").await?;
            None
        }
        false => Some(client.post::<Root>("/certificates/trust", &json!({})).await?),
    };
    let wish = Wish {
        name: name.clone(),
        root: root.as_ref().map(|root| root.pem.as_str()),
    };
    let mut done = Vec::new();
    for store in stores::of_browsers(&home()?) {
        done.push(store.make(&wish).await);
    }
    if args.system {
        done.push(stores::make_system(&wish).await);
    }
    let is_whole = done.iter().all(|done| done.ok);
    match json {
        true => output::json(&json!({ "root": root, "stores": done }))?,
        false => tell(root.as_ref(), &done, args.system, &name)?,
    }
    Ok(if is_whole { exit::OK } else { exit::FAILED })
}

fn tell(root: Option<&Root>, done: &[Done], system: bool, name: &str) -> Result<(), Failure> {
    let Some(root) = root else {
        for store in done.iter().filter(|store| store.ok) {
            output::sentence(&format!("{}: forgotten ({})", store.store, escape(&store.path)))?;
        }
        tell_failed(done);
        return output::sentence("the root is forgotten here; remove it from your phones as well");
    };
    let until = root.not_after.strftime("%Y-%m-%d");
    output::sentence(&format!(
        "a root that vouches for {} only, until {until}",
        root.names.join(", ")
    ))?;
    output::sentence(&format!("SHA-256 {}", root.sha256))?;
    for store in done.iter().filter(|store| store.ok) {
        output::sentence(&format!(
            "{}: trusts it now ({})",
            store.store,
            escape(&store.path)
        ))?;
    }
    tell_failed(done);
    if let Some(command) = stores::system_by_hand(name).filter(|_| !system) {
        output::sentence(&format!("for curl and the rest of this system: `{command}`"))?;
    }
    for_phones(root)
}

fn tell_failed(done: &[Done]) {
    for store in done.iter().filter(|store| !store.ok) {
        let why = store.detail.as_deref().unwrap_or_default();
        output::error(&format!(
            "{} ({}): {}",
            store.store,
            escape(&store.path),
            escape(why)
        ));
    }
}

fn for_phones(root: &Root) -> Result<(), Failure> {
    let Some(url) = &root.url else {
        return output::sentence("for phones: no listener is open by which one could get it");
    };
    output::line("")?;
    if let Some(code) = Code::of_link(url).filter(|_| output::size().is_some()) {
        // As in terminals with light text on dark ground, which most are; cameras read the other way round too.
        output::line(&code.picture(QUIET_AT_LEAST, Ink::Light).join("\n"))?;
    }
    output::line(&escape(url))?;
    if url.starts_with("https://localhost:") {
        output::sentence(NEAR)?;
    }
    for step in STEPS {
        output::sentence(step)?;
    }
    Ok(())
}

fn home() -> Result<PathBuf, Failure> {
    env::home_dir().ok_or_else(|| {
        Failure::failed(
            "no_home",
            "there is no home directory whose browsers could be told",
            "set HOME",
        )
    })
}

/// Where no listener is open but on this machine itself.
const NEAR: &str = "This address is on this machine only: a phone gets there through a tunnel, or takes the file over another way \
     (`transom certs export`).";

const STEPS: [&str; 3] = [
    "iPhone, iPad: open the link in Safari and allow the download; Settings > General > VPN & Device Management: install \
     the profile, after comparing its SHA-256; then Settings > General > About > Certificate Trust Settings: switch it on.",
    "Android: open the link in Chrome; Settings > Security > More security settings > Encryption & credentials > \
     Install a certificate > CA certificate: choose the file. Firefox: Settings > Secrets > Use third party CA certificates.",
    "Compare the SHA-256 above with what the phone shows before you trust it: on the way there nothing vouched for it.",
];
