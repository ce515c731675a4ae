//! `transom doctor`: what is wrong, and what to do about it.

use ::client::Place;
use anstyle::{AnsiColor, Style};
use daemon::{Config, Paths, config::TailnetMode};
use jiff::Timestamp;

use crate::{
    checks::{self, Check, Running, State},
    client,
    escape::escape,
    exit,
    failure::Failure,
    output,
    target::Target,
    wrap::wrap,
};

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It changes nothing, and works whether a daemon runs or not: what only a running one could tell is skipped then. With \
--on it tests the way to that remote.

With --json: an array of {check, state, detail, hint}; `state` is ok, warning, failed or skipped, `hint` is null where \
there is nothing to do.

Exit codes: 0 nothing failed, 1 something did.")]
pub(crate) struct Args {
    /// Print the checks as one array
    #[arg(long)]
    pub(super) json: bool,
}

/// Looks, and says.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let mut report = Report {
        is_shown: !args.json,
        checks: Vec::new(),
    };
    match target {
        Target::Here => here(&mut report).await?,
        Target::Remote { name, .. } => report.all(checks::remote(name).await)?,
    }
    if args.json {
        output::json(&report.checks)?;
    } else {
        output::line(&summary(&report.checks))?;
    }
    let is_bad = report.checks.iter().any(|check| check.state == State::Failed);
    Ok(if is_bad { exit::FAILED } else { exit::OK })
}

/// Tests this machine's own daemon.
async fn here(report: &mut Report) -> Result<(), Failure> {
    if let Some(socket) = client::session_socket() {
        let place = Place::Socket(socket.into());
        let detail = format!(
            "this runs inside of a session of the daemon at {place}, which is not to know more of it"
        );
        return report.add(Check::skipped("daemon", detail).hint("run it outside of the session"));
    }
    let paths = match Paths::find(None) {
        Ok(paths) => paths,
        Err(error) => return report.add(Check::failed("folders", error.to_string(), error.hint())),
    };
    let now = Timestamp::now();
    let (configuration, config) = checks::configuration(&paths);
    report.add(configuration)?;
    report.all(checks::folders(&paths))?;
    let (keys, identity) = checks::keys(&paths);
    let has_keys = keys.iter().all(|check| check.state != State::Failed);
    report.all(keys)?;
    let (store, look) = checks::store(&paths, has_keys);
    report.add(store)?;
    let (served, daemon) = checks::lock_and_socket(&paths).await;
    report.all(served)?;
    let running = daemon.running();
    let certificate = config
        .as_ref()
        .and_then(|config| checks::certificate(config, now));
    let failed = report.failed(certificate.as_ref());
    report.all(checks::of_the_daemon(running, &paths, &failed, now))?;
    report.add(checks::clock(&paths, look.as_ref(), running, now))?;
    report.all(certificate)?;
    if let Some(config) = &config {
        let ports = config.tls.iter();
        report.all(ports.filter_map(|address| checks::port(*address, &daemon)))?;
    }
    match running {
        Some(running) => {
            let kept = identity.as_ref().map(certs::Identity::pin);
            for endpoint in &running.status.tls {
                report.add(checks::listener(&running.status, endpoint, kept, now).await)?;
            }
        }
        None => report.add(Check::skipped("listener", "none is open, as no daemon answers"))?,
    }
    if let Some(config) = &config {
        report.all(checks::configured(config, running))?;
        tailnet(report, config, running).await?;
    }
    report.add(checks::web_app(running))?;
    match running {
        Some(running) => report.all(checks::phone(running, config.as_ref()).await),
        None => report.add(Check::skipped("phone", "none gets here, as no daemon answers")),
    }
}

async fn tailnet(report: &mut Report, config: &Config, running: Option<&Running>) -> Result<(), Failure> {
    if let Some(found) = checks::embedded(config, running) {
        return report.all(found);
    }
    let status = running.and_then(|running| running.status.tailnet.as_ref());
    let (check, probe) = checks::tailnet(config).await;
    let is_there = check.state == State::Ok;
    report.add(check)?;
    if config.tailnet_mode == TailnetMode::Off {
        return Ok(());
    }
    report.all(checks::tailnet_listeners(config, running))?;
    if let Some(probe) = probe.filter(|_| is_there) {
        report.add(checks::who_is_itself(config, &probe))?;
        report.add(checks::https(&probe, status))?;
        report.add(checks::nodes(config, &probe))?;
    }
    Ok(())
}

/// What came of all checks; people are shown each as it comes.
struct Report {
    is_shown: bool,
    checks: Vec<Check>,
}

impl Report {
    fn add(&mut self, check: Check) -> Result<(), Failure> {
        if self.is_shown {
            output::line(&in_words(&check, output::width()))?;
        }
        self.checks.push(check);
        Ok(())
    }

    /// The names of those that failed, with one that is told later.
    fn failed(&self, later: Option<&Check>) -> Vec<&'static str> {
        let all = self.checks.iter().chain(later);
        let failed = all.filter(|check| check.state == State::Failed);
        failed.map(|check| check.check).collect()
    }

    fn all(&mut self, checks: impl IntoIterator<Item = Check>) -> Result<(), Failure> {
        checks.into_iter().try_for_each(|check| self.add(check))
    }
}

/// A check in a line, with what to do about it in the next; on a terminal of this width both are broken between words.
fn in_words(check: &Check, width: Option<usize>) -> String {
    let (word, style) = match check.state {
        State::Ok => ("ok", AnsiColor::Green.on_default()),
        State::Warning => ("warning", AnsiColor::Yellow.on_default()),
        State::Failed => ("failed", AnsiColor::Red.on_default().bold()),
        State::Skipped => ("skipped", Style::new().dimmed()),
    };
    let width = width.unwrap_or(usize::MAX);
    let indent = STATE + NAME;
    let line = format!("{word:<STATE$}{:<NAME$}{}", check.check, escape(&check.detail));
    let line = wrap(&line, width, indent).join("\n");
    let (head, rest) = line.split_at(word.len());
    let mut text = format!("{style}{head}{style:#}{rest}");
    if let Some(hint) = &check.hint {
        let hint = format!("{:indent$}hint: {}", "", escape(hint));
        let hint = wrap(&hint, width, indent + 6).join("\n");
        let cyan = AnsiColor::Cyan.on_default();
        text.push('\n');
        text.push_str(&hint.replacen("hint:", &format!("{cyan}hint:{cyan:#}"), 1));
    }
    text
}

fn summary(checks: &[Check]) -> String {
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    let (failed, warnings, skipped) = (count(State::Failed), count(State::Warning), count(State::Skipped));
    let warnings = match warnings {
        1 => "1 warning".to_owned(),
        warnings => format!("{warnings} warnings"),
    };
    format!(
        "{} checks: {} ok, {warnings}, {failed} failed, {skipped} skipped",
        checks.len(),
        count(State::Ok)
    )
}

/// Columns of the state and of the check's name.
const STATE: usize = 9;
const NAME: usize = 15;

#[cfg(test)]
mod tests {
    use super::{in_words, summary};
    use crate::checks::Check;

    fn plain(check: &Check, width: Option<usize>) -> String {
        anstream::adapter::strip_str(&in_words(check, width)).to_string()
    }

    #[test]
    fn a_check_is_one_line_and_its_hint_another() {
        let failed = Check::failed("keys", "token.key has mode 0644", "`chmod 600 token.key`");
        assert_eq!(
            plain(&failed, None),
            "failed   keys           token.key has mode 0644\n                        hint: `chmod 600 token.key`"
        );
        assert_eq!(
            plain(&Check::ok("lock", "held\u{1b}"), None),
            "ok       lock           held\\u{1b}"
        );
    }

    #[test]
    fn on_a_terminal_long_lines_go_on_below_their_beginning() {
        let check = Check::warning("phone", "one two three four", "five six seven eight");
        let lines: Vec<String> = plain(&check, Some(40)).lines().map(str::to_owned).collect();
        assert_eq!(
            lines,
            [
                "warning  phone          one two three",
                "                        four",
                "                        hint: five six",
                "                              seven",
                "                              eight",
            ]
        );
    }

    #[test]
    fn the_end_counts_what_was_found() {
        let checks = [
            Check::ok("a", ""),
            Check::warning("b", "", "c"),
            Check::skipped("d", ""),
        ];
        assert_eq!(summary(&checks), "3 checks: 1 ok, 1 warning, 0 failed, 1 skipped");
    }
}
