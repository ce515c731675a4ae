//! What `ssh` says on its standard error: the one place where it tells why something failed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    sync::watch,
    time::timeout,
};

/// The last lines that were said; clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Said {
    lines: Arc<Mutex<VecDeque<String>>>,
    /// How many lines came, and whether there are to be more.
    came: watch::Receiver<(u64, bool)>,
}

impl Said {
    /// Begins to read.
    pub(super) fn by(stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let (told, came) = watch::channel((0, true));
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&lines);
        tokio::spawn(async move {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            // Whoever is on the far side chooses how long a line is.
            while reader
                .read_until(b'\n', &mut line)
                .await
                .is_ok_and(|read| read > 0)
            {
                let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST)]);
                keep(&kept, text.trim_end());
                line.clear();
                told.send_modify(|(count, _)| *count += 1);
            }
            told.send_modify(|(_, is_open)| *is_open = false);
        });
        Self { lines, came }
    }

    /// The lines.
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }

    /// Waits for the end of what is said, as after the end of who says it.
    pub(super) async fn ended(&self) {
        let mut came = self.came.clone();
        // What `ssh` itself started may hold the stream open.
        timeout(AFTER, came.wait_for(|(_, is_open)| !is_open)).await.ok();
    }

    /// The first line that holds one of these texts, which may be on its way.
    pub(super) async fn line_with(&self, texts: &[&str]) -> Option<String> {
        let mut came = self.came.clone();
        let found = || {
            let holds = |line: &String| texts.iter().any(|text| line.contains(text));
            self.lines().into_iter().find(holds)
        };
        let waited = timeout(AFTER, came.wait_for(|(_, is_open)| found().is_some() || !is_open)).await;
        drop(waited);
        found()
    }
}

fn keep(lines: &Mutex<VecDeque<String>>, line: &str) {
    if line.is_empty() {
        return;
    }
    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    lines.push_back(line.to_owned());
    if lines.len() > KEPT {
        lines.pop_front();
    }
}

/// How long something may be on its way that was said before.
const AFTER: Duration = Duration::from_millis(500);
/// Bytes of a line.
const LONGEST: usize = 500;
/// Lines.
const KEPT: usize = 50;
