//! The files of a package, and an archive of them that is the same wherever and whenever it is made.

use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::steps::{self, command};

/// Files by their paths below a prefix such as `/usr`.
#[derive(Clone, Default)]
pub(super) struct Tree(BTreeMap<PathBuf, File>);

#[derive(Clone)]
struct File {
    mode: u32,
    bytes: Vec<u8>,
}

impl Tree {
    /// Adds a file, or puts it in the place of the one that is there.
    pub(super) fn add(&mut self, path: &str, mode: u32, bytes: Vec<u8>) {
        self.0.insert(path.into(), File { mode, bytes });
    }

    /// Adds all files below a folder, each to be read by everybody.
    pub(super) fn add_folder(&mut self, folder: &Path, below: &str) -> Result<()> {
        let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = Path::new(below).join(entry.file_name());
            let path = path.to_str().context("names of packaged files are text")?;
            match entry.file_type()?.is_dir() {
                true => self.add_folder(&entry.path(), path)?,
                false => self.add(path, 0o644, fs::read(entry.path())?),
            }
        }
        Ok(())
    }

    /// Moves what is at or below a path.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let moved = self.0.extract_if(.., |path, _| path.starts_with(from));
        let moved: Vec<_> = moved.collect();
        for (path, file) in moved {
            let rest = path.strip_prefix(from).unwrap_or(Path::new(""));
            let path = match rest.as_os_str().is_empty() {
                true => PathBuf::from(to),
                false => Path::new(to).join(rest),
            };
            self.0.insert(path, file);
        }
    }

    /// Takes a file out, and gives its bytes.
    pub(super) fn take(&mut self, path: &str) -> Result<Vec<u8>> {
        let file = self.0.remove(Path::new(path));
        Ok(file.with_context(|| format!("there is no {path}"))?.bytes)
    }

    /// The paths below a prefix.
    pub(super) fn below(&self, prefix: &str) -> Vec<PathBuf> {
        self.0
            .keys()
            .filter(|path| path.starts_with(prefix))
            .cloned()
            .collect()
    }

    /// How many bytes all files have.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().map(|file| file.bytes.len()).sum()
    }

    /// Writes them below a folder that is not there yet, whatever this process's umask is.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        create(folder)?;
        for (path, file) in &self.0 {
            let mut parents: Vec<_> = path.ancestors().skip(1).collect();
            parents.reverse();
            for parent in parents {
                create(&folder.join(parent))?;
            }
            let path = folder.join(path);
            fs::write(&path, &file.bytes).with_context(|| format!("{} cannot be written", path.display()))?;
            fs::set_permissions(&path, Permissions::from_mode(file.mode))?;
        }
        Ok(())
    }
}

fn create(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    Ok(())
}

/// Packs a folder: sorted, of root, with one time for all, and with no name or time of gzip's own.
///
/// # Errors
/// GNU tar or gzip is not there, or the disk is full.
pub(super) fn tar(parent: &Path, name: &str, archive: &Path, epoch: &str) -> Result<()> {
    let mtime = format!("--mtime=@{epoch}");
    let mut tar = command("tar", &["--create", "--format=ustar", "--sort=name", &mtime]);
    tar.args([
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--use-compress-program=gzip -9n",
    ])
    .arg("--file")
    .arg(archive)
    .arg("--directory")
    .arg(parent)
    .arg(name);
    steps::run(&mut tar)
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt,
        time::{Duration, SystemTime},
    };

    use super::{Tree, tar};

    #[test]
    fn the_same_files_give_the_same_archive_whatever_their_order_time_and_owner() {
        let files = [
            ("bin/b", 0o755, "program"),
            ("share/a", 0o644, "text"),
            ("bin/a", 0o644, ""),
        ];
        let pack = |order: &[usize], age: u64| {
            let folder = tempfile::tempdir().unwrap();
            fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
            let mut tree = Tree::default();
            for index in order {
                let (path, mode, text) = files[*index];
                tree.add(path, mode, text.into());
            }
            tree.write(&folder.path().join("x-1")).unwrap();
            let file = fs::File::open(folder.path().join("x-1/bin/b")).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age))
                .unwrap();
            let archive = folder.path().join("x.tar.gz");
            tar(folder.path(), "x-1", &archive, "1700000000").unwrap();
            fs::read(archive).unwrap()
        };
        assert_eq!(pack(&[0, 1, 2], 0), pack(&[2, 1, 0], 86_400));
    }

    #[test]
    fn a_file_and_a_folder_can_be_elsewhere_in_one_of_the_packages() {
        let mut tree = Tree::default();
        tree.add("share/zsh/site-functions/_x", 0o644, Vec::new());
        tree.add("share/doc/x/LICENCE", 0o644, Vec::new());
        tree.rename("share/zsh/site-functions", "share/zsh/vendor-completions");
        tree.rename("share/doc/x/LICENCE", "share/doc/x/copyright");
        let paths = tree.below("");
        let paths: Vec<_> = paths.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(
            paths,
            ["share/doc/x/copyright", "share/zsh/vendor-completions/_x"]
        );
    }
}
