//! `transom shell-init`: the snippet by which a shell marks its prompts and commands.

use crate::{exit, failure::Failure, output};

/// Arguments of `shell-init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The marks (OSC 133) say where a prompt, a command and its output begin and end. With them `transom screen \
--last-command` finds the output, and a session knows whether it works or waits.

  bash  in ~/.bashrc, as the last line:   eval \"$(transom shell-init bash)\"
  zsh   in ~/.zshrc, as the last line:    eval \"$(transom shell-init zsh)\"
  fish  in ~/.config/fish/config.fish:    transom shell-init fish | source

Terminals that do not know the marks ignore them.")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// A shell whose snippet is known.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Shell {
    /// Version 4.4 or newer
    Bash,
    /// Any version in use
    Zsh,
    /// Version 3 or newer; from 4 on it writes marks of its own
    Fish,
}

/// Prints the snippet.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let snippet = match args.shell {
        Shell::Bash => include_str!("shell_init/bash.sh"),
        Shell::Zsh => include_str!("shell_init/zsh.zsh"),
        Shell::Fish => include_str!("shell_init/fish.fish"),
    };
    output::line(snippet.trim_end())?;
    Ok(exit::OK)
}
