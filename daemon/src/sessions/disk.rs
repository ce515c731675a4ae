//! What becomes of sessions that have ended: which are forgotten, and when the next is. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// A session that has ended, as far as its place on disk is concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// When it ended, or was restored since.
    pub(super) since: Timestamp,
    /// When it is forgotten, if it was deleted.
    pub(super) purge_at: Option<Timestamp>,
    /// What its files hold.
    pub(super) bytes: u64,
}

impl Place {
    /// When it is forgotten. One that was deleted can be restored for as long as was said then, whenever it ended.
    fn deadline(&self) -> Timestamp {
        let lasts = || self.since.checked_add(KEPT_AFTER_EXIT).unwrap_or(Timestamp::MAX);
        self.purge_at.unwrap_or_else(lasts)
    }

    fn cost(&self) -> u64 {
        self.bytes + FOLDER
    }
}

/// Which are forgotten now, by their places in the list: those whose time is over, and of the others the oldest until the
/// rest has room and is not too many.
pub(super) fn doomed(places: &[Place], now: Timestamp, room: u64) -> Vec<usize> {
    let (mut doomed, mut kept): (Vec<usize>, Vec<usize>) =
        (0..places.len()).partition(|&index| places[index].deadline() <= now);
    let mut bytes: u64 = kept.iter().map(|&index| places[index].cost()).sum();
    let mut left = kept.len();
    kept.sort_by_key(|&index| places[index].since);
    for index in kept {
        if bytes <= room && left <= MOST {
            break;
        }
        bytes -= places[index].cost();
        left -= 1;
        doomed.push(index);
    }
    doomed
}

/// How long until the next one's time is over.
pub(super) fn next(places: &[Place], now: Timestamp) -> Option<Duration> {
    let next = places.iter().map(Place::deadline).min()?;
    Some(Duration::try_from(next.duration_since(now)).unwrap_or_default())
}

/// How long an ended session, or a restored one from then on, keeps its output and its screen.
const KEPT_AFTER_EXIT: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Bytes that a session costs beside what is in its files: the folder, and what the file system rounds up.
pub(super) const FOLDER: u64 = 16 * 1024;

/// Ended sessions at most: of those that print nothing the disk would hold a hundred thousand, and each costs the daemon memory
/// and its place in every list. A thousand are a week of one every ten minutes.
const MOST: usize = 1000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::{SignedDuration, Timestamp};

    use super::{FOLDER, MOST, Place, doomed, next};

    const ROOM: u64 = 1 << 40;

    const HOUR: SignedDuration = SignedDuration::from_hours(1);

    fn hour(hours: i32) -> Timestamp {
        Timestamp::UNIX_EPOCH + HOUR * hours
    }

    fn place(since: i32, purge: Option<i32>, bytes: u64) -> Place {
        Place {
            since: hour(since),
            purge_at: purge.map(hour),
            bytes,
        }
    }

    #[test]
    fn what_was_deleted_goes_at_its_deadline_and_the_rest_after_seven_days() {
        let places = [place(0, None, 1), place(10, Some(34), 1), place(20, None, 1)];
        assert!(doomed(&places, hour(33), ROOM).is_empty());
        assert_eq!(next(&places, hour(33)), Some(Duration::from_secs(3600)));
        assert_eq!(doomed(&places, hour(34), ROOM), [1]);
        assert_eq!(doomed(&places, hour(7 * 24), ROOM), [0, 1]);
        assert_eq!(next(&places, hour(1000)), Some(Duration::ZERO));
    }

    #[test]
    fn what_is_deleted_on_its_last_day_lasts_until_its_deadline() {
        let places = [place(0, Some(7 * 24 + 23), 1)];
        assert!(doomed(&places, hour(7 * 24 + 22), ROOM).is_empty());
        assert_eq!(doomed(&places, hour(7 * 24 + 23), ROOM), [0]);
    }

    #[test]
    fn the_oldest_go_first_where_the_room_is_not_enough() {
        let places = [place(3, None, 5), place(1, None, 5), place(2, None, 5)];
        let room = 3 * (5 + FOLDER);
        assert!(doomed(&places, hour(4), room).is_empty());
        assert_eq!(doomed(&places, hour(4), room - 1), [1]);
        assert_eq!(doomed(&places, hour(4), 0), [1, 2, 0]);
    }

    #[test]
    fn the_oldest_go_where_they_are_too_many() {
        let mut places = vec![place(2, None, 0); MOST];
        assert!(doomed(&places, hour(3), ROOM).is_empty());
        places.push(place(1, None, 0));
        assert_eq!(doomed(&places, hour(3), ROOM), [MOST]);
    }
}
