//! Who was behind which address lately, so that a phone's ten streams cost one question.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pairing::TailnetIdentity;
use tokio::time::Instant;

/// A few answers, for a short time. Only what tailscaled knows is kept: that somebody is unknown is asked again.
#[derive(Default)]
pub(super) struct Cache(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// How often it was emptied.
    emptied: u64,
    answers: HashMap<IpAddr, (Instant, TailnetIdentity)>,
}

/// When a question was asked: what was true before the cache was emptied is not kept after it.
#[derive(Clone, Copy)]
pub(super) struct Asked(u64);

impl Cache {
    /// Who is behind the address, if that was asked a moment ago; else when it is asked.
    pub(super) fn find(&self, address: IpAddr) -> Result<TailnetIdentity, Asked> {
        let kept = self.kept();
        match kept.answers.get(&address) {
            Some((since, who)) if since.elapsed() < FRESH => Ok(who.clone()),
            _ => Err(Asked(kept.emptied)),
        }
    }

    /// Keeps what was answered.
    pub(super) fn keep(&self, asked: Asked, address: IpAddr, who: &TailnetIdentity) {
        let mut kept = self.kept();
        if kept.emptied != asked.0 {
            return;
        }
        if kept.answers.len() >= MOST {
            kept.answers.clear();
        }
        kept.answers.insert(address, (Instant::now(), who.clone()));
    }

    /// Forgets everything, also what is still to be answered.
    pub(super) fn empty(&self) {
        let mut kept = self.kept();
        kept.emptied += 1;
        kept.answers.clear();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long an answer is good: as long as one page takes to open its streams.
const FRESH: Duration = Duration::from_secs(10);

/// Addresses that are kept: a person has fewer nodes.
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use pairing::TailnetIdentity;

    use super::{Asked, Cache, MOST};

    fn who(node: &str) -> TailnetIdentity {
        TailnetIdentity {
            user_id: "42".to_owned(),
            user: "alice@example.com".to_owned(),
            node_id: node.to_owned(),
            node: node.to_owned(),
            tags: Vec::new(),
        }
    }

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(100, 64, 0, last).into()
    }

    fn asked(cache: &Cache, last: u8) -> Asked {
        cache.find(address(last)).err().unwrap()
    }

    #[tokio::test]
    async fn an_answer_is_found_again_until_everything_is_forgotten() {
        let cache = Cache::default();
        cache.keep(asked(&cache, 7), address(7), &who("phone"));
        assert_eq!(cache.find(address(7)).ok(), Some(who("phone")));
        assert!(cache.find(address(8)).is_err());
        cache.empty();
        assert!(cache.find(address(7)).is_err());
    }

    #[tokio::test]
    async fn what_was_asked_before_it_was_emptied_is_not_kept() {
        let cache = Cache::default();
        let before = asked(&cache, 7);
        cache.empty();
        cache.keep(before, address(7), &who("phone"));
        assert!(cache.find(address(7)).is_err());
    }

    #[tokio::test]
    async fn it_stays_small() {
        let cache = Cache::default();
        for last in 0..=u8::MAX {
            cache.keep(asked(&cache, last), address(last), &who("phone"));
            assert!(cache.kept().answers.len() <= MOST);
        }
    }
}
