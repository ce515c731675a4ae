//! `transom audit`: who did what, and whether that record is whole.

mod export;
mod rows;

use std::path::PathBuf;

use daemon::offline as store;
use jiff::{Timestamp, ZonedDateTime};
use protocol::{
    access::DeviceRecord,
    audit::{AuditQuery, AuditRecord, AuditVerdict},
    sessions::Session,
};

use self::rows::Rows;
use super::{offline, up::failure};
use crate::{
    client::{Client, with_query},
    duration, exit,
    failure::Failure,
    names, output, patience,
};

/// Arguments of `audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Rows are written before what they are about is done, and kept for 400 days. --verify follows the chain that \
ties each row to the one before it, and exits with 1 where rows were changed, removed, reordered or cut off. \
Programs of this user could write a chain of their own: it is proof against everybody else.

Where no daemon runs, its store is read all the same, except with --follow.")]
pub(crate) struct Args {
    /// Not older than this: a span such as 2h, or a time such as 2026-11-29T09:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// Older than this: a span or a time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Timestamp>,
    /// Of this principal: owner, nobody, daemon, or the id of a device or session
    #[arg(long, value_name = "WHO")]
    principal: Option<String>,
    /// By this device or about it: its id or label, or a beginning that only it has
    #[arg(long)]
    device: Option<String>,
    /// By programs of this session or about it: its id or name, or a beginning that only it has
    #[arg(long)]
    session: Option<String>,
    /// Of this action, such as device_revoked or attached
    #[arg(long)]
    action: Option<String>,
    /// The latest rows, so many (50 where nothing is said, 1000 at most: --export writes every row)
    #[arg(short = 'n', value_name = "COUNT", value_parser = count)]
    count: Option<u32>,
    /// Go on with rows as they come
    #[arg(long, short, conflicts_with = "until")]
    follow: bool,
    /// Check that no row was changed, removed, reordered or cut off
    #[arg(long, conflicts_with_all = ["follow", "export", "since", "until", "principal", "device", "session", "action", "count"])]
    verify: bool,
    /// Write every row that is meant into a new file, as lines of JSON
    #[arg(long, value_name = "FILE", conflicts_with_all = ["follow", "count"])]
    export: Option<PathBuf>,
    /// Print the rows as a JSON array; with --follow, as lines of JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Prints, follows, checks or exports.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let client = Client::of_environment()?;
    let away = offline::away(&client).await?;
    let trail = Trail {
        client: away.is_none().then_some(client),
        away,
    };
    if args.verify {
        return verified(&trail.verify().await?, args.json);
    }
    let known = trail.known().await?;
    let query = query(args, &known)?;
    if let Some(file) = &args.export {
        return export::run(&trail, query, file, args.json).await;
    }
    let rows = trail.rows(&query).await?;
    if args.follow {
        return follow(trail, query, rows, &known, args.json).await;
    }
    if args.json {
        output::json(&rows)?;
    } else if rows.is_empty() {
        output::note("no rows match");
    } else {
        output::line(&known.table(&rows, &ZonedDateTime::now(), output::width()))?;
    }
    Ok(exit::OK)
}

/// Where the rows are: with a daemon, or in the store that none serves.
struct Trail {
    client: Option<Client>,
    away: Option<Failure>,
}

impl Trail {
    async fn rows(&self, query: &AuditQuery) -> Result<Vec<AuditRecord>, Failure> {
        let Some(client) = &self.client else {
            let rows = store::audit_rows(&offline::paths()?, query.clone());
            return rows.map_err(|error| failure(&error))?.ok_or_else(missing);
        };
        let path = with_query("/audit", query);
        let wait = std::time::Duration::from_secs(query.wait.unwrap_or_default());
        client.get_within(&path, wait).await
    }

    async fn verify(&self) -> Result<AuditVerdict, Failure> {
        let Some(client) = &self.client else {
            let verdict = store::audit_verify(&offline::paths()?);
            return verdict.map_err(|error| failure(&error))?.ok_or_else(missing);
        };
        client.get_within("/audit/verify", VERIFYING).await
    }

    /// What ids are called; without a daemon, nobody says.
    async fn known(&self) -> Result<Rows, Failure> {
        let Some(client) = &self.client else {
            return Ok(Rows::default());
        };
        let devices: Vec<DeviceRecord> = client.get("/devices").await?;
        let sessions: Vec<Session> = client.get("/sessions?deleted=true").await?;
        Ok(Rows { devices, sessions })
    }
}

fn missing() -> Failure {
    let hint = "`transom up` starts one; if its files are elsewhere, set TRANSOM_DIR as it was started";
    Failure::failed("not_found", "no daemon runs, and there is no store of one", hint)
}

fn query(args: &Args, known: &Rows) -> Result<AuditQuery, Failure> {
    // What is not known any more is meant by its id.
    let device = |word: &String| match names::device(&known.devices, word) {
        Ok(device) => Ok(device.id.to_string()),
        Err(_) if is_id(word, "dev_") => Ok(word.clone()),
        Err(failure) => Err(failure),
    };
    let session = |word: &String| match names::session(&known.sessions, word) {
        Ok(session) => Ok(session.id.clone()),
        Err(_) if is_id(word, "ses_") => Ok(word.clone()),
        Err(failure) => Err(failure),
    };
    Ok(AuditQuery {
        since: args.since,
        until: args.until,
        principal: args.principal.clone(),
        device: args.device.as_ref().map(device).transpose()?,
        session: args.session.as_ref().map(session).transpose()?,
        action: args.action.clone(),
        limit: Some(args.count.unwrap_or(SHOWN)),
        ..AuditQuery::default()
    })
}

/// Prints what there is, then each row as it comes, over restarts of the daemon.
async fn follow(
    mut trail: Trail,
    query: AuditQuery,
    first: Vec<AuditRecord>,
    known: &Rows,
    is_json: bool,
) -> Result<u8, Failure> {
    if let Some(away) = trail.away.take() {
        return Err(away);
    }
    // Behind the last that was printed, or behind the last there is: nothing older is to come.
    let newest = AuditQuery {
        limit: Some(1),
        ..AuditQuery::default()
    };
    let last = match first.last() {
        Some(last) => last.sequence,
        None => trail.rows(&newest).await?.last().map_or(0, |row| row.sequence),
    };
    if !is_json {
        output::line(&rows::heading(output::width()))?;
    }
    print(&first, known, is_json)?;
    tokio::select! {
        ended = keep_on(&trail, &query, last, known, is_json) => ended,
        () = output::reader_gone() => Err(Failure::ClosedPipe),
    }
}

/// Prints rows behind one as they come; only a failure ends it.
async fn keep_on(
    trail: &Trail,
    query: &AuditQuery,
    mut last: u64,
    known: &Rows,
    is_json: bool,
) -> Result<u8, Failure> {
    let mut patience = patience::bounded();
    loop {
        let next = AuditQuery {
            after: Some(last),
            wait: Some(WAIT),
            limit: None,
            ..query.clone()
        };
        match trail.rows(&next).await {
            Ok(rows) => {
                patience.worked();
                print(&rows, known, is_json)?;
                last = rows.last().map_or(last, |row| row.sequence);
            }
            Err(failure) => patience.bear(failure).await?,
        }
    }
}

fn print(rows: &[AuditRecord], known: &Rows, is_json: bool) -> Result<(), Failure> {
    for row in rows {
        match is_json {
            true => output::json(row)?,
            false => output::line(&known.line(row, &ZonedDateTime::now(), output::width()))?,
        }
    }
    Ok(())
}

fn verified(verdict: &AuditVerdict, is_json: bool) -> Result<u8, Failure> {
    let code = if verdict.whole { exit::OK } else { exit::FAILED };
    if is_json {
        output::json(verdict)?;
        return Ok(code);
    }
    if verdict.whole {
        let said = match (verdict.first, verdict.last) {
            (Some(first), Some(last)) => {
                format!(
                    "the audit trail is whole: {} rows, {first} to {last}",
                    verdict.rows
                )
            }
            _ => "the audit trail is whole, and has no rows".to_owned(),
        };
        output::sentence(&said)?;
        return Ok(code);
    }
    for fault in &verdict.faults {
        output::sentence(&fault.detail)?;
    }
    let more = verdict.fault_count.saturating_sub(verdict.faults.len() as u64);
    if more > 0 {
        output::sentence(&format!("and {more} more"))?;
    }
    output::error("the audit trail is not whole");
    output::hint("somebody changed the store outside of the daemon; a backup shows what was there");
    Ok(code)
}

/// How many rows one answer holds.
fn count(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (1..=MOST).contains(count));
    count.ok_or_else(|| format!("1 to {MOST} rows are shown; --export FILE writes every row that is meant"))
}

/// A time, or how long ago it was.
fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    let seconds = duration::parse(text)
        .ok()
        .and_then(|seconds| i64::try_from(seconds).ok());
    let ago = seconds.map(jiff::SignedDuration::from_secs);
    ago.and_then(|ago| Timestamp::now().checked_sub(ago).ok())
        .ok_or_else(|| "a time is a span such as 2h or 7d, or looks like 2026-11-29T09:00:00Z".to_owned())
}

fn is_id(word: &str, prefix: &str) -> bool {
    word.strip_prefix(prefix).is_some_and(|digits| {
        digits.len() == ID_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Rows of a listing where nothing is said.
const SHOWN: u32 = 50;
/// The most that one answer holds.
const MOST: u32 = 1_000;
/// Seconds for which a follower waits at the daemon before it asks again.
const WAIT: u64 = 25;
/// How long a trail of 400 days may take to be checked.
const VERIFYING: std::time::Duration = std::time::Duration::from_secs(120);
/// Hex digits of an id.
const ID_DIGITS: usize = 16;

#[cfg(test)]
mod tests {
    use super::{count, is_id, moment};

    #[test]
    fn more_rows_than_one_answer_holds_are_refused_with_the_way_to_all() {
        assert_eq!((count("1"), count("1000")), (Ok(1), Ok(1_000)));
        for text in ["0", "1001", "5000", "-1", "x", ""] {
            assert!(count(text).unwrap_err().contains("--export"), "{text}");
        }
    }

    #[test]
    fn a_moment_is_a_time_or_so_long_ago() {
        assert_eq!(
            moment("2026-11-29T09:00:00Z").unwrap().to_string(),
            "2026-11-29T09:00:00Z"
        );
        let ago = jiff::Timestamp::now().as_second() - moment("2h").unwrap().as_second();
        assert!((7_199..=7_210).contains(&ago), "{ago}");
        for text in ["", "yesterday", "2", "-2h"] {
            assert!(moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_whole_id_may_be_of_what_is_gone() {
        assert!(is_id("dev_0123456789abcdef", "dev_"));
        assert!(!is_id("dev_0123", "dev_") && !is_id("phone", "dev_"));
    }
}
