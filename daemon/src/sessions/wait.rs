//! Waiting for a session: for its end, for silence, or for a line of text.

use std::time::Duration;

use pairing::{Permit, View};
use protocol::sessions::{WaitQuery, Waited, WaitedFor};
use regex::{Regex, RegexBuilder};
use terminal::{Offset, Screen};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{Handle, SessionError, shown_to};

impl Handle {
    /// Waits for the first of what is asked for. Silence counts from the wait's beginning at the earliest: what was typed just
    /// before has had no time to be answered.
    ///
    /// # Errors
    /// [`SessionError::TimedOut`], or one that says what of the query is wrong.
    pub(crate) async fn wait(&self, permit: &Permit<View>, query: WaitQuery) -> Result<Waited, SessionError> {
        self.at_hand(permit)?;
        let limit = query.timeout_ms.map_or(MAX_WAIT, Duration::from_millis);
        if limit > MAX_WAIT {
            return Err(SessionError::WaitTooLong);
        }
        let text = query.text.as_deref().map(Text::parse).transpose()?;
        if text.is_some() && self.since(permit).is_some() {
            return Err(SessionError::FromNowOn);
        }
        let engine = self.record.engine()?;
        let idle = query
            .idle_ms
            .map(|ms| Silence::of(Duration::from_millis(ms).min(2 * MAX_WAIT), engine));
        let (reason, line) = timeout(limit, self.until(engine, text, idle))
            .await
            .map_err(|_| SessionError::TimedOut(limit))?;
        if !permit.is_current() {
            return Err(SessionError::Ended);
        }
        Ok(Waited {
            reason,
            line,
            session: shown_to(permit, self.record.show()),
        })
    }

    async fn until(
        &self,
        engine: &terminal::Session,
        mut text: Option<Text>,
        mut idle: Option<Silence>,
    ) -> (WaitedFor, Option<String>) {
        let mut state = engine.state();
        let mut changes = engine.changes();
        if let Some(text) = &mut text {
            engine.rebuilt().await;
            engine.look(|screen| text.begin(screen));
        }
        loop {
            let has_ended = !state.borrow_and_update().is_running();
            if let Some(text) = &mut text {
                if has_ended {
                    engine.drawn().await;
                }
                if let Some(line) = engine.look(|screen| text.find(screen)) {
                    return (WaitedFor::Text, Some(line));
                }
            }
            if has_ended {
                return (WaitedFor::Exit, None);
            }
            if idle.as_mut().is_some_and(|idle| idle.is_over(engine.end())) {
                return (WaitedFor::Idle, None);
            }
            tokio::select! {
                () = changes.changed() => {}
                _ = state.changed() => {}
                () = over(idle.as_ref()) => {}
            }
            if text.as_ref().is_some_and(|text| !text.is_flooded) {
                sleep(PAUSE).await;
            }
        }
    }
}

/// A line that is waited for.
struct Text {
    pattern: Regex,
    /// The first line that may have changed since the last look.
    from: u64,
    /// Lines scroll by so fast that the next look must not be late.
    is_flooded: bool,
}

impl Text {
    fn parse(pattern: &str) -> Result<Self, SessionError> {
        if pattern.len() > MAX_PATTERN {
            return Err(SessionError::TooLarge {
                what: "bytes of a regular expression",
                given: pattern.len(),
                most: MAX_PATTERN,
            });
        }
        let mut builder = RegexBuilder::new(pattern);
        let built = builder
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .build();
        let pattern = built.map_err(|error| SessionError::MalformedPattern(reason(&error.to_string())))?;
        Ok(Self {
            pattern,
            from: 0,
            is_flooded: false,
        })
    }

    /// What scrolled off before does not count.
    fn begin(&mut self, screen: &dyn Screen) {
        self.from = screen.top_line();
    }

    /// The first line that matches: of the screen, or of what scrolled off since the last look. Rows that one line fills are
    /// that one line.
    fn find(&mut self, screen: &dyn Screen) -> Option<String> {
        let top = screen.top_line();
        let end = top + u64::from(screen.size().rows());
        self.is_flooded = top.saturating_sub(self.from) > FLOOD;
        // A change of width may have given the lines lower numbers.
        let from = self.from.min(top);
        let mut line = String::new();
        let mut begins = from;
        self.from = top;
        for row in screen.lines(from..end) {
            if line.is_empty() {
                begins = row.number;
            }
            line.push_str(&row.text);
            if row.wrapped {
                continue;
            }
            if self.pattern.is_match(&line) {
                return Some(line);
            }
            if (begins..=row.number).contains(&top) {
                self.from = begins;
            }
            line.clear();
        }
        self.pattern
            .is_match(&line)
            .then_some(line)
            .filter(|line| !line.is_empty())
    }
}

/// No output for so long.
struct Silence {
    lasts: Duration,
    since: Instant,
    end: Offset,
}

impl Silence {
    fn of(lasts: Duration, engine: &terminal::Session) -> Self {
        Self {
            lasts,
            since: Instant::now(),
            end: engine.end(),
        }
    }

    /// Whether it lasted, with the output ending here now.
    fn is_over(&mut self, end: Offset) -> bool {
        if end != self.end {
            self.end = end;
            self.since = Instant::now();
        }
        self.since.elapsed() >= self.lasts
    }
}

async fn over(idle: Option<&Silence>) {
    match idle {
        Some(idle) => sleep_until(idle.since + idle.lasts).await,
        None => std::future::pending().await,
    }
}

/// What is wrong with a regular expression: the last line. Those before it draw the place, for a screen of their own.
fn reason(said: &str) -> String {
    let last = said.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// A longer wait is asked for again.
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// Between two looks at a screen that changes all the time.
const PAUSE: Duration = Duration::from_millis(20);

/// Lines between two looks that say that the scrollback might forget some before the next.
const FLOOD: u64 = 1_000;

/// Bytes of a regular expression.
const MAX_PATTERN: usize = 1_024;

/// Bytes that a regular expression may compile to.
const MAX_COMPILED: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::{SessionError, Text};

    #[test]
    fn what_is_wrong_with_a_pattern_is_said_in_one_line() {
        for (pattern, reason) in [("(", "unclosed group"), ("a{1001}{1001}", "")] {
            let Err(SessionError::MalformedPattern(said)) = Text::parse(pattern) else {
                panic!("{pattern} is none");
            };
            assert!(said.starts_with(reason) && !said.contains('\n'), "{said}");
        }
    }
}
