//! Following what is said of this node: by tailscaled's bus, so that nothing is asked while nothing changes, or by a look at the
//! daemon's own every few seconds.

use std::{net::IpAddr, time::Duration};

use server::Access;
use tokio::time::sleep;

use super::{OwnNode, Phase, Seen, Tailnet, Unasked};

impl Tailnet {
    /// Asks what this node is, and notes the answer, or that there is none.
    pub(crate) async fn look(&self) -> Result<(), Unasked> {
        let (seen, outcome) = match self.way.status().await {
            Ok((phase, told)) => {
                let node = match phase {
                    // One that starts knows of itself only bit by bit.
                    Phase::Starting => OwnNode::or_as_known(told, self.seen().node),
                    Phase::Running | Phase::NeedsLogin | Phase::Stopped => told,
                };
                let seen = Seen {
                    phase: Some(phase),
                    node,
                    trouble: None,
                };
                (seen, Ok(()))
            }
            Err(error) => {
                let seen = Seen {
                    phase: None,
                    node: self.seen().node,
                    trouble: Some(error.to_string()),
                };
                (seen, Err(error))
            }
        };
        self.note(seen);
        outcome
    }

    fn note(&self, seen: Seen) {
        self.remember(&seen);
        self.seen.send_if_modified(|last| {
            let has_changed = *last != seen;
            if has_changed {
                say(last, &seen);
                *last = seen;
            }
            has_changed
        });
    }

    /// Follows it for good. Where somebody else becomes the owner of this node, who may come is judged anew.
    pub(crate) async fn follow(&self, access: &Access) {
        let mut pauses = Pauses::new();
        loop {
            if self.follow_bus(access).await.is_ok() {
                pauses = Pauses::new();
            }
            sleep(pauses.next()).await;
        }
    }

    /// The same until tailscaled ends, or does not answer; then also whether it ever did.
    async fn follow_bus(&self, access: &Access) -> Result<(), Unasked> {
        let changes = self.way.changes().await;
        self.look_and_judge(access).await?;
        // One that does not let us follow is asked again and again.
        let mut changes = changes?;
        while self.way.changed(&mut changes).await.is_ok() {
            if self.look_and_judge(access).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Asks again about whoever could not be asked about, until that is answered: what is said of it is true as long as it is said.
    pub(crate) async fn hear_again(&self) {
        loop {
            self.unheard.notified().await;
            let mut pauses = Pauses::new();
            while let Some(address) = self.unheard_of() {
                sleep(pauses.next()).await;
                // Known or not.
                if self.way.who_is(address).await.is_ok() {
                    self.unanswered().count = 0;
                }
            }
        }
    }

    /// The last one who could not be asked about, where nobody could since.
    fn unheard_of(&self) -> Option<IpAddr> {
        let unanswered = self.unanswered();
        unanswered.about.filter(|_| unanswered.count > 0)
    }

    async fn look_and_judge(&self, access: &Access) -> Result<(), Unasked> {
        let before = self.seen().owner().map(str::to_owned);
        // Whatever has changed may be who somebody is.
        self.cache.empty();
        let outcome = self.look().await;
        self.told.notify_one();
        if self.seen().owner() != before.as_deref() {
            access.close_unlisted();
        }
        outcome
    }
}

/// How long it is left alone between two questions that it did not answer: more and more, up to [`LONG`].
struct Pauses(Duration);

impl Pauses {
    fn new() -> Self {
        Self(SHORT)
    }

    fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(LONG);
        pause
    }
}

/// Puts a change into the log.
fn say(last: &Seen, seen: &Seen) {
    if let Some(trouble) = &seen.trouble {
        if last.trouble.as_ref() != Some(trouble) {
            tracing::warn!(
                error = trouble,
                "what the tailnet is cannot be asked: nobody new comes in over it"
            );
        }
        return;
    }
    let node = seen.node.as_ref();
    tracing::info!(
        phase = ?seen.phase,
        name = node.and_then(|node| node.name.as_deref()),
        addresses = ?node.map(|node| &node.addresses),
        user = node.and_then(|node| node.user.as_deref()),
        tags = ?node.map(|node| &node.tags),
        "the tailnet"
    );
}

/// Before tailscaled is asked again, the first time: it starts again within a second.
const SHORT: Duration = Duration::from_millis(250);

/// The same when it has been away for long.
const LONG: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::{LONG, Pauses, SHORT};

    #[test]
    fn who_does_not_answer_is_asked_more_and_more_seldom_up_to_a_bound() {
        let mut pauses = Pauses::new();
        let told = [(); 9].map(|()| pauses.next());
        assert_eq!(told[..3], [SHORT, SHORT * 2, SHORT * 4]);
        assert!(told.is_sorted());
        assert_eq!(told[6..], [LONG; 3]);
    }
}
