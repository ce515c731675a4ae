//! Failed credentials: beyond a number from one peer, the failures themselves are refused. What is right is never refused for
//! what others got wrong, so there is no lock-out to lift.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::peer::Peer;

/// How often which peers failed lately, as one peer counts for limits.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// At most [`PEERS`]; a further peer takes the place of the one whose minute began first.
    of_peer: Mutex<HashMap<String, Minute>>,
}

#[derive(Clone, Copy, Debug)]
struct Minute {
    began: Instant,
    failures: u32,
}

impl Failures {
    /// Whether a refusal with this code is one of a credential that was not right.
    pub(crate) fn is_one(peer: &Peer, code: &str) -> bool {
        !peer.is_local() && !NO_FAILURES.contains(&code)
    }

    /// Counts a refusal by its code, if it is one of a credential that was not right; then the time until failures are
    /// answered again, if these are too many.
    pub(crate) fn too_many(&self, peer: &Peer, code: &str, now: Instant) -> Option<Duration> {
        if !Self::is_one(peer, code) {
            return None;
        }
        let mut of_peer = self.of_peer.lock().unwrap_or_else(PoisonError::into_inner);
        let key = peer.limit_key();
        if !of_peer.contains_key(&key) && of_peer.len() >= PEERS {
            make_room(&mut of_peer, now);
        }
        let fresh = Minute {
            began: now,
            failures: 0,
        };
        let minute = of_peer.entry(key).or_insert(fresh);
        if minute.left(now).is_zero() {
            *minute = fresh;
        }
        minute.failures = minute.failures.saturating_add(1);
        (minute.failures > MOST).then(|| minute.left(now))
    }
}

impl Minute {
    fn left(self, now: Instant) -> Duration {
        MINUTE.saturating_sub(now.saturating_duration_since(self.began))
    }
}

fn make_room(of_peer: &mut HashMap<String, Minute>, now: Instant) {
    of_peer.retain(|_, minute| !minute.left(now).is_zero());
    if of_peer.len() < PEERS {
        return;
    }
    let first = of_peer.iter().min_by_key(|(_, minute)| minute.began);
    if let Some(first) = first.map(|(key, _)| key.clone()) {
        of_peer.remove(&first);
    }
}

/// Refusals in which nothing was wrong: of nothing shown, or of what was right and is over, or not enough here.
const NO_FAILURES: [&str; 8] = [
    "unauthenticated",
    "proof_required",
    "revoked",
    "expired",
    "authentication_ended",
    "challenge_expired",
    "challenge_used",
    "unknown_challenge",
];

/// Failures of one peer in a minute that are answered as what they are.
const MOST: u32 = 20;

const MINUTE: Duration = Duration::from_secs(60);

/// Peers that are remembered: about 500 KiB.
const PEERS: usize = 4_096;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use pairing::Generation;

    use super::{Failures, MOST, PEERS};
    use crate::peer::{LocalPeer, Peer, RemotePeer};

    fn peer(address: [u8; 4]) -> Peer {
        Peer::Remote(RemotePeer {
            address: (address, 1).into(),
            listener: ([192, 0, 2, 1], 7443).into(),
            generation: Generation(1),
            tailnet: None,
        })
    }

    #[test]
    fn beyond_twenty_in_a_minute_a_peer_waits_for_its_end_and_no_other_peer_does() {
        let (failures, begun) = (Failures::default(), Instant::now());
        let [one, two] = [1, 2].map(|n| peer([192, 0, 2, n]));
        for _ in 0..MOST {
            assert_eq!(failures.too_many(&one, "invalid_token", begun), None);
        }
        let later = begun + Duration::from_secs(20);
        assert_eq!(
            failures.too_many(&one, "bad_signature", later),
            Some(Duration::from_secs(40))
        );
        assert_eq!(failures.too_many(&two, "invalid_token", later), None);
        let over = begun + Duration::from_secs(60);
        assert_eq!(failures.too_many(&one, "malformed_token", over), None);
    }

    #[test]
    fn what_is_not_wrong_and_what_is_local_does_not_count() {
        let (failures, now) = (Failures::default(), Instant::now());
        let local = Peer::Local(LocalPeer { uid: 1, pid: None });
        for _ in 0..2 * MOST {
            assert_eq!(failures.too_many(&local, "malformed_token", now), None);
            for code in [
                "unauthenticated",
                "revoked",
                "proof_required",
                "challenge_expired",
            ] {
                assert_eq!(failures.too_many(&peer([192, 0, 2, 1]), code, now), None);
            }
        }
        assert!(failures.of_peer.lock().unwrap().is_empty());
    }

    #[test]
    fn many_peers_take_no_more_than_their_room_and_the_latest_are_counted() {
        let (failures, begun) = (Failures::default(), Instant::now());
        for n in 0..PEERS + 100 {
            let [.., high, low] = n.to_be_bytes();
            let now = begun + Duration::from_millis(n as u64);
            failures.too_many(&peer([10, 0, high, low]), "invalid_token", now);
        }
        let of_peer = failures.of_peer.lock().unwrap();
        assert_eq!(of_peer.len(), PEERS);
        assert!(of_peer.contains_key("10.0.16.99") && !of_peer.contains_key("10.0.0.99"));
    }
}
