//! What lets programs go on, a step at a time.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use tokio::sync::watch;

use crate::{patience, within};

/// A named pipe that a program reads its steps from. It is held open, so that neither end ever waits for the other to come.
pub struct Gate {
    path: PathBuf,
    pipe: File,
}

impl Gate {
    /// Makes the pipe.
    ///
    /// # Panics
    /// Where the path is taken.
    pub fn at(path: PathBuf) -> Self {
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, &path, FileType::Fifo, mode, 0).expect("the path is free");
        let pipe = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(&path)
            .expect("the pipe was just made");
        Self { path, pipe }
    }

    /// Where the program opens it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets a line through; false where the program has not read many earlier ones.
    pub fn pass(&self, line: &str) -> bool {
        (&self.pipe).write_all(format!("{line}\n").as_bytes()).is_ok()
    }
}

/// A thread that lets an empty line through each gate, about every other millisecond.
pub struct Pacer {
    gates: Arc<Vec<Gate>>,
    ticks: watch::Receiver<u64>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pacer {
    /// Begins, with so many gates in a folder.
    pub fn start(folder: &Path, gates: usize) -> Self {
        let gates = (0..gates).map(|index| Gate::at(folder.join(format!("pace.{index}"))));
        let gates: Arc<Vec<Gate>> = Arc::new(gates.collect());
        let is_over = Arc::new(AtomicBool::new(false));
        let (tick, ticks) = watch::channel(0);
        let thread = std::thread::spawn({
            let (gates, is_over) = (Arc::clone(&gates), Arc::clone(&is_over));
            move || {
                while !is_over.load(Ordering::Acquire) {
                    for gate in gates.iter() {
                        gate.pass("");
                    }
                    tick.send_modify(|ticks| *ticks += 1);
                    patience::tick();
                }
            }
        });
        Self {
            gates,
            ticks,
            is_over,
            thread: Some(thread),
        }
    }

    /// One of the gates.
    pub fn gate(&self, index: usize) -> &Gate {
        &self.gates[index]
    }

    /// Counts the ticks.
    pub fn ticks(&self) -> watch::Receiver<u64> {
        self.ticks.clone()
    }

    /// Completes so many ticks from now.
    pub fn after(&self, ticks: u64) -> impl Future<Output = ()> + Send + 'static + use<> {
        let mut current = self.ticks.clone();
        let due = *current.borrow() + ticks;
        async move {
            let waited = current.wait_for(|now| *now >= due);
            // It ends with the pacer at the latest.
            drop(within("a tick", waited).await);
        }
    }

    /// Ticks no more.
    pub fn stop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.stop();
    }
}
