//! A disk that a test can fill.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

/// A few megabytes of disk in a folder, until it is dropped.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Eight megabytes in a folder, which is made.
    ///
    /// # Panics
    /// Where this user may not mount.
    pub fn over(folder: PathBuf) -> Self {
        Self::of_megabytes(8, folder)
            .unwrap_or_else(|why| panic!("run this test as root, who may mount a small disk: {why}"))
    }

    /// So many megabytes in a folder, which is made.
    ///
    /// # Errors
    /// What mount(8) says where this user may not.
    ///
    /// # Panics
    /// Where the folder cannot be made, or there is no mount(8).
    pub fn of_megabytes(megabytes: u32, folder: PathBuf) -> Result<Self, String> {
        fs::create_dir_all(&folder).expect("a folder can be made");
        let mut mount = Command::new("mount");
        mount
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("size={megabytes}m,mode=700"),
                "tmpfs",
            ])
            .arg(&folder);
        let done = mount.output().expect("there is mount(8)");
        if done.status.success() {
            return Ok(Self(folder));
        }
        Err(String::from_utf8_lossy(&done.stderr).trim().to_owned())
    }

    /// Leaves no room on it.
    ///
    /// # Panics
    /// Where not even an empty file can be made.
    pub fn fill(&self) {
        let mut ballast = File::create(self.ballast()).expect("a file can be made on the disk");
        while ballast.write(&[0; 4096]).is_ok() {}
    }

    /// Makes room on it again.
    ///
    /// # Panics
    /// Where it was not filled.
    pub fn make_room(&self) {
        fs::remove_file(self.ballast()).expect("it was filled before");
    }

    /// Whether a file of the session holds the text.
    pub fn holds(&self, session: &str, text: &str) -> bool {
        let files = fs::read_dir(self.0.join(session)).into_iter().flatten().flatten();
        files
            .map(|file| file.path())
            .any(|file| has(&file, text.as_bytes()))
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the daemon has files open there.
        Command::new("umount").arg("-l").arg(&self.0).output().ok();
    }
}

fn has(file: &Path, text: &[u8]) -> bool {
    let bytes = fs::read(file).unwrap_or_default();
    bytes.windows(text.len()).any(|window| window == text)
}
