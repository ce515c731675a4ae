//! Starting a program on a terminal of its own.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::size::Size;

mod environment;
mod prepare;

pub use environment::program_environment;
pub use prepare::DescriptorLimit;
pub(crate) use prepare::{close_on_exec, default_signals};

/// What to start, completely: nothing is inherited but the user.
#[derive(Clone)]
pub struct Command {
    /// A path, or a name to be found on the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments, without its own name.
    pub args: Vec<OsString>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its terminal's size at first.
    pub size: Size,
    /// The limit on descriptors to give back to it, when the daemon raised its own.
    pub descriptor_limit: Option<DescriptorLimit>,
}

impl fmt::Debug for Command {
    /// Without arguments and environment, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no such working directory, or it may not be entered.
    #[error("the directory `{}` cannot be used: {source}", path.display())]
    Directory {
        /// The directory as asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No such program.
    #[error("no program `{}` was found", program.display())]
    NotFound {
        /// The program as asked for.
        program: OsString,
    },
    /// The file is there, but may not be executed.
    #[error("`{}` is not executable", path.display())]
    NotExecutable {
        /// Where it was found.
        path: PathBuf,
    },
    /// A name, an argument or a variable contains a NUL byte, or a variable's name is empty or contains `=`.
    #[error("{what} cannot be passed to a program")]
    Malformed {
        /// Which of them.
        what: &'static str,
    },
    /// The program was found and could not be executed; a missing interpreter reads "not found" here.
    #[error("`{}` could not be executed: {source}", path.display())]
    Exec {
        /// Where it was found.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system lacks what a session needs.
    #[error("could not {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Checks what can be checked before anything is started, and finds the file to execute. Blocks.
pub(crate) fn check(command: &Command) -> Result<PathBuf, SpawnError> {
    check_text(command)?;
    check_directory(&command.cwd)?;
    resolve(command)
}

fn check_text(command: &Command) -> Result<(), SpawnError> {
    let has_nul = |text: &OsStr| text.as_bytes().contains(&0);
    let malformed = |what| Err(SpawnError::Malformed { what });
    if command.program.is_empty() || has_nul(&command.program) {
        return malformed("the program's name");
    }
    if command.args.iter().any(|arg| has_nul(arg)) {
        return malformed("an argument");
    }
    let bad_name = |name: &OsStr| name.is_empty() || has_nul(name) || name.as_bytes().contains(&b'=');
    if command
        .env
        .iter()
        .any(|(name, value)| bad_name(name) || has_nul(value))
    {
        return malformed("an environment variable");
    }
    Ok(())
}

fn check_directory(path: &Path) -> Result<(), SpawnError> {
    let usable = || {
        if !fs::metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(rustix::fs::access(path, rustix::fs::Access::EXEC_OK)?)
    };
    usable().map_err(|source: io::Error| SpawnError::Directory {
        path: path.to_owned(),
        source,
    })
}

/// The file to execute. A name without a slash is looked up on the program's own `PATH`, as `execvp` would.
fn resolve(command: &Command) -> Result<PathBuf, SpawnError> {
    let program = Path::new(&command.program);
    let mut found = None;
    for candidate in candidates(command, program) {
        match fs::metadata(&candidate) {
            Ok(file) if file.is_file() && is_executable(&candidate) => return Ok(candidate),
            Ok(_) => found = found.or(Some(candidate)),
            Err(_) => {}
        }
    }
    Err(match found {
        Some(path) => SpawnError::NotExecutable { path },
        None => SpawnError::NotFound {
            program: command.program.clone(),
        },
    })
}

fn candidates(command: &Command, program: &Path) -> Vec<PathBuf> {
    if command.program.as_bytes().contains(&b'/') {
        return vec![command.cwd.join(program)];
    }
    let path = command
        .env
        .iter()
        .rev()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str());
    let directories = std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH)));
    directories
        .map(|directory| command.cwd.join(directory).join(program))
        .collect()
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Where programs are looked for when the environment does not say.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[cfg(test)]
mod tests;
