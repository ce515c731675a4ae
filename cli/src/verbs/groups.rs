//! The verbs in groups, for `--help`.

use std::fmt::Write as _;

use clap::{Arg, Command};

use crate::output::STRONG;

/// The command with its verbs listed in groups instead of in one row, and `--on` where it can be used.
pub(crate) fn grouped(command: Command) -> Command {
    let command = LOCAL.iter().fold(command, |command, verb| {
        command.mut_subcommand(verb, |verb| {
            // Understood all the same, so that it can be said why not.
            verb.arg(Arg::new("on").long("on").global(true).hide(true))
        })
    });
    let width = command
        .get_subcommands()
        .map(|verb| verb.get_name().len())
        .max()
        .unwrap_or_default();
    let mut list = String::new();
    for (heading, verbs) in GROUPS {
        writeln!(list, "{STRONG}{heading}:{STRONG:#}").expect(INFALLIBLE);
        for verb in verbs.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            writeln!(list, "  {STRONG}{:<width$}{STRONG:#}  {about}", verb.get_name()).expect(INFALLIBLE);
        }
        list.push('\n');
    }
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{list}{STRONG}Options:{STRONG:#}\n{{options}}{{after-help}}"
    ))
}

/// Each verb that is not hidden stands in one of them.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Start and follow", &["run", "new", "ls", "attach", "view"]),
    (
        "Steer and look from scripts",
        &["send", "keys", "wait", "logs", "screen", "record", "shell-init"],
    ),
    ("Keep in order", &["note", "rename", "stop", "rm", "restore"]),
    (
        "Devices",
        &[
            "pair",
            "approve",
            "reject",
            "devices",
            "disconnect",
            "revoke",
            "lockdown",
            "audit",
        ],
    ),
    ("Guests", &["invite", "guests"]),
    ("Daemons elsewhere", &["remote", "open", "whoami"]),
    (
        "The daemon",
        &[
            "up",
            "status",
            "doctor",
            "certs",
            "reload",
            "restart",
            "shutdown",
            "service",
            "backup",
            "config",
            "daemon-log",
        ],
    ),
];
/// Verbs about this machine alone.
const LOCAL: [&str; 20] = [
    "up",
    "pair",
    "approve",
    "reject",
    "disconnect",
    "audit",
    "invite",
    "guests",
    "status",
    "certs",
    "reload",
    "restart",
    "shutdown",
    "service",
    "remote",
    "open",
    "backup",
    "config",
    "daemon-log",
    "shell-init",
];
const INFALLIBLE: &str = "writing to a String cannot fail";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{GROUPS, LOCAL, grouped};
    use crate::Cli;

    #[test]
    fn a_flag_is_offered_only_where_it_can_be_used_and_understood_everywhere() {
        let mut command = grouped(Cli::command());
        command.build();
        for verb in command
            .get_subcommands_mut()
            .filter(|verb| verb.get_name() != "help")
        {
            let offers = verb.render_long_help().to_string().contains("--on <REMOTE>");
            assert_eq!(offers, !LOCAL.contains(&verb.get_name()), "{}", verb.get_name());
        }
        let on = |words: &[&str]| {
            let matches = grouped(Cli::command()).try_get_matches_from(words).unwrap();
            <Cli as clap::FromArgMatches>::from_arg_matches(&matches)
                .unwrap()
                .on
        };
        for words in [
            &["transom", "--on", "x", "up"][..],
            &["transom", "up", "--on", "x"],
            &["transom", "ls", "--on", "x"],
            &["transom", "config", "--on", "x", "show"],
            &["transom", "config", "show", "--on", "x"],
        ] {
            assert_eq!(on(words).as_deref(), Some("x"), "{words:?}");
        }
    }

    #[test]
    fn every_verb_stands_in_one_group() {
        for verb in Cli::command()
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
        {
            let count = GROUPS
                .iter()
                .flat_map(|(_, verbs)| *verbs)
                .filter(|name| **name == verb.get_name())
                .count();
            assert_eq!(count, 1, "{}", verb.get_name());
        }
    }
}
