//! The units, as they stand in `deploy/systemd`, for this user's command.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// The folder of this user's units, and what is in it of ours.
#[derive(Debug)]
pub(super) struct Units {
    folder: PathBuf,
}

impl Units {
    /// Those of the user whose environment this is (systemd.unit(5), "User Unit Search Path").
    ///
    /// # Errors
    /// No home is known.
    pub(super) fn of_environment() -> Result<Self, Failure> {
        let variable = |name| {
            env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let base = variable("XDG_CONFIG_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| Some(variable("HOME")?.join(".config")));
        let base = base.ok_or_else(|| {
            Failure::configuration("HOME is not set, so there is no place for units", "set HOME")
        })?;
        Ok(Self {
            folder: base.join("systemd/user"),
        })
    }

    /// Whether all of them are there.
    pub(super) fn are_installed(&self) -> bool {
        ALL.iter().all(|(name, _)| self.folder.join(name).is_file())
    }

    /// Writes them for the command at this path, and says where they are.
    ///
    /// # Errors
    /// One is there that is not ours, or the system says no.
    pub(super) fn write(&self, program: &Path) -> Result<Vec<PathBuf>, Failure> {
        let paths: Vec<_> = ALL.iter().map(|(name, _)| self.folder.join(name)).collect();
        paths.iter().try_for_each(|path| refuse_foreign(path))?;
        fs::create_dir_all(&self.folder)?;
        let variables: Vec<(&str, String)> = KEPT
            .iter()
            .filter_map(|name| Some((*name, env::var(name).ok().filter(|value| !value.is_empty())?)))
            .collect();
        for ((_, text), path) in ALL.iter().zip(&paths) {
            let new = path.with_extension("new");
            fs::write(&new, filled(text, program, &variables))?;
            fs::rename(&new, path)?;
        }
        Ok(paths)
    }

    /// Removes those that are ours, and says which.
    ///
    /// # Errors
    /// The system says no.
    pub(super) fn remove(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut removed = Vec::new();
        for (name, _) in ALL {
            let path = self.folder.join(name);
            match fs::read_to_string(&path) {
                Ok(text) if text.starts_with(MARK) => {
                    fs::remove_file(&path)?;
                    removed.push(path);
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(removed)
    }
}

/// Refuses a file that somebody else wrote, or that is a link out of here.
fn refuse_foreign(path: &Path) -> Result<(), Failure> {
    match fs::read_to_string(path) {
        Ok(text) if text.starts_with(MARK) && !path.is_symlink() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(()),
        Ok(_) | Err(_) => Err(Failure::failed(
            "unit_in_the_way",
            format!(
                "{} is there, and `transom service install` did not write it",
                path.display()
            ),
            "move it away; what you want to change of the units goes into a drop-in (`systemctl --user edit transom.service`)",
        )),
    }
}

/// A unit with its mark, this command in the place of the packaged one, and what tells where files are.
fn filled(text: &str, program: &Path, variables: &[(&str, String)]) -> String {
    let text = text.replace(PACKAGED, &quoted(&program.to_string_lossy()));
    let set: String = variables
        .iter()
        .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"))))
        .collect();
    let text = match text.contains("ExecStart=") {
        true => text.replacen("ExecStart=", &format!("{set}ExecStart="), 1),
        false => text,
    };
    format!("{MARK}\n{text}")
}

/// A word as systemd reads it back (systemd.syntax(7), systemd.service(5), "Command lines").
fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for character in word.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '%' => quoted.push_str("%%"),
            '$' => quoted.push_str("$$"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// The units that are enabled and stopped.
pub(super) const DAEMON: [&str; 2] = ["transom.socket", "transom.service"];
/// The sockets of both, in the order in which they are started.
pub(super) const KEEPER_SOCKET: &str = "transom-keeper.socket";
/// The keeper's.
pub(super) const KEEPER: &str = "transom-keeper.service";

const ALL: [(&str, &str); 4] = [
    (
        KEEPER_SOCKET,
        include_str!("../../../../deploy/systemd/transom-keeper.socket"),
    ),
    (
        KEEPER,
        include_str!("../../../../deploy/systemd/transom-keeper.service"),
    ),
    (
        "transom.socket",
        include_str!("../../../../deploy/systemd/transom.socket"),
    ),
    (
        "transom.service",
        include_str!("../../../../deploy/systemd/transom.service"),
    ),
];
/// What stands first in each that is ours.
const MARK: &str = "# Written by `transom service install`; it writes it anew each time.";
/// Where a package would have the command.
const PACKAGED: &str = "/usr/bin/transom";
/// What tells commands where the daemon's files are, and must tell the daemon the same.
const KEPT: [&str; 2] = ["XDG_CONFIG_HOME", "XDG_STATE_HOME"];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ALL, MARK, filled, quoted};

    #[test]
    fn a_path_is_written_so_that_systemd_reads_it_back() {
        assert_eq!(quoted("/home/ann/bin/transom"), "\"/home/ann/bin/transom\"");
        assert_eq!(quoted("/a b/50%/$x/\"q\"\\"), "\"/a b/50%%/$$x/\\\"q\\\"\\\\\"");
    }

    #[test]
    fn units_name_this_command_and_where_its_files_are() {
        let variables = [("XDG_STATE_HOME", "/data/state".to_owned())];
        for (name, text) in ALL {
            let unit = filled(text, Path::new("/opt/transom"), &variables);
            assert!(
                unit.starts_with(MARK) && !unit.contains("/usr/bin/transom"),
                "{name}"
            );
            assert!(unit.contains("=\"/opt/transom\" "), "{name}");
            assert_eq!(
                unit.contains("Environment=\"XDG_STATE_HOME=/data/state\""),
                name.ends_with(".service"),
                "{name}"
            );
        }
    }
}
