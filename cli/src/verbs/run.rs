//! `transom run`: a new session, followed until its program ends.

use std::{collections::BTreeMap, env, ffi::OsString};

use ::client::attachment::Begin;
use protocol::{
    attach::Mode,
    sessions::{NewSession, Session, SessionState, Size},
};

use crate::{
    attach::{self, End, plain},
    client::Client,
    escape::escape,
    exit,
    failure::Failure,
    output,
    start::StartArgs,
    target::Target,
};

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
In a terminal: shows the session there; Ctrl-\\ then d detaches, and the program goes on.

Elsewhere: writes the program's output, every byte of it and nothing else, and sends standard input if \
that is a pipe or a file; its end is the end of the program's input (Ctrl-D), not of the session.

Ends with the program's exit code, or 128 and the number of the signal that ended it.

With --on it runs there: in the home folder and with the environment of a login there, not with those of here.")]
pub(crate) struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    start: StartArgs,
}

/// What to run: the same for `run` and `new`.
#[derive(Debug, clap::Args)]
pub(super) struct ProgramArgs {
    /// A name for the session; without it, one is made from the command
    #[arg(long)]
    name: Option<String>,
    /// The folder to run it in; without it, the current one, or with --on the home folder there
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<String>,
    /// Let its programs do what you may: they pair and revoke devices, and reach every session
    #[arg(long)]
    trusted: bool,
    /// The program and its arguments
    #[arg(
        value_name = "CMD",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<String>,
}

impl ProgramArgs {
    /// Makes the session, in the terminal's size if there is one: on this machine with the caller's environment and directory,
    /// on another with those that a login has there.
    pub(super) async fn create(self, client: &Client) -> Result<Session, Failure> {
        let mut words = self.command.into_iter();
        let (cwd, env) = match client.remote() {
            None => (
                Some(directory(self.cwd.as_deref())?),
                Some(environment(env::vars_os())),
            ),
            Some(_) => (self.cwd, None),
        };
        let session = NewSession {
            command: words.next().expect("clap requires a command"),
            args: words.collect(),
            cwd,
            env,
            name: self.name,
            size: output::size().map(|(columns, rows)| Size { columns, rows }),
            labels: BTreeMap::new(),
            trusted: self.trusted,
        };
        client.post("/sessions", &session).await
    }
}

/// Runs it.
pub(crate) async fn run(args: Args, target: &Target) -> Result<u8, Failure> {
    let is_interactive = attach::is_interactive();
    if is_interactive {
        attach::refuse_unless_possible()?;
    }
    let (client, started) = args.start.silent_client(target).await?;
    let notes: Vec<String> = started.into_iter().chain(left_out(&client)).collect();
    if !is_interactive {
        notes.iter().for_each(|note| output::note(note));
        return follow(&client, &args.program.create(&client).await?).await;
    }
    let ended = show(&client, args.program).await;
    // Before what the program writes they would have scrolled away.
    notes.iter().for_each(|note| output::note(note));
    ended
}

/// Shows a new session in this terminal, to its end or until the person leaves.
async fn show(client: &Client, program: ProgramArgs) -> Result<u8, Failure> {
    let session = program.create(client).await?;
    let end = attach::interactive(client, &session.id, Mode::Write, Begin::Output).await?;
    if let End::Exited(ended) = &end
        && ended.signal.is_some()
    {
        output::note(&format!("{} {}", escape(&session.name), exit::in_words(ended)));
    }
    Ok(code(client, &session, &end))
}

/// Passes on what a new session says, and to it what is said here.
async fn follow(client: &Client, session: &Session) -> Result<u8, Failure> {
    match plain::follow(client, &session.id).await {
        Err(Failure::ClosedPipe) => Err(unread(client, session).await),
        followed => Ok(code(client, session, &followed?)),
    }
}

fn code(client: &Client, session: &Session, end: &End) -> u8 {
    match end {
        End::Exited(ended) => exit::of_program(ended),
        left => super::attach::left(client, &session.name, Mode::Write, left),
    }
}

/// Nobody reads the output any more; who asked is told that the program does not end because of that.
async fn unread(client: &Client, session: &Session) -> Failure {
    let now = client.get::<Session>(&format!("/sessions/{}", session.id)).await;
    if now.is_ok_and(|now| now.state == SessionState::Running) {
        let name = escape(&session.name);
        output::note(&format!(
            "{name} goes on; `transom stop{} {name}` ends it",
            client.flag()
        ));
    }
    Failure::ClosedPipe
}

fn directory(wanted: Option<&str>) -> Result<String, Failure> {
    if let Some(wanted) = wanted.filter(|wanted| wanted.starts_with('/')) {
        return Ok(wanted.to_owned());
    }
    let directory = env::current_dir().map_err(|error| {
        Failure::usage(
            format!("the working directory cannot be used: {error}"),
            "change to one that exists",
        )
    })?;
    let directory = wanted.map_or(directory.clone(), |wanted| directory.join(wanted));
    directory.into_os_string().into_string().map_err(|_| {
        Failure::usage(
            "the working directory's name is not UTF-8",
            "change to one whose name is",
        )
    })
}

/// Says which of the caller's variables a new session does not get; none mostly, and none where it gets no others of them.
pub(super) fn left_out(client: &Client) -> Option<String> {
    let names = match client.remote() {
        None => not_text(env::vars_os()),
        Some(_) => Vec::new(),
    };
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("not UTF-8, so the program does not get these variables: {names}")
    })
}

/// The names of variables that are not text, or whose values are not.
fn not_text(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<String> {
    let others = variables.filter(|(name, value)| name.to_str().is_none() || value.to_str().is_none());
    let names = others.map(|(name, _)| name.to_string_lossy().into_owned());
    let names = names.filter(|name| !name.starts_with("TRANSOM_"));
    names.map(|name| escape(&name).into_owned()).collect()
}

/// The variables for the program: all that are text, less those that tell it of another session.
fn environment(variables: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<String, String> {
    let text =
        variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(name, _)| !name.starts_with("TRANSOM_")).collect()
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt};

    use super::{environment, not_text};

    #[test]
    fn a_program_gets_the_callers_variables_less_our_own() {
        let variables = [
            ("HOME", "/h"),
            ("TRANSOM_DIR", "/d"),
            ("TRANSOM_SESSION", "ses_1"),
        ];
        let given = environment(
            variables
                .into_iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value))),
        );
        assert_eq!(
            given.into_iter().collect::<Vec<_>>(),
            [("HOME".to_owned(), "/h".to_owned())]
        );
    }

    #[test]
    fn what_a_program_cannot_get_is_named() {
        let variables = [
            (&b"HOME"[..], &b"/h"[..]),
            (b"LATIN", b"caf\xe9"),
            (b"N\xff\x1b", b"x"),
            (b"TRANSOM_DIR", b"\xff"),
        ];
        let variables = variables.map(|(name, value)| (name.to_vec(), value.to_vec()));
        let os = |(name, value)| (OsString::from_vec(name), OsString::from_vec(value));
        let named = not_text(variables.into_iter().map(os));
        assert_eq!(named, ["LATIN", "N\u{fffd}\\u{1b}"]);
    }
}
