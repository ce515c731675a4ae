//! Going on where the daemon is away for a moment, as while it restarts.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::MayPass;

/// How something that takes long bears with a daemon that is away: it tries again, later each time.
#[derive(Clone, Debug)]
pub struct Patience {
    limit: Option<Duration>,
    /// Told, once, of a daemon that is away for longer than a moment.
    tell: Option<fn()>,
    backoff: Backoff,
    away_since: Option<Instant>,
    has_told: bool,
}

impl Patience {
    /// Gives up once the daemon has been away for a minute.
    pub fn bounded() -> Self {
        Self {
            limit: Some(LIMIT),
            ..Self::endless()
        }
    }

    /// Never gives up: somebody looks on who can see it and leave.
    pub fn endless() -> Self {
        Self {
            limit: None,
            tell: None,
            backoff: Backoff::default(),
            away_since: None,
            has_told: false,
        }
    }

    /// The same, and calls this once for each time that the daemon is away for longer than 2 s.
    #[must_use]
    pub fn telling(self, tell: fn()) -> Self {
        Self {
            tell: Some(tell),
            ..self
        }
    }

    /// Waits until it is time to try again.
    ///
    /// # Errors
    /// The error itself, where trying again cannot help, or does not any more.
    pub async fn bear<E: MayPass>(&mut self, error: E) -> Result<(), E> {
        sleep(self.delay_after(error, Instant::now())?).await;
        Ok(())
    }

    fn delay_after<E: MayPass>(&mut self, error: E, now: Instant) -> Result<Duration, E> {
        if !error.is_about_the_link() {
            return Err(error);
        }
        let away = now - *self.away_since.get_or_insert(now);
        if self.limit.is_some_and(|limit| away >= limit) {
            return Err(error);
        }
        if away >= SILENCE
            && !self.has_told
            && let Some(tell) = self.tell
        {
            self.has_told = true;
            tell();
        }
        Ok(self.backoff.next_delay())
    }

    /// The daemon is there.
    pub fn worked(&mut self) {
        self.backoff = Backoff::default();
        self.away_since = None;
        self.has_told = false;
    }
}

/// The delays between tries to reach a daemon that is away.
#[derive(Clone, Debug)]
pub(crate) struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl Backoff {
    /// How long to wait before the next try.
    pub(crate) fn next_delay(&mut self) -> Duration {
        let delay = self.0;
        self.0 = (delay * 2).min(LONGEST);
        delay
    }
}

/// The first delay; each further one is twice as long, up to the longest.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);
/// How long a restart may take before a person is told why nothing happens.
const SILENCE: Duration = Duration::from_secs(2);
/// How long a daemon may be away: an upgrade takes seconds, and a script must not hang on one that was ended for good.
const LIMIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use tokio::time::Instant;

    use super::{LIMIT, LONGEST, Patience};
    use crate::error::Error;

    fn away() -> Error {
        Error::Unreachable(Path::new("/s").into())
    }

    #[test]
    fn a_daemon_that_is_away_for_long_is_given_up() {
        let (mut patience, began) = (Patience::bounded(), Instant::now());
        let mut now = began;
        while let Ok(delay) = patience.delay_after(away(), now) {
            now += delay;
        }
        assert!(
            now - began >= LIMIT && now - began <= LIMIT + LONGEST,
            "{:?}",
            now - began
        );
    }

    #[test]
    fn each_outage_is_borne_anew() {
        let (mut patience, mut now) = (Patience::bounded(), Instant::now());
        for _ in 0..20 {
            assert_eq!(
                patience.delay_after(away(), now).unwrap(),
                Duration::from_millis(100)
            );
            now += LIMIT / 2;
            patience.worked();
        }
    }

    #[test]
    fn the_delays_grow_to_ten_seconds_and_no_further() {
        let (mut patience, now) = (Patience::endless(), Instant::now());
        let delays: Vec<_> = (0..10)
            .map(|_| patience.delay_after(away(), now).unwrap().as_millis())
            .collect();
        assert_eq!(delays[..3], [100, 200, 400]);
        assert_eq!(delays[7..], [10_000, 10_000, 10_000]);
    }

    #[test]
    fn what_does_not_pass_is_not_borne() {
        let error = Error::SocketNotPermitted(Path::new("/s").into());
        assert!(Patience::endless().delay_after(error, Instant::now()).is_err());
    }
}
