//! `transom restart`: the daemon started again, while its sessions go on.

use std::time::Duration;

use ::client::Place;
use protocol::{
    Problem,
    access::{Health, Restart, Restarted, Restarting, Status},
    sessions::{Session, SessionState},
};
use tokio::time::{Instant, sleep, timeout};

use self::hung::Hung;
use super::up;
use crate::{client, client::Client, escape::escape, exit, failure::Failure, output, start, stopped};

mod hung;

/// Arguments of `restart`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The daemon starts again in its own process, with its former arguments, as what is at its executable's path by then: \
after an upgrade, the new one. Programs go on meanwhile, and whoever is attached comes back by itself.")]
pub(crate) struct Args {
    /// Kill a daemon that does not answer, and start another in the background with its arguments and this environment
    #[arg(long)]
    force: bool,
    /// Print the daemon that serves then as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Asks it to, and returns when it serves again.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    if args.force {
        hung::refuse_inside_a_session()?;
    }
    let socket = client::socket()?;
    let client = Client::at(&socket)?;
    let asked = ask(&client).await;
    let forced = asked.is_err();
    match asked {
        Ok(()) => {}
        Err(failure) if args.force && failure.is_timed_out() => {
            let hung = Hung::behind(&socket).await?;
            let arguments = hung.arguments()?;
            up::check(&arguments).await?;
            hung.kill().await?;
            start::again(&client, arguments).await?;
        }
        Err(failure) => return Err(failure),
    }
    let restarted = describe(&client, forced).await?;
    if args.json {
        output::json(&restarted)?;
    } else {
        output::sentence(&in_words(&restarted))?;
    }
    Ok(exit::OK)
}

/// Asks the daemon to restart, and waits until it serves in another life.
async fn ask(client: &Client) -> Result<(), Failure> {
    // One that hangs is found out by what it need not look at the disk for.
    let greeted = timeout(PATIENCE, client.get::<Health>("/health")).await;
    greeted.map_err(|_| hangs(client)).flatten()?;
    let asked = timeout(ANSWER, client.post("/restart", &Restart {})).await;
    let Restarting { life, .. } = asked.map_err(|_| hangs(client)).flatten()?;
    let deadline = Instant::now() + RETURN;
    while Instant::now() < deadline {
        match timeout(PATIENCE, client.get::<Status>("/status")).await {
            Ok(Ok(status)) if status.life != life => return Ok(()),
            Ok(Err(failure)) if !failure.is_about_the_link() => return Err(failure),
            // It drains, it is away, or it is busy.
            _ => sleep(LOOK).await,
        }
    }
    Err(hangs(client))
}

fn hangs(client: &Client) -> Failure {
    if let Place::Socket(socket) = client.place()
        && stopped::process(socket).is_some()
    {
        return Failure::no_answer(client.place());
    }
    let hint = "`transom restart --force` kills it and starts another: sessions go on; its log says what holds it up";
    let problem = Problem::new(504, "timed_out", "the daemon does not restart in time", hint);
    Failure::Problem {
        exit: exit::TIMED_OUT,
        problem: Box::new(problem),
    }
}

async fn describe(client: &Client, forced: bool) -> Result<Restarted, Failure> {
    let status: Status = client.get("/status").await?;
    let sessions: Vec<Session> = client.get("/sessions").await?;
    let running = sessions
        .into_iter()
        .filter(|session| session.state == SessionState::Running);
    Ok(Restarted {
        pid: status.pid,
        life: status.life,
        version: status.version,
        forced,
        sessions: running.map(|session| session.name).collect(),
    })
}

fn in_words(restarted: &Restarted) -> String {
    let done = match restarted.forced {
        true => "the daemon hung and was killed; another serves",
        false => "the daemon has restarted",
    };
    let sessions = match restarted.sessions.len() {
        0 => "no session runs".to_owned(),
        1 => "1 session goes on".to_owned(),
        count => format!("{count} sessions go on"),
    };
    format!("{done}, version {}; {sessions}", escape(&restarted.version))
}

/// How long the daemon may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same where it first looks whether another would start: longer than it gives the disk for that.
const ANSWER: Duration = Duration::from_secs(10);
/// How long it may take to be there again: it drains for seconds at most, and its store may have to be migrated.
const RETURN: Duration = Duration::from_secs(30);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use protocol::access::Restarted;

    use super::in_words;

    #[test]
    fn it_says_how_many_sessions_go_on() {
        let mut restarted = Restarted {
            pid: 1,
            life: "2".to_owned(),
            version: "1.0".to_owned(),
            forced: false,
            sessions: vec!["a".to_owned()],
        };
        let words = in_words(&restarted);
        assert_eq!(words, "the daemon has restarted, version 1.0; 1 session goes on");
        restarted.forced = true;
        restarted.sessions.push("b".to_owned());
        assert!(in_words(&restarted).ends_with("killed; another serves, version 1.0; 2 sessions go on"));
    }
}
