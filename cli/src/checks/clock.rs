//! This machine's clock, against what is known to lie behind.

use std::{fs, time::SystemTime};

use certs::Sight;
use daemon::{Paths, offline::Look};
use jiff::Timestamp;
use protocol::certificates::CertificateSource;

use super::{Check, Running, timestamp};
use crate::duration;

/// Something that has happened already.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Past {
    what: String,
    at: Timestamp,
}

/// Whether the clock is behind anything that was written or issued before. That it is ahead cannot be told by this machine
/// alone: `--on` compares two.
pub(crate) fn clock(paths: &Paths, look: Option<&Look>, running: Option<&Running>, now: Timestamp) -> Check {
    let mut past: Vec<Past> = written(paths);
    past.extend(look.and_then(|look| look.last_written).and_then(|last| {
        let at = Timestamp::from_millisecond(last.0).ok()?;
        Some(of("the last row of the audit trail was written", at))
    }));
    if let Some(running) = running {
        past.push(of("the daemon began", running.status.started_at));
        let served = running.certificates.iter().flat_map(|all| &all.certificates);
        past.extend(served.filter_map(|one| match one.source {
            CertificateSource::Identity | CertificateSource::Trusted => None,
            CertificateSource::Own | CertificateSource::Tailnet => Some(of(
                &format!("the certificate for {} was issued", one.names.join(", ")),
                one.not_before,
            )),
        }));
    }
    judged(past, now)
}

fn judged(past: Vec<Past>, now: Timestamp) -> Check {
    let Some(latest) = past.into_iter().max_by_key(|past| past.at) else {
        return Check::skipped("clock", "there is nothing yet to compare it with");
    };
    let says = now.strftime("%Y-%m-%d %H:%M:%S UTC");
    if latest.at.as_second() - now.as_second() > TOLERANCE {
        return Check::failed(
            "clock",
            format!(
                "this machine's clock says {says}, and {} on {}: it is {} behind",
                latest.what,
                latest.at.strftime("%Y-%m-%d %H:%M:%S UTC"),
                duration::until(latest.at, now)
            ),
            "set it (`sudo timedatectl set-ntp true`): certificates and ends of trust go by it",
        );
    }
    Check::ok(
        "clock",
        format!("it says {says}, which is behind nothing that is known to be past"),
    )
}

/// When the files that the daemon writes were written last.
fn written(paths: &Paths) -> Vec<Past> {
    let keys = paths.keys();
    let mut past: Vec<Past> = [paths.store(), keys.join("epoch"), keys.join("certificate.pem")]
        .iter()
        .filter_map(|path| {
            let at = fs::metadata(path).and_then(|there| there.modified()).ok()?;
            let since = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            let at = Timestamp::from_second(i64::try_from(since.as_secs()).ok()?).ok()?;
            Some(of(&format!("{} was written", path.display()), at))
        })
        .collect();
    let leaf = fs::read(keys.join("certificate.pem")).ok();
    past.extend(leaf.and_then(|leaf| Sight::of_pem(&leaf).ok()).map(|leaf| {
        // It begins a day before it is made.
        of(
            "the daemon's own certificate begins to be good",
            timestamp(leaf.not_before),
        )
    }));
    past
}

fn of(what: &str, at: Timestamp) -> Past {
    Past {
        what: what.to_owned(),
        at,
    }
}

/// Seconds that are nobody's fault: file systems and their servers have clocks of their own.
const TOLERANCE: i64 = 60;

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{judged, of};
    use crate::checks::State;

    #[test]
    fn a_clock_that_is_behind_what_is_past_is_wrong_by_so_much() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let now = at(1_795_000_000);
        let judged = |second| {
            judged(
                vec![
                    of("an old thing was made", at(5)),
                    of("it was written", at(second)),
                ],
                now,
            )
        };
        assert_eq!(judged(1_795_000_030).state, State::Ok);
        let wrong = judged(1_795_000_000 + 2 * 86_400);
        assert_eq!(wrong.state, State::Failed);
        assert!(
            wrong.detail.contains("it was written") && wrong.detail.contains("2d behind"),
            "{wrong:?}"
        );
        assert_eq!(super::judged(Vec::new(), now).state, State::Skipped);
    }
}
