//! Writes what a package has besides the binary: completions for shells, and manual pages.
//!
//! `manual FOLDER`: the folder is the prefix, such as `/usr`, and must be there.

mod settings;

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os()
        .nth(1)
        .ok_or("name the folder: manual FOLDER")?;
    for (path, text) in files()? {
        let path = Path::new(&folder).join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// Each file with its path below the prefix.
fn files() -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files: Vec<_> = SHELLS
        .iter()
        .map(|(shell, path)| (PathBuf::from(path), completion(*shell)))
        .collect();
    let mut command = cli::command().disable_help_subcommand(true);
    command.build();
    pages(&command, &mut files)?;
    files.push((PathBuf::from(SETTINGS), settings::page().into_bytes()));
    Ok(files)
}

fn completion(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "transom", &mut script);
    script
}

/// A page for the command and one for each of its verbs, as in `transom-devices-add(1)`.
fn pages(command: &Command, files: &mut Vec<(PathBuf, Vec<u8>)>) -> io::Result<()> {
    let page = Man::new(command.clone())
        .manual("Transom")
        .source(concat!("transom ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render(&mut text)?;
    files.push((Path::new("share/man/man1").join(page.get_filename()), text));
    command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .try_for_each(|verb| pages(verb, files))
}

/// Where each shell looks for what others bring.
const SHELLS: [(Shell, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions/transom"),
    (Shell::Zsh, "share/zsh/site-functions/_transom"),
    (Shell::Fish, "share/fish/vendor_completions.d/transom.fish"),
];

const SETTINGS: &str = "share/man/man5/transom.toml.5";

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::{SETTINGS, SHELLS, files};

    #[test]
    fn every_verb_that_help_lists_has_a_page_and_a_completion() {
        let files = files().unwrap();
        let text_of = |wanted: &str| {
            let (_, text) = files
                .iter()
                .find(|(path, _)| path.ends_with(wanted))
                .unwrap_or_else(|| panic!("there is no {wanted}"));
            String::from_utf8_lossy(text)
        };
        for verb in cli::command()
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
        {
            let name = verb.get_name();
            let page = text_of(&format!("transom-{name}.1"));
            assert!(page.contains(".SH SYNOPSIS"), "{name}");
            for (shell, path) in SHELLS {
                assert!(text_of(path).contains(name), "{shell} does not complete {name}");
            }
        }
        assert!(text_of("transom.1").contains("Exit codes"));
    }

    #[test]
    fn the_page_of_the_settings_names_every_key_with_its_default() {
        let files = files().unwrap();
        let (_, page) = files.iter().find(|(path, _)| path.ends_with(SETTINGS)).unwrap();
        let page = String::from_utf8(page.clone()).unwrap().replace("\\-", "-");
        for setting in daemon::config::settings() {
            let name = setting.key.split_once('.').unwrap().1;
            for part in [name, &setting.variable, setting.default] {
                assert!(page.contains(part), "{}: {part}", setting.key);
            }
        }
    }

    #[test]
    fn shells_can_read_their_completions() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files().unwrap() {
            let Some((shell, _)) = SHELLS.iter().find(|(_, known)| path.ends_with(known)) else {
                continue;
            };
            let file = folder.path().join(shell.to_string());
            fs::write(&file, text).unwrap();
            let read = Command::new(shell.to_string()).arg("-n").arg(&file).output();
            let read = read.unwrap_or_else(|error| panic!("{shell}: {error}"));
            assert!(
                read.status.success() && read.stderr.is_empty(),
                "{shell}: {read:?}"
            );
        }
    }
}
