//! What keeps one peer from filling the trail: beyond its share, its rows are counted instead, and one row says so.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use pairing::UnixMillis;

use super::{AuditRow, action};

/// How many rows of one source are written one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// At once.
    burst: i64,
    /// In each minute from then on.
    per_minute: i64,
}

impl Share {
    /// Of a peer that nobody knows: a pairing has four rows.
    pub(crate) const OF_STRANGERS: Self = Self {
        burst: 60,
        per_minute: 1,
    };
    /// Of a device, a guest, or the programs of a session: an attach and its end have two.
    pub(crate) const OF_KNOWN: Self = Self {
        burst: 600,
        per_minute: 10,
    };
    /// Of one of these and one thing that it does something to, where a row stands for ten seconds.
    pub(crate) const OF_SUMMARIES: Self = Self {
        burst: 60,
        per_minute: 6,
    };
}

/// The shares that are in use. Time comes with each row.
#[derive(Debug, Default)]
pub(crate) struct Damper {
    sources: HashMap<String, Source>,
}

#[derive(Debug)]
struct Source {
    share: Share,
    /// What is left of the share, in parts of a row.
    left: i64,
    at: UnixMillis,
    omitted: Option<Omitted>,
}

#[derive(Debug)]
struct Omitted {
    principal: String,
    since: UnixMillis,
    counts: BTreeMap<Cow<'static, str>, u64>,
}

impl Damper {
    /// Whether a row is to be written; if not, it is counted.
    pub(crate) fn admits(&mut self, source: &str, share: Share, row: &AuditRow) -> bool {
        let is_room = self.sources.len() < MAX_SOURCES || self.sources.contains_key(source);
        // So many at once are an attack: whoever comes then shares.
        let source = if is_room { source } else { EVERYBODY_ELSE };
        let new = || Source {
            share,
            left: share.burst * PARTS,
            at: row.time,
            omitted: None,
        };
        self.sources
            .entry(source.to_owned())
            .or_insert_with(new)
            .admits(row)
    }

    /// The rows that say what was not written, of what began so long ago that it is said now; with `all`, of everything.
    pub(crate) fn due(&mut self, now: UnixMillis, all: bool) -> Vec<AuditRow> {
        let mut rows = Vec::new();
        for (name, source) in &mut self.sources {
            let is_due = |omitted: &mut Omitted| all || now.since(omitted.since) >= SAID_AFTER;
            if let Some(omitted) = source.omitted.take_if(is_due) {
                rows.push(omitted.said(name, now));
            }
        }
        self.sources
            .retain(|_, source| source.omitted.is_some() || !source.is_rested(now));
        rows
    }
}

impl Source {
    fn admits(&mut self, row: &AuditRow) -> bool {
        self.refill(row.time);
        if self.left >= PARTS {
            self.left -= PARTS;
            return true;
        }
        let omitted = self.omitted.get_or_insert_with(|| Omitted {
            principal: row.principal.clone(),
            since: row.time,
            counts: BTreeMap::new(),
        });
        *omitted.counts.entry(row.action.clone()).or_default() += 1;
        false
    }

    fn refill(&mut self, now: UnixMillis) {
        let passed = i64::try_from(now.since(self.at).as_millis()).unwrap_or(i64::MAX);
        let more = passed.saturating_mul(self.share.per_minute);
        self.left = self.left.saturating_add(more).min(self.share.burst * PARTS);
        self.at = now.max(self.at);
    }

    /// Whether its share is whole again, so that nothing need be remembered.
    fn is_rested(&mut self, now: UnixMillis) -> bool {
        self.refill(now);
        self.left == self.share.burst * PARTS
    }
}

impl Omitted {
    fn said(self, source: &str, now: UnixMillis) -> AuditRow {
        let counts: Vec<String> = self
            .counts
            .iter()
            .map(|(action, count)| format!("{count} of {action}"))
            .collect();
        let since = crate::clock::timestamp(self.since);
        AuditRow::new(now, self.principal, source, action::ROWS_OMITTED, "")
            .detail(format!("{} since {since}", counts.join(", ")))
    }
}

/// Parts of a row: milliseconds in a minute, so that a share grows with each.
const PARTS: i64 = 60_000;

/// Sources that are told apart.
const MAX_SOURCES: usize = 1024;
const EVERYBODY_ELSE: &str = "others";

/// How long rows are counted before the count is written.
const SAID_AFTER: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use pairing::UnixMillis;

    use super::{Damper, MAX_SOURCES, Share};
    use crate::audit::{AuditRow, action};

    fn row(seconds: i64) -> AuditRow {
        let at = UnixMillis(seconds * 1000);
        AuditRow::new(at, "nobody", "192.0.2.1:7", action::PAIRING_REVEALED, "req_1")
    }

    fn admitted(damper: &mut Damper, source: &str, at: i64, tries: usize) -> usize {
        let share = Share::OF_STRANGERS;
        (0..tries)
            .filter(|_| damper.admits(source, share, &row(at)))
            .count()
    }

    #[test]
    fn beyond_its_share_the_rows_of_a_peer_are_counted_and_the_count_is_said_once() {
        let mut damper = Damper::default();
        assert_eq!(admitted(&mut damper, "a", 0, 100), 60);
        assert_eq!(
            admitted(&mut damper, "b", 0, 1),
            1,
            "another peer is not concerned"
        );
        assert_eq!(admitted(&mut damper, "a", 120, 100), 2, "its share grows again");
        assert!(damper.due(UnixMillis(599_000), false).is_empty());
        let said = damper.due(UnixMillis(600_000), false);
        assert_eq!(said.len(), 1);
        assert_eq!(
            (said[0].action.as_ref(), said[0].peer.as_str()),
            (action::ROWS_OMITTED, "a")
        );
        let detail = said[0].detail.as_deref().unwrap();
        assert_eq!(detail, "138 of pairing_revealed since 1970-01-01T00:00:00Z");
        assert!(damper.due(UnixMillis(9_000_000), false).is_empty());
    }

    #[test]
    fn a_peer_that_never_stops_gets_a_bounded_number_of_rows_a_day() {
        let mut damper = Damper::default();
        let mut rows = 0;
        for minute in 0..24 * 60 {
            rows += admitted(&mut damper, "a", minute * 60, 1_000);
            rows += damper.due(UnixMillis(minute * 60_000), false).len();
        }
        assert!(rows < 60 + 24 * 60 + 24 * 6, "{rows}");
    }

    #[test]
    fn a_row_each_ten_seconds_is_written_for_ever() {
        let mut damper = Damper::default();
        let mut admits = |at: i64| damper.admits("a", Share::OF_SUMMARIES, &row(at));
        assert!((0..24 * 360).all(|tens| admits(tens * 10)));
        let loops = (0..1_000).filter(|_| admits(24 * 3600)).count();
        assert_eq!(loops, 60, "and of a loop no more than its share");
    }

    #[test]
    fn very_many_peers_share_and_those_that_rest_are_forgotten() {
        let mut damper = Damper::default();
        let each: usize = (0..3 * MAX_SOURCES)
            .map(|n| admitted(&mut damper, &n.to_string(), 0, 1))
            .sum();
        assert_eq!(each, MAX_SOURCES + 60);
        assert_eq!(damper.due(UnixMillis(1), true).len(), 1);
        damper.due(UnixMillis(3_600_000), false);
        assert!(damper.sources.is_empty());
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing() {
        let mut damper = Damper::default();
        assert_eq!(admitted(&mut damper, "a", 1_000, 60), 60);
        assert_eq!(admitted(&mut damper, "a", 0, 60), 0);
        assert_eq!(admitted(&mut damper, "a", 1_000, 60), 0);
    }
}
