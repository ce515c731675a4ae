//! The certificate for this machine's MagicDNS name, from tailscaled, which gets it from a public authority.

use std::{sync::Arc, time::Duration};

use certs::{Pair, PairError, Source, UnixTime};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use super::{Phase, Seen, Tailnet, local_api::LocalApiError};
use crate::certificates::{self, Certificates};

/// What there is of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Certificate {
    /// The tailnet hands out none, as far as is known.
    #[default]
    Disabled,
    /// It is being asked for.
    Awaited,
    /// Whoever asks by the name is shown it, until then.
    Served(UnixTime),
    /// It could not be had, so that whoever asks by the name is shown the identity's own.
    Failed {
        /// Why, in words.
        why: String,
        /// What to do about it, where that is known.
        hint: Option<&'static str>,
    },
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoCertificate {
    #[error(transparent)]
    Asked(#[from] LocalApiError),
    #[error("what tailscaled has {0}")]
    Unusable(#[from] PairError),
    #[error("what tailscaled has is for another name")]
    OtherName,
    #[error("a node of the daemon's own is given none")]
    Embedded,
}

/// Gets it, serves it, and has it renewed, for good; wakes `is_other_source` whenever it begins to be served for a name, or is
/// served no more.
pub(crate) async fn keep(tailnet: &Tailnet, certificates: &Certificates, is_other_source: &Notify) {
    let mut seen = tailnet.watch();
    let mut kept = Kept::default();
    loop {
        let wanted = wanted(&seen.borrow_and_update());
        if kept.drop_what_is_over(&wanted, certificates) {
            is_other_source.notify_one();
        }
        let Wanted::Named(name) = wanted else {
            if wanted == Wanted::Nothing {
                tailnet.certificate.send_replace(Certificate::Disabled);
                // Whatever failed before was another's: what it is enabled for is asked for at once.
                kept = Kept::default();
            }
            tokio::select! {
                changed = seen.changed() => if changed.is_err() { return },
                () = sleep(LOOK) => {}
            }
            continue;
        };
        let wait = kept.wait(certificates::now());
        if wait.is_zero() {
            let was_served = kept.served.is_some();
            kept.renew(&name, tailnet, certificates).await;
            if kept.served.is_some() != was_served {
                is_other_source.notify_one();
            }
            continue;
        }
        tokio::select! {
            changed = seen.changed() => if changed.is_err() { return },
            () = tailnet.told.notified() => kept.hasten(),
            () = sleep(wait) => {}
        }
    }
}

/// What there is to get a certificate for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Named(String),
    Nothing,
    /// It is not known: what is served is served on.
    Unknown,
}

fn wanted(seen: &Seen) -> Wanted {
    let name = seen.node.as_ref().filter(|node| node.has_certificates);
    match (seen.phase, name.and_then(|node| node.name.clone())) {
        (Some(Phase::Running), Some(name)) => Wanted::Named(name),
        (Some(Phase::Running), None) => Wanted::Nothing,
        _ => Wanted::Unknown,
    }
}

#[derive(Default)]
struct Kept {
    served: Option<(String, Arc<Pair>)>,
    /// When it is tried again.
    again: Option<Instant>,
    failures: u32,
    /// When tailscaled said last that this user may not ask, which its owner may change at any time.
    denied: Option<Instant>,
}

impl Kept {
    /// Stops serving what is for another name, or has ended; says whether it did.
    fn drop_what_is_over(&mut self, wanted: &Wanted, certificates: &Certificates) -> bool {
        let is_over = self.served.as_ref().is_some_and(|(name, pair)| {
            let is_for_another = match wanted {
                Wanted::Named(wanted) => wanted != name,
                Wanted::Nothing => true,
                Wanted::Unknown => false,
            };
            is_for_another || !pair.is_good(certificates::now())
        });
        if is_over {
            certificates.resolver().serve(Source::Tailnet, None);
            *self = Self::default();
        }
        is_over
    }

    /// How long until it is asked for.
    fn wait(&self, now: UnixTime) -> Duration {
        if let Some(again) = self.again {
            return again.saturating_duration_since(Instant::now()).min(LOOK);
        }
        // Clocks are set and machines sleep: the time to wait is no more than a guess.
        self.served
            .as_ref()
            .map_or(Duration::ZERO, |(_, pair)| due_in(pair, now).min(LOOK))
    }

    /// Tries it sooner, after tailscaled told of a change: where it said itself that this user may not ask, that costs nobody else
    /// anything.
    fn hasten(&mut self) {
        if let (Some(again), Some(denied)) = (&mut self.again, self.denied) {
            *again = (*again).min(denied + FIRST_PAUSE);
        }
    }

    async fn renew(&mut self, name: &str, tailnet: &Tailnet, certificates: &Certificates) {
        if self.served.is_none() && self.failures == 0 {
            tailnet.certificate.send_replace(Certificate::Awaited);
        }
        match fetch(name, tailnet).await {
            Ok(pair) => {
                let now = certificates::now();
                (self.failures, self.denied) = (0, None);
                // As long as it has no newer one, tailscaled is at it: the nearer the end, the oftener it is asked.
                self.again = due_in(&pair, now)
                    .is_zero()
                    .then(|| Instant::now() + (left(&pair, now) / 4).clamp(SOON, LOOK));
                self.serve(name, Arc::new(pair), tailnet, certificates);
            }
            Err(error) => {
                let is_denied = matches!(error, NoCertificate::Asked(LocalApiError::Denied(_)));
                self.denied = is_denied.then(Instant::now);
                let longest = if is_denied { LONGEST_DENIED } else { LOOK };
                self.again = Some(Instant::now() + pause(self.failures).min(longest));
                self.failures = self.failures.saturating_add(1);
                let (why, hint) = (error.to_string(), is_denied.then_some(LET_ASK));
                tracing::warn!(name, why, hint, "there is no certificate from the tailnet");
                if self.served.is_none() {
                    tailnet
                        .certificate
                        .send_replace(Certificate::Failed { why, hint });
                }
            }
        }
    }

    fn serve(&mut self, name: &str, pair: Arc<Pair>, tailnet: &Tailnet, certificates: &Certificates) {
        let is_other = |(_, served): &(String, Arc<Pair>)| served.key.cert != pair.key.cert;
        if self.served.as_ref().is_none_or(is_other) {
            tracing::info!(
                name,
                issuer = pair.issuer,
                "whoever asks by the name in the tailnet is shown its certificate"
            );
            certificates
                .resolver()
                .serve(Source::Tailnet, Some(Arc::clone(&pair)));
        }
        tailnet
            .certificate
            .send_replace(Certificate::Served(pair.not_after));
        self.served = Some((name.to_owned(), pair));
    }
}

async fn fetch(name: &str, tailnet: &Tailnet) -> Result<Pair, NoCertificate> {
    let pem = tailnet.way.certificate(name).await?;
    // The key and the chain stand in the same text.
    let pair = Pair::from_pem(&pem, &pem, certificates::now())?;
    match pair.names.has_host(name) {
        true => Ok(pair),
        false => Err(NoCertificate::OtherName),
    }
}

/// How long until it is renewed: when a third of its life is left.
fn due_in(pair: &Pair, now: UnixTime) -> Duration {
    let life = Duration::from_secs(pair.not_after.as_secs().saturating_sub(pair.not_before.as_secs()));
    left(pair, now).saturating_sub(life / 3)
}

fn left(pair: &Pair, now: UnixTime) -> Duration {
    Duration::from_secs(pair.not_after.as_secs().saturating_sub(now.as_secs()))
}

/// How long after so many failures it is tried again.
fn pause(failures: u32) -> Duration {
    (FIRST_PAUSE * 2u32.saturating_pow(failures.min(10))).min(LOOK)
}

/// Between two looks at the clock, and at most between two attempts.
const LOOK: Duration = Duration::from_secs(60 * 60);

/// Between the first attempt that failed and the next.
const FIRST_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause where tailscaled itself says no.
const LONGEST_DENIED: Duration = Duration::from_secs(5 * 60);

/// What whoever tailscaled says no to can do.
const LET_ASK: &str =
    "`sudo tailscale set --operator=$USER` lets you ask, or TS_PERMIT_CERT_UID in /etc/default/tailscaled";

/// At least between two questions for a newer one.
const SOON: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
