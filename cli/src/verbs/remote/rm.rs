//! `transom remote rm`.

use protocol::access::Revoked;

use crate::{
    client::Client,
    exit,
    failure::Failure,
    output,
    remote::{self, Store},
};

/// Arguments of `remote rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
This machine ends its own trust there first, so that nothing of it is left. Where the daemon does not answer, --forget \
removes the remote here alone; its owner can end the trust with `transom revoke`.")]
pub(super) struct Args {
    /// The remote
    name: String,
    /// Only here, without a word to the daemon
    #[arg(long)]
    forget: bool,
}

/// Signs out, then forgets.
pub(super) async fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let (store, name) = (Store::of_environment()?, &args.name);
    let signed_out = !args.forget && sign_out(&store, name).await?;
    store.remove(name)?;
    if json {
        output::json(&serde_json::json!({ "name": name, "signed_out": signed_out }))?;
    } else if args.forget {
        output::sentence(&format!(
            "{name} is forgotten here; its owner ends this machine's trust there with `transom revoke`"
        ))?;
    } else {
        output::sentence(&format!(
            "{name} is removed, and this machine is no device of it any more"
        ))?;
    }
    Ok(exit::OK)
}

/// Whether it was still trusted there; it is not any more.
async fn sign_out(store: &Store, name: &str) -> Result<bool, Failure> {
    let client = Client::of_remote(remote::device(store.clone(), name)?);
    match client.delete::<Revoked>("/devices/self").await {
        Ok(_) => Ok(true),
        Err(failure) if failure.is_final_rejection() => Ok(false),
        Err(Failure::Problem { exit, mut problem }) => {
            problem.hint = format!(
                "`transom remote rm --forget {name}` removes it here alone; {}",
                problem.hint
            );
            Err(Failure::Problem { exit, problem })
        }
        Err(closed) => Err(closed),
    }
}
