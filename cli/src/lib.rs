//! The command line: one binary, `transom`; `up` runs the daemon, every other verb is a client of one.

mod attach;
mod checks;
mod client;
mod duration;
mod escape;
mod exit;
mod failure;
mod frame;
mod full_screen;
mod names;
mod output;
mod panics;
mod patience;
mod prompt;
mod qr;
mod random;
mod remote;
mod ssh;
mod start;
mod stopped;
mod table;
mod tame;
mod target;
mod verbs;
mod wrap;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

use target::Target;
use verbs::Verb;

/// Terminal sessions that outlive who watches them, shared with the devices you trust
#[derive(Debug, Parser)]
#[command(name = "transom", version, after_help = exit::HELP, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    /// Do it on this daemon elsewhere (see `transom remote`)
    #[arg(long, global = true, value_name = "REMOTE")]
    on: Option<String>,
}

/// Does what the process's arguments ask for, and says with which code to exit.
#[must_use]
pub fn run() -> ExitCode {
    // Before anything else is touched: what the keeper does not use it shall not hold for months.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|verb| verb == "keep") {
        terminal::keep(arguments);
    }
    // Output of sessions and tokens of the person's pass through: nobody's to read, nor a core file's.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
    let Cli { verb, on } = match command()
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches))
    {
        Ok(cli) => cli,
        Err(said) => {
            // Help and version are no errors, and a closed pipe is none either.
            said.print().ok();
            return ExitCode::from(if said.use_stderr() { exit::USAGE } else { exit::OK });
        }
    };
    let json = verb.is_json();
    ExitCode::from(
        verb.run(&Target::of(on))
            .unwrap_or_else(|failure| failure.report(json)),
    )
}

/// The command with all of its verbs, as shells and manual pages are told of it.
#[must_use]
pub fn command() -> clap::Command {
    verbs::grouped(Cli::command())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::Cli;

    #[test]
    fn the_command_tree_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_programs_own_flags_are_the_programs() {
        for line in [
            "run ls --json -la",
            "run -- ls --json -la",
            "new --json --name x ls --name y",
            "run --name x -- ls",
        ] {
            let parsed = Cli::try_parse_from(std::iter::once("transom").chain(line.split(' ')));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for line in [
            "",
            "run",
            "stop",
            "revoke",
            "revoke --all phone",
            "disconnect",
            "audit --verify --follow",
            "audit --since yesterday",
            "attach",
            "approve",
            "pair --role owner",
            "pair --expires 90",
            "config",
            "ls x",
        ] {
            let parsed = Cli::try_parse_from(
                std::iter::once("transom").chain(line.split(' ').filter(|word| !word.is_empty())),
            );
            assert!(parsed.is_err(), "{line}");
        }
    }

    #[test]
    fn every_verb_and_flag_says_what_it_is_for() {
        for verb in Cli::command().get_subcommands() {
            assert!(verb.get_about().is_some(), "{}", verb.get_name());
            for argument in verb
                .get_arguments()
                .filter(|argument| argument.get_id() != "help")
            {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    verb.get_name(),
                    argument.get_id()
                );
            }
        }
    }
}
