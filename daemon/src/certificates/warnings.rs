//! Which certificates end soon that nobody but the user can renew.

use std::time::Duration;

use certs::{RENEWAL, Source, UnixTime};
use protocol::condition::{Warning, WarningKind};

use super::{Certificates, timestamp};

impl Certificates {
    /// What ends soon, or has ended.
    pub(crate) fn warnings(&self, now: UnixTime) -> Vec<Warning> {
        let held = self.held();
        let own = self.resolver.from_source(Source::Own).zip(held.pair.as_ref());
        let own = own.and_then(|(pair, files)| {
            let end = ending(pair.not_after, now, OWN)?;
            let file = files.certificate.display();
            Some(Warning {
                kind: WarningKind::OwnCertificate,
                detail: format!("the certificate {file} {end}"),
                hint: "renew it, and it is taken up by itself".to_owned(),
            })
        });
        let authority = held.authority.as_ref();
        // From then on `certs trust` makes another.
        let root = authority.and_then(|authority| {
            let end = ending(authority.not_after(), now, RENEWAL)?;
            Some(Warning {
                kind: WarningKind::Root,
                detail: format!("the root that devices were told to trust {end}"),
                hint: "`transom certs trust` makes another, which they are to be told to trust again"
                    .to_owned(),
            })
        });
        own.into_iter().chain(root).collect()
    }
}

/// Says when it ends, where that is less than so long ahead.
fn ending(at: UnixTime, now: UnixTime, ahead: Duration) -> Option<String> {
    let day = timestamp(at).strftime("%Y-%m-%d");
    if now > at {
        return Some(format!("has ended on {day}"));
    }
    let left = at.as_secs() - now.as_secs();
    (left <= ahead.as_secs()).then(|| format!("ends on {day}"))
}

/// How long before its end a pair of the user's own should have been renewed: who renews by itself does a month before.
const OWN: Duration = Duration::from_secs(14 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use certs::UnixTime;

    use super::{OWN, ending};

    #[test]
    fn what_ends_within_two_weeks_is_said_and_so_is_what_has_ended() {
        let day =
            |number: u64| UnixTime::since_unix_epoch(Duration::from_secs((20_000 + number) * 24 * 60 * 60));
        let said = |now| ending(day(90), day(now), OWN);
        assert_eq!((said(0), said(75)), (None, None));
        assert_eq!(said(76).as_deref(), Some("ends on 2025-01-02"));
        assert_eq!(said(90).as_deref(), Some("ends on 2025-01-02"));
        assert_eq!(said(91).as_deref(), Some("has ended on 2025-01-02"));
    }
}
