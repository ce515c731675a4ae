//! `transom wait`: until something comes true of a session.

use std::time::Duration;

use protocol::{
    Problem,
    sessions::{WaitQuery, Waited, WaitedFor},
};
use tokio::time::Instant;

use super::ls::state;
use crate::{
    client::{Client, with_query},
    duration,
    escape::escape,
    exit,
    failure::Failure,
    names, output, patience,
    target::Target,
};

/// Arguments of `wait`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --idle and --text it waits for the program's end. With several it returns at the first that comes \
true. It goes on by itself while the daemon restarts, for up to a minute.

Exit codes: 0 it came true (whatever the program's own code: that is printed, and in --json), 1 the program \
ended before it could, 5 the time is over.

  transom wait build --exit && transom screen build
  transom wait agent --idle 5s --timeout 10m
  transom wait server --text 'listening on .*:\\d+'")]
pub(crate) struct Args {
    /// Name or id of the session, or a beginning that only it has
    name: String,
    /// Until its program has ended
    #[arg(long)]
    exit: bool,
    /// Until it has printed nothing for so long, for example 2s or 500ms
    #[arg(long, value_name = "TIME", value_parser = duration::parse_fine)]
    idle: Option<Duration>,
    /// Until a line of its screen, or one that scrolled off since, matches this regular expression
    #[arg(long, value_name = "REGEX")]
    text: Option<String>,
    /// At most so long, for example 30s or 2h; without it, for as long as it takes
    #[arg(long, value_name = "TIME", value_parser = duration::parse_fine)]
    timeout: Option<Duration>,
    /// Print what came true as JSON, with the session
    #[arg(long)]
    pub(super) json: bool,
}

/// Waits.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    if args.idle.is_some_and(|idle| idle >= LONGEST) {
        let hint = "wait in a loop that looks at `last_output_at` of `transom ls --json`";
        return Err(Failure::usage("--idle must be less than an hour", hint));
    }
    let client = target.client()?;
    let deadline = args
        .timeout
        .and_then(|timeout| Instant::now().checked_add(timeout));
    let session = names::find(&client, &args.name).await?;
    let waited = until(&client, &session.id, args, deadline).await?;
    if args.json {
        output::json(&waited)?;
    }
    let name = escape(&waited.session.name);
    if waited.reason == WaitedFor::Exit && !args.wants_exit() {
        let how = ended(&waited);
        let failure = Failure::failed(
            "ended",
            format!("{name} {how} before it came true"),
            "`transom screen` shows what it printed last",
        );
        return if args.json { Ok(exit::FAILED) } else { Err(failure) };
    }
    if !args.json {
        match waited.reason {
            WaitedFor::Exit => output::line(&format!("{name} {}", ended(&waited)))?,
            WaitedFor::Idle => output::line(&format!("{name} is idle"))?,
            WaitedFor::Text => output::line(&escape(waited.line.as_deref().unwrap_or_default()))?,
        }
    }
    Ok(exit::OK)
}

impl Args {
    fn wants_exit(&self) -> bool {
        self.exit || (self.idle.is_none() && self.text.is_none())
    }
}

fn ended(waited: &Waited) -> String {
    let exit = waited.session.exit.as_ref();
    exit.map_or_else(|| state(&waited.session), exit::in_words)
}

/// Asks again for as long as nothing came true and there is time: one question takes an hour at most.
async fn until(client: &Client, id: &str, args: &Args, deadline: Option<Instant>) -> Result<Waited, Failure> {
    let mut patience = patience::bounded();
    loop {
        let left = deadline.map_or(LONGEST, |deadline| deadline - Instant::now());
        let turn = left.min(LONGEST);
        let query = WaitQuery {
            idle_ms: args.idle.map(milliseconds),
            text: args.text.clone(),
            timeout_ms: Some(milliseconds(turn)),
        };
        let path = with_query(&format!("/sessions/{id}/wait"), &query);
        match client.get_within::<Waited>(&path, turn).await {
            Ok(waited) => return Ok(waited),
            Err(failure) if is_over(&failure) => {
                patience.worked();
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return Err(out_of_time(&args.name));
                }
            }
            Err(failure) => patience.bear(failure).await?,
        }
    }
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1)
}

/// Whether the daemon's own time for the question was over, as opposed to the daemon saying nothing at all.
fn is_over(failure: &Failure) -> bool {
    matches!(failure, Failure::Problem { problem, .. } if problem.code == "timed_out")
}

fn out_of_time(name: &str) -> Failure {
    let detail = format!("it did not come true in time for `{name}`");
    let problem = Problem::new(
        504,
        "timed_out",
        detail,
        "`transom screen` shows where it stands; a longer --timeout waits longer",
    );
    Failure::answered(problem)
}

/// What one question may take.
const LONGEST: Duration = Duration::from_hours(1);

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        os::unix::net::UnixListener,
        thread,
    };

    use protocol::sessions::WaitedFor;

    use super::{Args, until};
    use crate::client::Client;

    #[tokio::test]
    async fn a_daemon_that_restarts_meanwhile_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("transom.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let asked = thread::spawn(move || {
            let accept = |listener: &UnixListener| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 4096];
                let length = stream.read(&mut request).unwrap();
                (stream, String::from_utf8_lossy(&request[..length]).into_owned())
            };
            // The first daemon goes away while it is asked, and for a moment there is none.
            drop(accept(&listener));
            let path = listener.local_addr().unwrap().as_pathname().unwrap().to_owned();
            drop(listener);
            std::fs::remove_file(&path).unwrap();
            let listener = UnixListener::bind(&path).unwrap();
            let (mut stream, request) = accept(&listener);
            let session = crate::verbs::ls::tests::session("a", "idle", 1);
            let body = serde_json::json!({"reason": "idle", "line": null, "session": session}).to_string();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).unwrap();
            request
        });
        let args = Args {
            name: "a".to_owned(),
            exit: false,
            idle: Some(std::time::Duration::from_millis(1)),
            text: Some("x y".to_owned()),
            timeout: None,
            json: false,
        };
        let client = Client::at(&socket).unwrap();
        let waited = until(&client, "ses_a", &args, None).await.unwrap();
        assert_eq!(waited.reason, WaitedFor::Idle);
        let request = asked.join().unwrap();
        assert!(
            request.starts_with("GET /v1/sessions/ses_a/wait?idle_ms=1&text=x+y&timeout_ms=3600000 "),
            "{request}"
        );
    }
}
