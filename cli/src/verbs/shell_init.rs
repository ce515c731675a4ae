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

From version 4 on fish writes marks of its own. After each command the snippet also turns off what a program that was \
killed left on: reports of the mouse and of focus, which would be typed into the shell.

Terminals that do not know the marks ignore them.")]
pub(crate) struct Args {
    /// The shell: bash (4.4 or newer), zsh, or fish (3 or newer)
    #[arg(value_enum)]
    shell: Shell,
}

/// A shell whose snippet is known.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
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
