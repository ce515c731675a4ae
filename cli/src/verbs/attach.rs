//! `transom attach`: follow a session and type into it.

use ::client::attachment::Begin;
use protocol::{Problem, attach::Mode, sessions::Session};

use crate::{
    attach::{self, End},
    client::Client,
    escape::escape,
    exit,
    failure::Failure,
    names, output,
    target::Target,
};

/// Arguments of `attach`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Ctrl-\\ then d detaches, and the session goes on; Ctrl-\\ twice sends Ctrl-\\ to the program. The session takes \
this terminal's size. What was on the screen before is back afterwards.")]
pub(crate) struct Args {
    /// Name or id of the session, or a beginning that only it has
    name: String,
}

/// Attaches to write.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    follow(target, &args.name, Mode::Write).await
}

/// Follows the session that the word means.
pub(super) async fn follow(target: &Target, word: &str, mode: Mode) -> Result<u8, Failure> {
    attach::refuse_unless_possible()?;
    let client = target.client()?;
    let sessions: Vec<Session> = client.get("/sessions").await?;
    let session = match names::session(&sessions, word) {
        Ok(session) => session,
        Err(failure) => return Err(names::explained(&client, std::slice::from_ref(&word), failure).await),
    };
    let followed = attach::interactive(&client, &session.id, mode, Begin::Screen).await;
    match followed.map_err(|failure| may_only_view(failure, mode, &client, &session.name))? {
        End::Exited(ended) => {
            output::note(&format!("{} {}", escape(&session.name), exit::in_words(&ended)));
            Ok(exit::OK)
        }
        end => Ok(left(&client, &session.name, mode, &end)),
    }
}

/// Tells who may not type what they may do instead.
fn may_only_view(failure: Failure, mode: Mode, client: &Client, name: &str) -> Failure {
    if mode != Mode::Write || !failure.is_lack_of_permission() {
        return failure;
    }
    let (name, flag) = (escape(name), client.flag());
    Failure::answered(Problem::new(
        403,
        "not_permitted",
        format!("you may not type into {name}, or not any more"),
        format!("`transom view{flag} {name}` shows it; to type, ask the owner of the daemon"),
    ))
}

/// Says that the session goes on without us; the exit code is that of a wish fulfilled, or of a signal.
pub(super) fn left(client: &Client, name: &str, mode: Mode, end: &End) -> u8 {
    let name = escape(name);
    let verb = if mode == Mode::Write { "attach" } else { "view" };
    output::note(&format!(
        "detached from {name}; `transom {verb}{} {name}` comes back",
        client.flag()
    ));
    match end {
        End::Signalled(signal) => u8::try_from(exit::SIGNAL_BASE + signal).unwrap_or(exit::FAILED),
        End::Detached | End::Exited(_) => exit::OK,
    }
}
