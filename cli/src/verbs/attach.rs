//! `transom attach`: follow a session and type into it.

use protocol::{attach::Mode, sessions::Session};

use crate::{
    attach::{self, End},
    attachment::Begin,
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
    match attach::interactive(&client, &session.id, mode, Begin::Screen).await? {
        End::Exited(ended) => {
            output::note(&format!("{} {}", escape(&session.name), exit::in_words(&ended)));
            Ok(exit::OK)
        }
        end => Ok(left(&client, &session.name, mode, &end)),
    }
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
