//! Where the executable of this process is.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// By which path this process was called, so that a link is followed anew whenever it is executed; where that cannot be told,
/// what it led to. Absolute.
///
/// # Errors
/// Where the system does not say what runs here (`/proc` is not mounted).
pub fn called() -> io::Result<PathBuf> {
    let executable = env::current_exe()?;
    let own = fs::metadata(SELF)?;
    let is_own = |path: &PathBuf| {
        let is_lasting = !path.starts_with("/proc") && !path.starts_with("/dev");
        let there = fs::metadata(path);
        is_lasting && there.is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino()))
    };
    let (Some(name), Ok(directory)) = (env::args_os().next(), env::current_dir()) else {
        return Ok(executable);
    };
    let search = env::var_os("PATH").unwrap_or_default();
    // A name says nothing by itself: what is there must be what runs here.
    let found = places(&name, &directory, &search).into_iter().find(is_own);
    Ok(found.unwrap_or(executable))
}

/// Where a program may be that is called so: the name itself where it is a path, else in each directory that is searched.
fn places(name: &OsStr, directory: &Path, search: &OsStr) -> Vec<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        return vec![directory.join(name)];
    }
    let searched = env::split_paths(search);
    searched.map(|place| directory.join(place).join(name)).collect()
}

/// The file that this process executes, whatever is at its path by now (proc(5)).
pub(crate) const SELF: &str = "/proc/self/exe";

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::places;

    fn found(name: &str) -> Vec<PathBuf> {
        places(name.as_ref(), Path::new("/home/ann"), "/usr/bin:bin".as_ref())
    }

    #[test]
    fn a_program_is_looked_for_as_it_was_called() {
        assert_eq!(found("/opt/transom"), [Path::new("/opt/transom")]);
        assert_eq!(found("./transom"), [Path::new("/home/ann/./transom")]);
        let searched = ["/usr/bin/transom", "/home/ann/bin/transom"];
        assert_eq!(found("transom"), searched.map(PathBuf::from));
    }
}
