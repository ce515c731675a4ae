//! Where everything lives (the table of files in the README).

use std::{
    env,
    path::{Path, PathBuf},
};

/// The folders and files of one daemon.
///
/// `TRANSOM_DIR` isolates all of them in one folder, so that many daemons run side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The configuration file.
    pub config: PathBuf,
    /// The state directory, 0700.
    pub state: PathBuf,
    /// The directory of the sockets, 0700.
    pub runtime: PathBuf,
}

/// Why there is no place for the daemon's files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathsError {
    /// Neither a directory was named nor a home is known.
    #[error("neither TRANSOM_DIR nor HOME is set, so there is no place for the daemon's files")]
    NoHome,
    /// A relative path would mean another folder to each caller.
    #[error("{place} must be an absolute path, and is `{path}`")]
    Relative {
        /// The flag or variable.
        place: &'static str,
        /// The path.
        path: String,
    },
    /// The kernel's limit for the path of a Unix socket.
    #[error(
        "the socket's path `{path}` is {length} bytes long, and the kernel takes at most {MAX_SOCKET_PATH}"
    )]
    SocketPathTooLong {
        /// The path.
        path: String,
        /// Its length in bytes.
        length: usize,
    },
}

impl PathsError {
    /// What to do now.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoHome => "set HOME, or TRANSOM_DIR to a folder of your own",
            Self::Relative { .. } => "say the whole path, from / on",
            Self::SocketPathTooLong { .. } => {
                "set TRANSOM_DIR (or XDG_RUNTIME_DIR, if TRANSOM_DIR is not set) to a shorter path"
            }
        }
    }
}

impl Paths {
    /// The paths that flag and environment ask for; `dir` is the flag, and stands before `TRANSOM_DIR`.
    ///
    /// # Errors
    /// [`PathsError`] where no usable path results.
    pub fn find(dir: Option<&Path>) -> Result<Self, PathsError> {
        Self::resolve(dir, |name| {
            env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        })
    }

    fn resolve(dir: Option<&Path>, variable: impl Fn(&str) -> Option<PathBuf>) -> Result<Self, PathsError> {
        let named = dir.map(|dir| ("--dir", dir.to_path_buf()));
        let paths = match named.or_else(|| Some(("TRANSOM_DIR", variable("TRANSOM_DIR")?))) {
            Some((place, dir)) if dir.is_relative() => {
                let path = dir.display().to_string();
                return Err(PathsError::Relative { place, path });
            }
            Some((_, dir)) => Self {
                config: dir.join("config.toml"),
                state: dir.clone(),
                runtime: dir,
            },
            None => Self::of_user(&variable)?,
        };
        let socket = paths.socket();
        let length = socket.as_os_str().len();
        if length > MAX_SOCKET_PATH {
            return Err(PathsError::SocketPathTooLong {
                path: socket.display().to_string(),
                length,
            });
        }
        Ok(paths)
    }

    fn of_user(variable: &impl Fn(&str) -> Option<PathBuf>) -> Result<Self, PathsError> {
        let home = variable("HOME");
        let base = |name: &str, below_home: &str| {
            variable(name)
                .filter(|path| path.is_absolute())
                .or_else(|| home.as_ref().map(|home| home.join(below_home)))
        };
        let config = base("XDG_CONFIG_HOME", ".config").ok_or(PathsError::NoHome)?;
        let state = base("XDG_STATE_HOME", ".local/state")
            .ok_or(PathsError::NoHome)?
            .join("transom");
        let runtime = variable("XDG_RUNTIME_DIR")
            .filter(|path| path.is_dir())
            .map(|path| path.join("transom"));
        Ok(Self {
            config: config.join("transom/config.toml"),
            runtime: runtime.unwrap_or_else(|| state.clone()),
            state,
        })
    }

    /// The Unix socket, 0600.
    pub fn socket(&self) -> PathBuf {
        self.runtime.join("transom.sock")
    }

    /// The keeper's socket, 0600. It is kept with the state, unless no socket can be there: the runtime directory goes with the
    /// user's last login, and is another's or none for who does not log in, while the keeper lives.
    pub fn keeper(&self) -> PathBuf {
        let kept = self.state.join(KEEPER);
        match kept.as_os_str().len() <= MAX_SOCKET_PATH {
            true => kept,
            false => self.former_keeper(),
        }
    }

    /// Where a service manager has the socket of a keeper, and where older daemons had it. It is looked at after the other: a keeper
    /// that holds sessions goes on with them.
    pub fn former_keeper(&self) -> PathBuf {
        self.runtime.join(KEEPER)
    }

    /// The SQLite store, 0600.
    pub fn store(&self) -> PathBuf {
        self.state.join("transom.db")
    }

    /// The folder of the keys, 0700.
    pub fn keys(&self) -> PathBuf {
        self.state.join("keys")
    }

    /// The file whose kernel lock decides whether a daemon runs.
    pub fn lock(&self) -> PathBuf {
        self.state.join("transom.lock")
    }

    /// The folder of the remote daemons that the command line is paired with, 0700.
    pub fn remotes(&self) -> PathBuf {
        self.state.join("remotes")
    }

    /// The folder of the logs, 0700.
    pub fn logs(&self) -> PathBuf {
        self.state.join("log")
    }
}

const KEEPER: &str = "keeper.sock";
/// `sun_path` is 108 bytes with its closing NUL (unix(7)).
const MAX_SOCKET_PATH: usize = 107;

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Paths, PathsError};

    fn none(_: &str) -> Option<PathBuf> {
        None
    }

    #[test]
    fn one_folder_holds_everything_where_it_is_named() {
        let paths = Paths::resolve(Some(Path::new("/d")), none).unwrap();
        assert_eq!(paths.config, Path::new("/d/config.toml"));
        assert_eq!(paths.socket(), Path::new("/d/transom.sock"));
        assert_eq!(paths.store(), Path::new("/d/transom.db"));
    }

    #[test]
    fn the_flag_stands_before_the_environment() {
        let variable = |name: &str| (name == "TRANSOM_DIR").then(|| PathBuf::from("/environment"));
        assert_eq!(
            Paths::resolve(Some(Path::new("/flag")), variable).unwrap().state,
            Path::new("/flag")
        );
        assert_eq!(
            Paths::resolve(None, variable).unwrap().state,
            Path::new("/environment")
        );
    }

    #[test]
    fn a_relative_path_is_refused_by_the_name_of_where_it_stands() {
        let variable = |_: &str| Some(PathBuf::from("relative"));
        let flag = Paths::resolve(Some(Path::new("relative")), variable).unwrap_err();
        assert_eq!(
            flag.to_string(),
            "--dir must be an absolute path, and is `relative`"
        );
        let variable = Paths::resolve(None, variable).unwrap_err();
        assert!(variable.to_string().starts_with("TRANSOM_DIR "), "{variable}");
    }

    #[test]
    fn without_a_folder_the_users_own_are_taken() {
        let paths =
            Paths::resolve(None, |name| (name == "HOME").then(|| PathBuf::from("/home/ann"))).unwrap();
        assert_eq!(paths.config, Path::new("/home/ann/.config/transom/config.toml"));
        assert_eq!(
            paths.socket(),
            Path::new("/home/ann/.local/state/transom/transom.sock")
        );
    }

    #[test]
    fn the_keeper_is_where_the_state_is_whoever_logged_in() {
        let runtime = tempfile::tempdir().unwrap();
        let variables = |home: &str, name: &str| match name {
            "HOME" => Some(home.into()),
            "XDG_RUNTIME_DIR" => Some(runtime.path().into()),
            _ => None,
        };
        let paths = Paths::resolve(None, |name| variables("/home/ann", name)).unwrap();
        assert_eq!(paths.socket(), runtime.path().join("transom/transom.sock"));
        assert_eq!(
            paths.keeper(),
            Path::new("/home/ann/.local/state/transom/keeper.sock")
        );
        let long = format!("/{}", "x".repeat(100));
        let paths = Paths::resolve(None, |name| variables(&long, name)).unwrap();
        assert_eq!(paths.keeper(), paths.former_keeper());
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_refused_with_the_variable_to_set() {
        let long = PathBuf::from(format!("/{}", "x".repeat(100)));
        let error = Paths::resolve(Some(&long), none).unwrap_err();
        assert!(
            matches!(error, PathsError::SocketPathTooLong { length: 114, .. }),
            "{error}"
        );
        assert!(error.hint().contains("TRANSOM_DIR"));
    }

    #[test]
    fn no_home_is_said() {
        assert_eq!(Paths::resolve(None, none), Err(PathsError::NoHome));
    }
}
