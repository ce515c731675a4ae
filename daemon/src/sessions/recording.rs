//! A session as a recording: asciicast v3 (https://docs.asciinema.org/manual/asciicast/v3/).

use pairing::{Permit, View};
use serde_json::json;
use terminal::{Event, Offset, Recorded, Size};

use super::{Handle, SessionError, shown_to};

/// A recording on its way out, line by line.
pub(crate) struct Recording {
    records: terminal::Recording,
    lines: Lines,
    head: Option<Head>,
    /// Read to find the size of the head.
    first: Option<Recorded>,
    exit: Option<terminal::Exit>,
    handle: Handle,
    permit: Permit<View>,
    /// What was printed before is not for this principal.
    since: Offset,
}

impl Handle {
    /// The recording of all output that there is, up to the end that there is when it is reached.
    ///
    /// # Errors
    /// [`SessionError`] where the session is not there.
    pub(crate) async fn recording(&self, permit: Permit<View>) -> Result<Recording, SessionError> {
        self.at_hand(&permit)?;
        let engine = self.record.engine()?;
        let session = shown_to(&permit, self.record.show());
        let head = Head {
            size: engine.first_size().await,
            timestamp: session.created_at.as_second(),
            title: session.title.unwrap_or(session.name),
            command: session.command,
        };
        Ok(Recording {
            records: engine.recording(),
            lines: Lines::default(),
            head: Some(head),
            first: None,
            // Read before the records: once it says so, they are complete.
            exit: engine.state().borrow().exit(),
            since: self.since(&permit).unwrap_or(Offset::START),
            handle: self.clone(),
            permit,
        })
    }
}

impl Recording {
    /// The next lines; none at the end.
    ///
    /// # Errors
    /// [`SessionError`] where more would come: the permit is none any more, or the disk does not give it.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, SessionError> {
        if let Some(mut head) = self.head.take() {
            self.first = self.skip(&mut head.size).await?;
            return Ok(Some(head.line()));
        }
        loop {
            let first = self.first.take();
            let record = match first {
                Some(first) => Some(first),
                None => self.record().await?,
            };
            let Some(record) = record else { break };
            let lines = self.lines.of(record);
            if !lines.is_empty() {
                return Ok(Some(lines));
            }
        }
        let Some(exit) = self.exit.take() else {
            return Ok(None);
        };
        // A session that is lost ended nobody knows how.
        let is_known = self.handle.record.show().exit.is_some();
        Ok(Some(self.lines.end(exit)).filter(|_| is_known))
    }

    /// Reads what is not for this principal; of that, only the size that the terminal has at the end of it counts. Gives what
    /// comes first behind it.
    async fn skip(&mut self, size: &mut Size) -> Result<Option<Recorded>, SessionError> {
        if self.since == Offset::START {
            return Ok(None);
        }
        while let Some(record) = self.record().await? {
            match record.event {
                Event::Size(other) if record.offset <= self.since => *size = other,
                _ => {
                    if let Some(first) = from(self.since, record) {
                        return Ok(Some(first));
                    }
                }
            }
        }
        Ok(None)
    }

    async fn record(&mut self) -> Result<Option<Recorded>, SessionError> {
        if !self.permit.is_current() {
            return Err(SessionError::Ended);
        }
        self.records.next().await.map_err(|error| {
            tracing::warn!(session = self.handle.id(), %error, "a recording breaks off");
            SessionError::Stored(error)
        })
    }
}

/// The first line.
struct Head {
    size: Size,
    timestamp: i64,
    title: String,
    command: String,
}

impl Head {
    fn line(self) -> String {
        let head = json!({
            "version": 3,
            "term": term(self.size),
            "timestamp": self.timestamp,
            "title": self.title,
            "command": self.command,
        });
        format!("{head}\n")
    }
}

/// What of a record of output comes after the offset.
fn from(since: Offset, record: Recorded) -> Option<Recorded> {
    let Event::Output(bytes) = &record.event else {
        return Some(record);
    };
    let before = usize::try_from(since.since(record.offset)).unwrap_or(usize::MAX);
    if record.offset >= since {
        return Some(record);
    }
    let rest = bytes.get(before..).filter(|rest| !rest.is_empty())?.to_vec();
    Some(Recorded {
        offset: since,
        event: Event::Output(rest),
        ..record
    })
}

/// Turns records into lines.
#[derive(Debug, Default)]
struct Lines {
    /// When the last line was, in milliseconds since the session began.
    last_ms: u64,
    /// The first bytes of a character whose others are in the next record.
    cut: Vec<u8>,
    /// Behind the last record.
    end: Offset,
}

impl Lines {
    /// The lines of a record: none, where all of it is the beginning of a character.
    fn of(&mut self, record: Recorded) -> String {
        let missing = self.missing(&record);
        missing + &self.event(record)
    }

    /// The lines that say how much of the output before a record is not kept any more; none mostly.
    fn missing(&mut self, record: &Recorded) -> String {
        let missing = record.offset.since(self.end);
        if missing == 0 {
            return String::new();
        }
        let cut = self.rest();
        if self.end == Offset::START {
            // Nobody wants to wait for what does not come.
            self.last_ms = record.time_ms;
        }
        let what = format!("{missing} bytes before this are not kept");
        cut + &self.line(self.last_ms, "m", &what)
    }

    fn event(&mut self, record: Recorded) -> String {
        self.end = record.offset;
        match record.event {
            Event::Size(size) => {
                let size = format!("{}x{}", size.columns(), size.rows());
                self.line(record.time_ms, "r", &size)
            }
            Event::Output(bytes) => {
                self.end = record.offset.plus(bytes.len());
                self.cut.extend_from_slice(&bytes);
                let whole = self.cut.len() - unfinished(&self.cut);
                let rest = self.cut.split_off(whole);
                let bytes = std::mem::replace(&mut self.cut, rest);
                if bytes.is_empty() {
                    return String::new();
                }
                // What is no UTF-8 is drawn by terminals as this character too.
                self.line(record.time_ms, "o", &String::from_utf8_lossy(&bytes))
            }
        }
    }

    /// The last lines.
    fn end(&mut self, exit: terminal::Exit) -> String {
        let lines = self.rest();
        let status = exit
            .code
            .or(exit.signal.map(|signal| SIGNALLED + signal))
            .unwrap_or_default();
        lines + &self.line(exit.duration_ms, "x", &status.to_string())
    }

    /// What was held back of a character, as nothing more of it comes.
    fn rest(&mut self) -> String {
        let cut = std::mem::take(&mut self.cut);
        if cut.is_empty() {
            return String::new();
        }
        self.line(self.last_ms, "o", &String::from_utf8_lossy(&cut))
    }

    fn line(&mut self, time_ms: u64, code: &str, data: &str) -> String {
        // The clock of the records does not go back; one that did would make a recording that no player takes.
        let passed = time_ms.saturating_sub(self.last_ms);
        self.last_ms = self.last_ms.max(time_ms);
        let (seconds, ms) = (passed / 1000, passed % 1000);
        format!("[{seconds}.{ms:03}, \"{code}\", {}]\n", json!(data))
    }
}

fn term(size: Size) -> serde_json::Value {
    json!({ "cols": size.columns(), "rows": size.rows(), "type": "xterm-256color" })
}

/// How many bytes at the end are the beginning of a character that is not whole.
fn unfinished(bytes: &[u8]) -> usize {
    let at_end = bytes.len().saturating_sub(3);
    for (back, byte) in bytes[at_end..].iter().rev().enumerate() {
        let length = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if length > back + 1 { back + 1 } else { 0 };
    }
    0
}

/// What a shell adds to a signal's number for an exit code.
const SIGNALLED: i32 = 128;

#[cfg(test)]
mod tests {
    use terminal::{Event, Exit, Offset, Recorded, Size};

    use super::Lines;

    fn output(time_ms: u64, bytes: &[u8]) -> Recorded {
        Recorded {
            time_ms,
            offset: Offset::START,
            event: Event::Output(bytes.to_vec()),
        }
    }

    #[test]
    fn times_are_intervals_and_sizes_and_the_exit_have_their_lines() {
        let mut lines = Lines::default();
        assert_eq!(
            lines.of(output(1_500, b"a\x1b[m\"")),
            "[1.500, \"o\", \"a\\u001b[m\\\"\"]\n"
        );
        let size = Recorded {
            event: Event::Size(Size::new(80, 24)),
            offset: Offset(5),
            ..output(1_520, b"")
        };
        assert_eq!(lines.of(size), "[0.020, \"r\", \"80x24\"]\n");
        let exit = Exit {
            code: None,
            signal: Some(9),
            duration_ms: 4_520,
            peak_memory_bytes: 0,
        };
        assert_eq!(lines.end(exit), "[3.000, \"x\", \"137\"]\n");
    }

    #[test]
    fn a_character_that_two_records_share_is_one() {
        let text = "aé한👩b";
        for cut in 0..=text.len() {
            let (before, after) = text.as_bytes().split_at(cut);
            let mut lines = Lines::default();
            let after = Recorded {
                offset: Offset(before.len() as u64),
                ..output(0, after)
            };
            let all = lines.of(output(0, before)) + &lines.of(after);
            let joined: String = all
                .lines()
                .map(|line| serde_json::from_str::<(f64, String, String)>(line).unwrap().2)
                .collect();
            assert_eq!(joined, text, "{cut}");
        }
    }

    #[test]
    fn what_is_not_kept_is_marked_and_not_waited_for() {
        let mut lines = Lines::default();
        let at = |offset, time_ms| Recorded {
            offset: Offset(offset),
            ..output(time_ms, b"ab\xc3")
        };
        assert_eq!(
            lines.of(at(70, 3_600_000)),
            "[0.000, \"m\", \"70 bytes before this are not kept\"]\n[0.000, \"o\", \"ab\"]\n"
        );
        assert_eq!(
            lines.of(at(75, 3_601_000)),
            "[0.000, \"o\", \"\u{fffd}\"]\n[0.000, \"m\", \"2 bytes before this are not kept\"]\n\
             [1.000, \"o\", \"ab\"]\n"
        );
    }

    #[test]
    fn what_is_no_text_at_all_is_not_held_back() {
        let mut lines = Lines::default();
        assert_eq!(
            lines
                .of(output(0, b"\xff\xfe\x80\x80\x80\x80"))
                .matches('\u{fffd}')
                .count(),
            6
        );
    }
}
