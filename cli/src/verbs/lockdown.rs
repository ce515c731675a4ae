//! `transom lockdown`: close every remote way in, and open them again.

use std::{
    fmt::Display,
    io::{self, IsTerminal},
    time::Duration,
};

use daemon::offline as store;
use protocol::access::{LockdownLifted, LockedDown};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::{offline, up::failure};
use crate::{client::Client, escape::escape, exit, failure::Failure, output, prompt, target::Target};

/// Arguments of `lockdown`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every remote listener and connection is closed, and offers, pairing requests and guests end. Sessions run on, paired \
devices stay paired, and this machine is not concerned. It holds over restarts, until --lift.")]
pub(crate) struct Args {
    /// Open the remote ways in again
    #[arg(long)]
    lift: bool,
    /// Do not ask; that is only done at a terminal, of a daemon elsewhere, which only its owner opens again
    #[arg(long, short)]
    yes: bool,
    /// Print what was done as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Locks down, or lifts that.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    if args.lift {
        target.refuse_but_for_owner("lockdown --lift")?;
        return lift(&target.client()?, args.json).await;
    }
    let client = target.client()?;
    if let Some(name) = client.remote() {
        if !args.yes && io::stdin().is_terminal() && !is_meant(name)? {
            return Err(Failure::failed(
                "not_confirmed",
                "nothing was locked down",
                "answer y, or say --yes",
            ));
        }
        let locked = client.post::<LockedDown>("/lockdown", &json!({})).await?;
        return said(args.json, &locked, &locked_in_words(&locked));
    }
    let locked = here(&client).await?;
    said(args.json, &locked, &locked_in_words(&locked))
}

/// Asks whoever cannot undo it. Nobody there to ask is no reason to leave it open.
fn is_meant(name: &str) -> Result<bool, Failure> {
    let name = escape(name);
    prompt::is_confirmed(&format!(
        "this closes every remote way into {name}, yours too, until its owner opens them there: lock it down?"
    ))
}

/// Locks the daemon of this machine down. Where it does not answer it is written down for whichever comes next, and then tried
/// until a daemon has done it, or none is there.
async fn here(client: &Client) -> Result<LockedDown, Failure> {
    let away = match asked(client).await {
        Err(failure) if offline::may_be_done_here(&failure) => failure,
        answered => return answered,
    };
    let paths = offline::paths()?;
    if !store::has_store(&paths) {
        return Err(away);
    }
    let kept = store::write_lock_down(&paths);
    let deadline = Instant::now() + offline::PATIENCE;
    while Instant::now() < deadline {
        match store::lock_down(&paths).await {
            Ok(unwritten) => return Ok(without_a_daemon(unwritten)),
            Err(error) if error.is_taken() => {}
            Err(error) => return Err(failure(&error)),
        }
        // It began before the file was there, or hangs.
        match asked(client).await {
            Err(failure) if failure.is_about_the_link() => sleep(offline::LOOK).await,
            answered => return answered,
        }
    }
    kept.map_err(|error| failure(&error))?;
    Err(offline::hangs(
        "the next daemon is locked down, but the one that runs does not answer: what it has open may be open still",
    ))
}

async fn asked(client: &Client) -> Result<LockedDown, Failure> {
    timeout(ANSWER, client.post("/lockdown", &json!({})))
        .await
        .unwrap_or_else(|_| Err(Failure::no_answer(client.place())))
}

fn without_a_daemon(unwritten: Option<impl Display>) -> LockedDown {
    if let Some(error) = unwritten {
        output::note(&format!(
            "it is locked down, and that does not stand in the audit trail: {error}"
        ));
    }
    LockedDown {
        closed: 0,
        elapsed_us: 0,
    }
}

async fn lift(client: &Client, is_json: bool) -> Result<u8, Failure> {
    let store = offline::instead_of(client).await?;
    let lifted = match &store {
        None => client.delete::<LockdownLifted>("/lockdown").await?,
        Some(store) => {
            store.lift().await.map_err(|error| failure(&error))?;
            LockdownLifted { listeners: 0 }
        }
    };
    said(is_json, &lifted, &lifted_in_words(&lifted, store.is_some()))
}

fn said(is_json: bool, value: &impl serde::Serialize, words: &str) -> Result<u8, Failure> {
    match is_json {
        true => output::json(value)?,
        false => output::sentence(words)?,
    }
    Ok(exit::OK)
}

fn locked_in_words(locked: &LockedDown) -> String {
    let connections = match locked.closed {
        1 => "1 remote connection was closed".to_owned(),
        count => format!("{count} remote connections were closed"),
    };
    format!("locked down: {connections}; `transom lockdown --lift` opens the remote ways in again")
}

fn lifted_in_words(lifted: &LockdownLifted, is_offline: bool) -> String {
    match (lifted.listeners, is_offline) {
        (_, true) => "the lock-down is lifted; the next daemon opens its listeners".to_owned(),
        (0, false) => "nothing had to be opened: `transom status` shows what is".to_owned(),
        (1, false) => "the lock-down is lifted: 1 remote listener is open".to_owned(),
        (count, false) => format!("the lock-down is lifted: {count} remote listeners are open"),
    }
}

/// How long the daemon may take: it waits for its disk for 2 s.
const ANSWER: Duration = Duration::from_secs(5);
