//! Starting a daemon where none runs.

use std::{env, ffi::OsString, process::Stdio, time::Duration};

use protocol::{
    Problem,
    access::{Health, Ready},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

use crate::{
    client::{self, Client},
    exit,
    failure::Failure,
    output,
    target::Target,
};

/// The flag of the verbs that may start a daemon.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct StartArgs {
    /// Fail where no daemon runs, instead of starting one (as CI=true does)
    #[arg(long)]
    no_start: bool,
}

impl StartArgs {
    /// A client of a daemon that runs: of a new one in the background if need be, which is said, unless it is a remote one.
    pub(crate) async fn client(self, target: &Target) -> Result<Client, Failure> {
        let (client, started) = self.silent_client(target).await?;
        if let Some(started) = started {
            output::note(&started);
        }
        Ok(client)
    }

    /// The same for who says at another time that a new one was started, in these words.
    pub(crate) async fn silent_client(self, target: &Target) -> Result<(Client, Option<String>), Failure> {
        let client = target.client()?;
        if client.remote().is_some() {
            return Ok((client, None));
        }
        match client.get::<Health>("/health").await {
            Ok(_) => Ok((client, None)),
            Err(failure) if failure.is_unreachable() && self.is_allowed() => {
                let ready = start(&client, Vec::new()).await?;
                let words = |ready: Ready| {
                    let socket = ready.socket;
                    format!("no daemon ran: started one at {socket}; `transom shutdown` ends it")
                };
                Ok((client, ready.map(words)))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Inside of a session, what that session's daemon was started with is not known.
    fn is_allowed(self) -> bool {
        !self.no_start
            && env::var_os("CI").is_none_or(|value| value != "true")
            && client::session_socket().is_none()
    }
}

/// Starts a daemon in the background with the arguments of one that is gone, the verb being the first.
///
/// # Errors
/// Why none serves now.
pub(crate) async fn again(client: &Client, arguments: Vec<OsString>) -> Result<(), Failure> {
    let arguments = arguments.into_iter().skip(1);
    let once = ["--json", "--background", "--accept-older-store"];
    let rest = arguments.filter(|argument| once.iter().all(|flag| argument != flag));
    start(client, rest.collect()).await.map(drop)
}

/// Starts a daemon, with arguments behind its own; `None` where another serves by then.
async fn start(client: &Client, arguments: Vec<OsString>) -> Result<Option<Ready>, Failure> {
    let mut daemon = spawn(arguments)?;
    let Ok(said) = timeout(PATIENCE, first_words(&mut daemon)).await else {
        return Err(Failure::timed_out("the daemon that was started is not ready yet"));
    };
    let problem = match said {
        Some(Words::Ready(ready)) => return Ok(Some(ready)),
        // Two commands may start a daemon at the same time: one wins, and serves both.
        _ if answers(client).await => return Ok(None),
        Some(Words::Problem(problem)) => problem,
        None => {
            let hint = "`transom up` starts one in the foreground, and shows what it says";
            Box::new(Problem::new(
                500,
                "start_failed",
                "a daemon was started, and ended without a word",
                hint,
            ))
        }
    };
    let exit = daemon
        .wait()
        .await?
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .filter(|code| *code != exit::OK);
    Err(Failure::Problem {
        exit: exit.unwrap_or(exit::FAILED),
        problem,
    })
}

/// Starts `transom up` so that it outlives this process and its terminal.
fn spawn(arguments: Vec<OsString>) -> Result<Child, Failure> {
    let mut command = Command::new(daemon::executable::called()?);
    // What this process was told as a service is not about the daemon.
    daemon::service::PRIVATE.iter().for_each(|name| {
        command.env_remove(name);
    });
    let child = command
        .args(["up", "--json", "--background"])
        .args(arguments)
        .env_remove("TRANSOM_SESSION")
        .env_remove("TRANSOM_SOCKET")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(child)
}

/// What `up --json` says first.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Words {
    Ready(Ready),
    Problem(Box<Problem>),
}

/// Waits for the first words, or for an end without any.
async fn first_words(daemon: &mut Child) -> Option<Words> {
    let mut lines = BufReader::new(daemon.stdout.take()?).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(words) = serde_json::from_str(&line) {
            return Some(words);
        }
    }
    None
}

/// Whether a daemon answers within the time that another one may need to become ready.
async fn answers(client: &Client) -> bool {
    let deadline = Instant::now() + Duration::from_secs(3);
    while Instant::now() < deadline {
        if client.get::<Health>("/health").await.is_ok() {
            return true;
        }
        sleep(Duration::from_millis(50)).await;
    }
    false
}

/// How long a daemon may take to become ready; its store may have to be migrated.
const PATIENCE: Duration = Duration::from_secs(20);
