//! What keeps one peer from filling the trail: beyond its share, its rows are counted instead, and one row says so.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use pairing::UnixMillis;

use super::{AuditRow, action};

/// Whose rows, or of what kind, and how many of them one source has. Sources are told apart within one of these: strangers, of
/// whom there can be any number, take nothing from those who are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Share {
    /// Of a peer that nobody knows: a pairing has four rows.
    Strangers,
    /// Of a device, a guest, or the programs of a session: an attach and its end have two.
    Known,
    /// Of one of these and one thing that it does something to, where a row stands for ten seconds.
    Summaries,
    /// Of one of these, for what is never done without its row.
    Acts,
}

impl Share {
    /// How many at once.
    fn burst(self) -> i64 {
        match self {
            Self::Strangers | Self::Summaries => 60,
            Self::Known | Self::Acts => 600,
        }
    }

    /// How many in each minute from then on.
    fn per_minute(self) -> i64 {
        match self {
            Self::Strangers => 1,
            Self::Known => 10,
            Self::Summaries => 6,
            Self::Acts => 60,
        }
    }
}

/// The shares that are in use. Time comes with each row.
#[derive(Debug, Default)]
pub(crate) struct Damper {
    tables: BTreeMap<Share, HashMap<String, Source>>,
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
        self.source(source, share, row.time).admits(row)
    }

    /// Takes a row from the share of a source for what is not done beyond it.
    ///
    /// # Errors
    /// How long until there is another.
    pub(crate) fn take(&mut self, source: &str, share: Share, now: UnixMillis) -> Result<(), Duration> {
        self.source(source, share, now).take(now)
    }

    fn source(&mut self, source: &str, share: Share, now: UnixMillis) -> &mut Source {
        let table = self.tables.entry(share).or_default();
        let is_room = table.len() < MAX_SOURCES || table.contains_key(source);
        // So many at once are an attack: whoever comes then shares.
        let source = if is_room { source } else { EVERYBODY_ELSE };
        let new = || Source {
            share,
            left: share.burst() * PARTS,
            at: now,
            omitted: None,
        };
        table.entry(source.to_owned()).or_insert_with(new)
    }

    /// The rows that say what was not written, of what began so long ago that it is said now; with `all`, of everything.
    pub(crate) fn due(&mut self, now: UnixMillis, all: bool) -> Vec<AuditRow> {
        let mut rows = Vec::new();
        for table in self.tables.values_mut() {
            for (name, source) in &mut *table {
                let is_due = |omitted: &mut Omitted| all || now.since(omitted.since) >= SAID_AFTER;
                if let Some(omitted) = source.omitted.take_if(is_due) {
                    rows.push(omitted.said(name, now));
                }
            }
            table.retain(|_, source| source.omitted.is_some() || !source.is_rested(now));
        }
        rows
    }
}

impl Source {
    fn take(&mut self, now: UnixMillis) -> Result<(), Duration> {
        self.refill(now);
        if self.left >= PARTS {
            self.left -= PARTS;
            return Ok(());
        }
        let missing = (PARTS - self.left) / self.share.per_minute();
        Err(Duration::from_millis(missing.unsigned_abs()))
    }

    fn admits(&mut self, row: &AuditRow) -> bool {
        if self.take(row.time).is_ok() {
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
        let more = passed.saturating_mul(self.share.per_minute());
        self.left = self.left.saturating_add(more).min(self.share.burst() * PARTS);
        self.at = now.max(self.at);
    }

    /// Whether its share is whole again, so that nothing need be remembered.
    fn is_rested(&mut self, now: UnixMillis) -> bool {
        self.refill(now);
        self.left == self.share.burst() * PARTS
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

/// Sources of one kind that are told apart.
const MAX_SOURCES: usize = 1024;
const EVERYBODY_ELSE: &str = "others";

/// How long rows are counted before the count is written.
const SAID_AFTER: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pairing::UnixMillis;

    use super::{Damper, MAX_SOURCES, Share};
    use crate::audit::{AuditRow, action};

    fn row(seconds: i64) -> AuditRow {
        let at = UnixMillis(seconds * 1000);
        AuditRow::new(at, "nobody", "192.0.2.1:7", action::PAIRING_REVEALED, "req_1")
    }

    fn admitted(damper: &mut Damper, source: &str, at: i64, tries: usize) -> usize {
        let share = Share::Strangers;
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
        let mut admits = |at: i64| damper.admits("a", Share::Summaries, &row(at));
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
        assert!(damper.tables.values().all(std::collections::HashMap::is_empty));
    }

    #[test]
    fn however_many_strangers_there_are_whoever_is_known_has_a_share_of_its_own() {
        let mut damper = Damper::default();
        for n in 0..2 * MAX_SOURCES {
            admitted(&mut damper, &n.to_string(), 0, 1);
        }
        admitted(&mut damper, "yet another", 0, 100);
        let known = (0..1_000).filter(|_| damper.admits("dev_1", Share::Known, &row(0)));
        assert_eq!(known.count(), 600);
        assert!(damper.admits("dev_1 ses_1", Share::Summaries, &row(0)));
    }

    #[test]
    fn what_is_not_done_beyond_its_share_says_when_it_can_be() {
        let mut damper = Damper::default();
        let mut take = |at: i64| damper.take("dev_1", Share::Acts, UnixMillis(at));
        assert!((0..600).all(|_| take(0).is_ok()));
        assert_eq!(take(250), Err(Duration::from_millis(750)));
        assert_eq!(take(1_000), Ok(()));
        assert_eq!(take(1_000), Err(Duration::from_secs(1)));
        assert!(
            damper.due(UnixMillis(9_000_000), true).is_empty(),
            "nothing was omitted"
        );
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing() {
        let mut damper = Damper::default();
        assert_eq!(admitted(&mut damper, "a", 1_000, 60), 60);
        assert_eq!(admitted(&mut damper, "a", 0, 60), 0);
        assert_eq!(admitted(&mut damper, "a", 1_000, 60), 0);
    }
}
