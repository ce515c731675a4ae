//! `transom lockdown`: close every remote way in, and open them again.

use daemon::offline as store;
use protocol::access::{LockdownLifted, LockedDown};
use serde_json::json;

use super::{offline, up::failure};
use crate::{client::Client, exit, failure::Failure, output, target::Target};

/// Arguments of `lockdown`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every remote listener and connection is closed, and offers and pairing requests end. Sessions run on, paired \
devices stay paired, and this machine is not concerned. It holds over restarts, until --lift.")]
pub(crate) struct Args {
    /// Open the remote ways in again
    #[arg(long)]
    lift: bool,
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
    if client.remote().is_some() {
        let locked = client.post::<LockedDown>("/lockdown", &json!({})).await?;
        return said(args.json, &locked, &locked_in_words(&locked));
    }
    let locked = match offline::away(&client).await? {
        None => client.post::<LockedDown>("/lockdown", &json!({})).await?,
        Some(away) => without_a_daemon(away).await?,
    };
    said(args.json, &locked, &locked_in_words(&locked))
}

async fn without_a_daemon(away: Failure) -> Result<LockedDown, Failure> {
    let paths = offline::paths()?;
    if !store::has_store(&paths) {
        return Err(away);
    }
    let unwritten = store::lock_down(&paths).await.map_err(|error| failure(&error))?;
    if let Some(error) = unwritten {
        output::note(&format!(
            "it is locked down, and that does not stand in the audit trail: {error}"
        ));
    }
    Ok(LockedDown {
        closed: 0,
        elapsed_us: 0,
    })
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
        (0, false) => "no remote listener was opened: `transom status` shows what is open".to_owned(),
        (1, false) => "the lock-down is lifted: 1 remote listener is open".to_owned(),
        (count, false) => format!("the lock-down is lifted: {count} remote listeners are open"),
    }
}
