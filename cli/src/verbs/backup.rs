//! `transom backup`: keep what makes this daemon the one that its devices know, and put it back, here or elsewhere.

mod create;
mod passphrase;
mod restore;

use std::path::Path;

use daemon::{
    backup::BackupError,
    lock::{Holder, Lock},
};
use protocol::{Problem, access::PrincipalKind};

use super::offline;
use crate::{
    client::{self, Client},
    escape::escape,
    failure::{Failure, with_causes},
};

/// Arguments of `backup`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A back-up has the store with devices and audit trail, the keys and certificates, and the configuration. Sessions and what they \
printed are not in it, nor the remotes of this machine. It is a file in the format of the tool `age` (https://age-encryption.org), \
with a tar archive inside: `age -d FILE | tar t` lists it.")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: BackupVerb,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum BackupVerb {
    /// Write a back-up, encrypted with a passphrase; a daemon goes on meanwhile
    Create(create::Args),
    /// Put a back-up in place, where no daemon runs; what was there is moved aside
    Restore(restore::Args),
}

/// Does what is asked.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    refuse_in_a_session().await?;
    match &args.verb {
        BackupVerb::Create(create) => create::run(create, args.json),
        BackupVerb::Restore(restore) => restore::run(restore, args.json),
    }
}

/// Programs of sessions are not the owner, whose keys these are (a guard rail, as everywhere: they could copy the files).
async fn refuse_in_a_session() -> Result<(), Failure> {
    let paths = offline::paths()?;
    // Only one that runs is asked: to ask another may start it, where a service manager has its socket.
    let serves = !matches!(Lock::holder(&paths.lock()), Ok(Holder::Nobody));
    let inside = client::session_socket();
    if inside.is_some_and(|socket| !serves || Path::new(&socket) != paths.socket()) {
        return refused(
            "this runs inside of a session, and where its daemon keeps its state is not known here",
            "run it outside of sessions, or set TRANSOM_DIR as the daemon was started with",
        );
    }
    if !serves {
        return Ok(());
    }
    match Client::of_environment()?.who_am_i().await {
        Ok(me) if me.principal != PrincipalKind::Owner => refused(
            "back-ups hold the daemon's keys and are for the owner, and this runs inside of a session",
            "run it outside of sessions",
        ),
        Ok(_) => Ok(()),
        // Where it does not answer, the files say what can be done; an answer that is no is one.
        Err(failure) if failure.is_about_the_link() => Ok(()),
        Err(failure) => Err(failure),
    }
}

fn refused(detail: &str, hint: &str) -> Result<(), Failure> {
    Err(Failure::answered(Problem::new(403, "owner_only", detail, hint)))
}

fn failure(error: &BackupError) -> Failure {
    let detail = with_causes(error);
    match error.is_configuration() {
        true => Failure::configuration(detail, error.hint()),
        false => Failure::failed(error.code(), detail, error.hint()),
    }
}

/// A path, in words.
fn shown(path: &Path) -> String {
    escape(&path.display().to_string()).into_owned()
}

/// So many devices, in words.
fn devices(count: u64) -> String {
    match count {
        1 => "1 device".to_owned(),
        _ => format!("{count} devices"),
    }
}
