//! A wall clock that a test puts ahead, of one daemon.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    process::Command,
    time::Duration,
};

use tempfile::TempDir;

/// The wall clock of whoever is started with its environment. It goes by the machine's, ahead of that as far as it was put.
pub struct WallClock {
    folder: TempDir,
    file: File,
}

impl WallClock {
    /// One that says the same as the machine's.
    ///
    /// # Panics
    /// Where there is no C compiler.
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let source = folder.path().join("wall_clock.c");
        std::fs::write(&source, include_str!("wall_clock.c")).expect("the folder is new");
        let library = folder.path().join(LIBRARY);
        let mut compiler = Command::new("cc");
        let done = compiler
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .output();
        let done = done.expect("there is a C compiler");
        assert!(done.status.success(), "{done:?}");
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .open(folder.path().join(FILE))
            .expect("the folder is new");
        let clock = Self { folder, file };
        clock.put_ahead(Duration::ZERO);
        clock
    }

    /// What makes a program go by this clock.
    pub fn environment(&self) -> Vec<(String, String)> {
        let path = |name| self.folder.path().join(name).display().to_string();
        vec![
            ("LD_PRELOAD".to_owned(), path(LIBRARY)),
            ("WALL_CLOCK".to_owned(), path(FILE)),
        ]
    }

    /// Puts it so far ahead of the machine's, in whole seconds.
    ///
    /// # Panics
    /// Where the file cannot be written.
    pub fn put_ahead(&self, by: Duration) {
        let seconds = by.as_secs().to_ne_bytes();
        self.file.write_all_at(&seconds, 0).expect("the file is its own");
    }
}

const LIBRARY: &str = "wall_clock.so";
const FILE: &str = "ahead";
