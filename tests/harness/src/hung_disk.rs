//! A disk that hangs.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Command,
};

/// A file system over a folder whose server says nothing (fuse(4)): whoever looks into it waits until this is dropped, and is then
/// told that nobody is there.
pub struct HungDisk {
    folder: PathBuf,
    /// Where the kernel's questions wait.
    server: Option<File>,
}

impl HungDisk {
    /// Over what is in this folder.
    ///
    /// # Panics
    /// Where this user may not mount.
    pub fn over(folder: &Path) -> Self {
        let server = File::options().read(true).write(true).open("/dev/fuse");
        let server = server.expect("run this test as root, who may mount a disk that hangs");
        let done = Command::new("mount")
            .args(["-i", "-t", "fuse", "-o"])
            .arg("fd=0,rootmode=40000,user_id=0,group_id=0")
            .arg("none")
            .arg(folder)
            .stdin(server.try_clone().expect("there are descriptors left"))
            .output();
        let done = done.expect("there is a mount(8)");
        let why = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.success(),
            "run this test as root, who may mount a disk that hangs: {why}"
        );
        Self {
            folder: folder.to_owned(),
            server: Some(server),
        }
    }
}

impl Drop for HungDisk {
    fn drop(&mut self) {
        drop(self.server.take());
        Command::new("umount").arg("-l").arg(&self.folder).output().ok();
    }
}
