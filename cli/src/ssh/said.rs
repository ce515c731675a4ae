//! What `ssh` says on its standard error: the one place where it tells why something failed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, BufReader},
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
            while let Some(line) = next_line(&mut reader).await {
                keep(&kept, String::from_utf8_lossy(&line).trim_end());
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

/// The beginning of the next line, while there is one. Whoever is on the far side chooses how long a line is: what is longer is read,
/// and not kept.
async fn next_line(reader: &mut (impl AsyncBufRead + Unpin)) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut has_come = false;
    loop {
        let piece = reader.fill_buf().await.unwrap_or_default();
        if piece.is_empty() {
            return has_come.then_some(line);
        }
        has_come = true;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let of_line = &piece[..end.unwrap_or(piece.len())];
        line.extend_from_slice(&of_line[..of_line.len().min(LONGEST - line.len())]);
        let read = end.map_or(piece.len(), |end| end + 1);
        reader.consume(read);
        if end.is_some() {
            return Some(line);
        }
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, BufReader, repeat};

    use super::{LONGEST, next_line};

    #[tokio::test]
    async fn no_more_of_a_line_is_kept_than_its_beginning_however_long_it_is() {
        let long = repeat(b'a').take(64 * 1024 * 1024);
        let mut said = BufReader::new(long.chain(&b"\n\nshort\nno end"[..]));
        let line = next_line(&mut said).await.unwrap();
        assert_eq!((line.len(), line.capacity() < 2 * LONGEST), (LONGEST, true));
        for next in ["", "short", "no end"] {
            assert_eq!(next_line(&mut said).await.unwrap(), next.as_bytes());
        }
        assert_eq!(next_line(&mut said).await, None);
    }
}
