//! The verbs in groups, for `--help`.

use std::fmt::Write as _;

use clap::Command;

use crate::output::STRONG;

/// The command with its verbs listed in groups instead of in one row.
pub(crate) fn grouped(command: Command) -> Command {
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
    ("Daemons elsewhere", &["remote", "whoami"]),
    ("The daemon", &["up", "status", "restart", "shutdown", "config"]),
];
const INFALLIBLE: &str = "writing to a String cannot fail";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::GROUPS;
    use crate::Cli;

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
