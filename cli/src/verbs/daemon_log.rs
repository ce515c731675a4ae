//! `transom daemon-log`: what the daemon says of itself.

mod entry;
mod files;

use std::collections::VecDeque;

use daemon::Paths;

use self::{
    entry::{Entry, Level},
    files::Log,
};
use crate::{exit, failure::Failure, output};

/// Arguments of `daemon-log`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The log is read from its files, so it needs no daemon: one for each day, of which seven former ones are kept. \
Nothing in it is a secret.

`log.level` in the configuration says what is written: a level, and levels for single parts such as \
\"info,server=debug\"; `transom reload` takes it up while the daemon runs. At `debug` there is a line for each \
request. Lines that were written while a request was answered name it, as do the errors that clients get: \
--request shows them.

With --json: the lines as they stand in the file, each an object.")]
pub(crate) struct Args {
    /// Go on with lines as they come
    #[arg(long, short)]
    follow: bool,
    /// Only the last lines, so many (with -f, ten where nothing is said)
    #[arg(short = 'n', value_name = "COUNT")]
    count: Option<usize>,
    /// Only what is at least so severe
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = Level::Trace, hide_default_value = true)]
    level: Level,
    /// Only what was said of this request
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// Print lines of JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Prints it.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let paths = Paths::find(None).map_err(|error| Failure::configuration(error.to_string(), error.hint()))?;
    let folder = paths.logs();
    let mut log = Log::open(&folder).map_err(|error| {
        let hint = "no daemon has run here; if its files are elsewhere, set TRANSOM_DIR as it was started";
        let detail = format!("there is no log in {}: {error}", folder.display());
        Failure::failed("not_found", detail, hint)
    })?;
    let most = args.count.or_else(|| args.follow.then_some(FOLLOWED));
    let mut last = VecDeque::new();
    while let Some(line) = log.next_line()? {
        let Some(shown) = args.shown(&line) else { continue };
        match most {
            None => output::line(&shown)?,
            Some(most) => {
                last.push_back(shown);
                if last.len() > most {
                    last.pop_front();
                }
            }
        }
    }
    last.iter().try_for_each(|line| output::line(line))?;
    if !args.follow {
        return Ok(exit::OK);
    }
    loop {
        log.wait()?;
        while let Some(line) = log.next_line()? {
            if let Some(shown) = args.shown(&line) {
                output::line(&shown)?;
            }
        }
    }
}

impl Args {
    /// A line as it is printed; nothing of one that is not meant.
    fn shown(&self, line: &str) -> Option<String> {
        let entry = Entry::parse(line);
        let is_meant =
            entry.level() <= self.level && self.request.as_deref().is_none_or(|request| entry.is_of(request));
        is_meant.then(|| match self.json {
            true => entry.json(),
            false => entry.in_words(),
        })
    }
}

/// Lines that somebody who follows begins with.
const FOLLOWED: usize = 10;
