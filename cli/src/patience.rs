//! Going on where the daemon is away for a moment, as while it restarts.

use std::{pin::pin, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use crate::{failure::Failure, output};

/// How a verb that takes long bears with a daemon that is away: it tries again, later each time.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Option<Duration>,
    is_silent: bool,
    backoff: Backoff,
    away_since: Option<Instant>,
    has_said: bool,
}

impl Patience {
    /// Gives up once the daemon has been away for [`LIMIT`]; says so on standard error where that takes long.
    pub(crate) fn bounded() -> Self {
        Self {
            is_silent: false,
            ..Self::silent()
        }
    }

    /// The same, but says nothing, as somebody looks on who is shown it.
    pub(crate) fn silent() -> Self {
        Self {
            limit: Some(LIMIT),
            ..Self::endless()
        }
    }

    /// Never gives up, and says nothing: somebody looks on who can see it and leave.
    pub(crate) fn endless() -> Self {
        Self {
            limit: None,
            is_silent: true,
            backoff: Backoff::default(),
            away_since: None,
            has_said: false,
        }
    }

    /// Waits until it is time to try again.
    ///
    /// # Errors
    /// The failure itself, where trying again cannot help, or does not any more.
    pub(crate) async fn bear(&mut self, failure: Failure) -> Result<(), Failure> {
        sleep(self.delay_after(failure, Instant::now())?).await;
        Ok(())
    }

    fn delay_after(&mut self, failure: Failure, now: Instant) -> Result<Duration, Failure> {
        if !failure.is_about_the_link() {
            return Err(failure);
        }
        let away = now - *self.away_since.get_or_insert(now);
        if let Some(limit) = self.limit {
            if away >= limit {
                return Err(failure);
            }
            if away >= SILENCE && !self.has_said && !self.is_silent {
                self.has_said = true;
                output::note("the daemon is away; this goes on once it is back");
            }
        }
        Ok(self.backoff.next_delay())
    }

    /// The daemon is there.
    pub(crate) fn worked(&mut self) {
        self.backoff = Backoff::default();
        self.away_since = None;
        self.has_said = false;
    }
}

/// Waits for what may take long, and says on standard error what that is, once it does.
pub(crate) async fn told<T>(words: impl FnOnce() -> String, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    if let Ok(done) = timeout(LONG, &mut work).await {
        return done;
    }
    output::note(&words());
    work.await
}

/// The delays between tries to reach a daemon that is away.
#[derive(Debug)]
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
/// How long anything may take before a person wonders.
const LONG: Duration = Duration::from_secs(1);
/// How long a daemon may be away: an upgrade takes seconds, and a script must not hang on one that was ended for good.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use tokio::time::Instant;

    use super::{LIMIT, LONGEST, Patience};
    use crate::failure::Failure;

    fn away() -> Failure {
        Failure::unreachable(&Path::new("/s").into())
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
        let failure = Failure::failed("not_found", "it is not there", "");
        assert!(Patience::endless().delay_after(failure, Instant::now()).is_err());
    }
}
