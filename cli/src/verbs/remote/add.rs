//! `transom remote add`.

use std::{fs, io::IsTerminal};

use ::client::{Address, Change, Https, Link, Malformed, Newcomer, Verdict, first_sight};
use certs::SpkiPin;
use jiff::Timestamp;
use pairing::Label;
use protocol::{Problem, pairing::OfferProof};

use super::View;
use crate::{
    client::Client,
    escape::escape,
    exit,
    failure::Failure,
    output, patience, prompt,
    remote::{self, Record, Store},
    ssh::{Destination, Far, Tunnel},
};

/// Arguments of `remote add`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With the link of `transom pair`, whose owner waits there: the link holds the daemon's pin. Without an argument, or with \
-, the link is read from standard input, which keeps it out of the shell's history and the list of processes.

With an address alone: this shows the pin of the key that is seen there, to be compared with `transom status` on that \
machine, then six digits; the owner lets this machine in with `transom approve` and these digits.

With user@host (or ssh://host): your own `ssh` goes there, and tells port and pin. From then on, verbs with --on go by a \
tunnel of it, opened when they need one and closed after.")]
pub(super) struct Args {
    /// An address (https://desk:7443, desk), the link of an offer, or user@host for a way over SSH
    #[arg(value_name = "ADDRESS|LINK|USER@HOST")]
    link: Option<String>,
    /// What to call it here; without it, the first part of its host
    #[arg(long)]
    name: Option<String>,
    /// What this machine would like to be called there; without it, its host name
    #[arg(long)]
    label: Option<String>,
    /// The pin that must be there (sha256/…); then nothing is asked
    #[arg(long)]
    pin: Option<String>,
    /// Trust the key that is seen there, without asking
    #[arg(long, short, conflicts_with = "pin")]
    yes: bool,
    /// Over SSH: how the command is called there, where `transom` is not found
    #[arg(long, value_name = "COMMAND")]
    program: Option<String>,
}

/// What is paired with.
enum Wanted {
    Direct(Link),
    OverSsh(Far),
}

/// Pairs.
pub(super) async fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let wanted = wanted(args)?;
    let label = label(args.label.as_deref())?;
    let store = Store::of_environment()?;
    let name = args.name.clone().unwrap_or_else(|| match &wanted {
        Wanted::Direct(link) => link.address.short_name(),
        Wanted::OverSsh(far) => far.destination.short_name(),
    });
    store.check_free(&name)?;
    let (newcomer, far) = match wanted {
        Wanted::Direct(link) => (directly(args, &name, link, &label).await?, None),
        Wanted::OverSsh(far) => (over_ssh(args, &name, &far, &label).await?, Some(far)),
    };
    let nonce = match newcomer.wait().await? {
        Verdict::Approved(nonce) => nonce,
        Verdict::Ended(cause) => return Err(ended(&name, cause.as_deref())),
        Verdict::Late => return Err(late(&name)),
    };
    let mut credential = newcomer.exchange(&nonce).await?;
    let record = Record::of(credential.clone(), Timestamp::now());
    let record = match far {
        Some(far) => record.over_ssh(far),
        None => record,
    };
    // What is lost after the commit is lost for good; what is kept before it is finished at the next use.
    store.insert(&name, &record)?;
    newcomer.commit(&mut credential).await?;
    let record = settled(&store, &name, &record, &newcomer).await?;
    if json {
        output::json(&View::of(&name, &record))?;
    } else {
        output::sentence(&format!(
            "paired with {name} as \"{}\", {}; `transom ls --on {name}` lists its sessions",
            escape(&record.label),
            record.role
        ))?;
    }
    Ok(exit::OK)
}

/// Asks by an address or a link.
async fn directly(args: &Args, name: &str, link: Link, label: &Label) -> Result<Newcomer, Failure> {
    let (offer, pin) = match link.offer {
        Some((offer, pin)) => {
            agreed(args.pin.as_deref(), pin)?;
            (Some(offer), pin)
        }
        None => (None, pin(args, &link.address).await?),
    };
    let has_offer = offer.is_some();
    let https = Https::to(name, &link.address, pin)?;
    let newcomer = asked(https, &link.address, label, offer).await?;
    show(
        &newcomer,
        match has_offer {
            true => Decided::ByOffer,
            false => Decided::There("transom"),
        },
    );
    Ok(newcomer)
}

/// Asks by a tunnel, with the pin that the far side tells.
async fn over_ssh(args: &Args, name: &str, far: &Far, label: &Label) -> Result<Newcomer, Failure> {
    let tunnel = Tunnel::to(far.clone())?;
    let daemon = tunnel.open().await?;
    agreed(args.pin.as_deref(), daemon.pin)?;
    let address: Address = daemon.address.parse().map_err(|why: Malformed| {
        let hint = "daemon and command are of different versions";
        Failure::failed("unknown_answer", why.0, hint)
    })?;
    let https = remote::through(name, tunnel, daemon.pin, None)?;
    let newcomer = asked(https, &address, label, None).await?;
    let there = format!("ssh {} {}", far.destination, far.program());
    show(&newcomer, Decided::There(&there));
    Ok(newcomer)
}

/// Asks to be paired, and bears with a daemon that is away in the words of a command.
async fn asked(
    https: Https,
    address: &Address,
    label: &Label,
    offer: Option<OfferProof>,
) -> Result<Newcomer, Failure> {
    let newcomer = Newcomer::ask(https, address, label.as_str(), offer).await?;
    Ok(newcomer.with_patience(patience::bounded()))
}

/// Keeps that the daemon has it, and what it calls this machine.
async fn settled(store: &Store, name: &str, record: &Record, newcomer: &Newcomer) -> Result<Record, Failure> {
    let record = store.change(name, record.device_id, |record| record.with(&Change::Committed))?;
    let device = remote::device_by(store.clone(), name, &record, newcomer.https().clone())?;
    // It is paired, whether that can be asked now or not; what is answered is kept.
    Client::of_remote(device).who_am_i().await.ok();
    store.get(name)
}

/// What the command line, or standard input, says.
fn wanted(args: &Args) -> Result<Wanted, Failure> {
    let text = text(args.link.as_deref())?;
    let text = text.trim();
    if Destination::is_meant_by(text) {
        let destination = text.parse().map_err(|_no_destination| {
            Failure::usage(
                "this is no destination of `ssh`",
                "give user@host, or ssh://user@host:port",
            )
        })?;
        return Ok(Wanted::OverSsh(Far {
            destination,
            program: args.program.clone(),
        }));
    }
    if args.program.is_some() {
        return Err(Failure::usage(
            "--program is of a way over SSH, and this is an address",
            "leave it out, or give user@host",
        ));
    }
    let link = text.parse().map_err(|why: Malformed| {
        Failure::usage(
            why.0,
            "give an address, as in https://desk:7443, the whole link of `transom pair`, or user@host for a way over SSH",
        )
    })?;
    Ok(Wanted::Direct(link))
}

/// What was given to pair with: an argument, or a line of standard input.
fn text(argument: Option<&str>) -> Result<String, Failure> {
    match argument {
        Some(text) if text != "-" => Ok(text.to_owned()),
        asked => {
            let is_terminal = std::io::stdin().is_terminal();
            if asked.is_none() && !is_terminal {
                let hint = "name an address, or say - to read a link from standard input";
                return Err(Failure::usage("there is nothing to pair with", hint));
            }
            if is_terminal {
                prompt::ask("The link of `transom pair`, an address, or user@host: ")
            } else {
                prompt::line()
            }
        }
    }
}

fn label(wanted: Option<&str>) -> Result<Label, Failure> {
    match wanted {
        Some(text) => text.parse().map_err(|why: pairing::MalformedLabel| {
            Failure::usage(why.to_string(), "choose another --label")
        }),
        None => {
            let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let known = host.trim().parse();
            Ok(known.unwrap_or_else(|_| "transom".parse().expect("a constant label parses")))
        }
    }
}

/// The pin that is agreed to where no offer says one: that of the command line, or that which is seen and confirmed.
async fn pin(args: &Args, address: &Address) -> Result<SpkiPin, Failure> {
    if let Some(pin) = &args.pin {
        return parsed(pin);
    }
    let pin = first_sight(address).await?;
    let seen = format!("{address} shows a key with the pin\n  {pin}");
    if args.yes {
        output::note(&seen);
        return Ok(pin);
    }
    if !std::io::stdin().is_terminal() {
        let hint = "compare it with `transom status` on that machine, then say --pin and the pin, or --yes to trust it unseen";
        return Err(Failure::usage(
            format!("{address} shows a key with the pin {pin}, and nobody is here to agree to it"),
            hint,
        ));
    }
    output::note(&seen);
    output::note(
        "On that machine `transom status` shows its pin. If another is there, somebody stands between.",
    );
    if prompt::is_confirmed("Is it the same?")? {
        return Ok(pin);
    }
    Err(Failure::failed(
        "not_confirmed",
        format!("nothing was said to {address}"),
        "look at `transom status` on that machine, or pair by the link of `transom pair`, which holds the pin",
    ))
}

/// Refuses an offer, or a daemon, whose pin is not the one that was demanded.
fn agreed(demanded: Option<&str>, offered: SpkiPin) -> Result<(), Failure> {
    match demanded.map(parsed).transpose()? {
        Some(pin) if pin != offered => Err(Failure::usage(
            format!("this leads to a daemon with the pin {offered}, not {pin}"),
            "use one of both, and be sure of it",
        )),
        Some(_) | None => Ok(()),
    }
}

fn parsed(pin: &str) -> Result<SpkiPin, Failure> {
    pin.parse().map_err(|_| {
        Failure::usage(
            "this is no pin",
            "a pin is sha256/ and 43 characters, as `transom status` shows it",
        )
    })
}

/// Where the owner decides.
enum Decided<'a> {
    /// Where the offer is shown.
    ByOffer,
    /// By this command on that machine.
    There(&'a str),
}

/// Shows the digits, and what is to be done with them.
fn show(newcomer: &Newcomer, decided: Decided<'_>) {
    let code = newcomer.code().grouped();
    let minutes = newcomer.expires_in().as_secs().div_ceil(60);
    let strong = output::STRONG;
    output::note(&format!("the digits of this machine: {strong}{code}{strong:#}"));
    output::note(&match decided {
        // For how long, that screen says.
        Decided::ByOffer => {
            "compare them with those that `transom pair` shows there, and answer y there".to_owned()
        }
        Decided::There(command) => {
            format!("the owner lets it in there with `{command} approve {code}` (within {minutes} minutes)")
        }
    });
}

/// Why the request is over, by the daemon's word for that.
fn ended(name: &str, cause: Option<&str>) -> Failure {
    let again = "ask again with `transom remote add`";
    let another = "ask its owner for another link of `transom pair`";
    let (detail, hint) = match cause {
        Some("key_rotated") => (
            format!("{name} has another identity key now, and whoever waited there must begin anew"),
            "ask again with `transom remote add`, by another link of `transom pair` or the new pin",
        ),
        Some("locked_down") => (
            format!("{name} was locked down"),
            "its owner must lift that; then ask again with `transom remote add`",
        ),
        Some("offer_withdrawn") => (format!("the owner of {name} has withdrawn the offer"), another),
        Some("offer_claimed") => (
            format!("another device has claimed this offer of {name}"),
            another,
        ),
        Some("offer_ended") => (format!("the offer of {name} has ended"), another),
        Some("request_displaced") => (format!("too many devices were waiting at {name}"), again),
        Some("request_superseded") => (format!("this machine has asked {name} again since"), again),
        Some("store_failed") => (
            format!("{name} could not write its store, and ended the request; nobody said no"),
            "have its owner see whether the disk is full or read-only, then ask again with `transom remote add`",
        ),
        // A daemon of before says no more than that.
        None | Some("request_rejected") => {
            let detail = format!("the owner of {name} said no");
            let hint = "ask them; `transom remote add` asks again";
            return Failure::answered(Problem::new(403, "access_denied", detail, hint));
        }
        Some(other) => (format!("{name} has ended the request: {other}"), again),
    };
    Failure::answered(Problem::new(403, cause.unwrap_or_default(), detail, hint))
}

fn late(name: &str) -> Failure {
    Failure::answered(Problem::new(
        504,
        "expired_token",
        format!("the owner of {name} did not decide in time"),
        "ask again with `transom remote add`",
    ))
}
