//! Whether the audit trail is whole.

use rusqlite::Transaction;

use super::{
    StoreError, audit,
    chain::{AuditKey, Link},
    epoch::Epoch,
    meta,
};
use crate::audit::{AuditFault, AuditVerdict};

/// Follows the chain from its beginning to its end, and compares that with how far it had come.
pub(super) fn verify(
    transaction: &Transaction<'_>,
    key: &AuditKey,
    epoch: Option<&Epoch>,
) -> Result<AuditVerdict, StoreError> {
    let mut check = Check::default();
    let (pruned, seal) = audit::pruned(transaction)?;
    if pruned != Link::BEGIN && seal != key.seal(&pruned) {
        check.fault(AuditFault::Beginning(pruned.sequence.saturating_add(1)));
    }
    let mut previous = pruned;
    audit::each(transaction, |entry, hmac| {
        check.verdict.rows += 1;
        if !is_number(entry.sequence) {
            check.fault(AuditFault::Changed(entry.sequence));
            return Ok(());
        }
        check.verdict.first.get_or_insert(entry.sequence);
        let expected = key.hmac(&previous.hmac, entry.sequence, &entry.row);
        if hmac != Some(expected) {
            let next = previous.sequence.saturating_add(1);
            check.fault(if entry.sequence > next {
                AuditFault::Missing(next, entry.sequence - 1)
            } else {
                AuditFault::Changed(entry.sequence)
            });
        }
        previous = Link {
            sequence: entry.sequence,
            hmac: hmac.unwrap_or(expected),
        };
        Ok(())
    })?;
    let AuditVerdict { rows, .. } = check.verdict;
    check.verdict.last = (rows > 0).then_some(previous.sequence);
    match epoch {
        None => check.fault(AuditFault::NoEpoch),
        Some(epoch) => check.epoch(transaction, epoch, &previous)?,
    }
    Ok(check.verdict)
}

#[derive(Default)]
struct Check {
    verdict: AuditVerdict,
}

impl Check {
    fn epoch(&mut self, transaction: &Transaction<'_>, epoch: &Epoch, last: &Link) -> Result<(), StoreError> {
        let noted = epoch.last.sequence;
        if noted > last.sequence {
            self.fault(AuditFault::CutOff(last.sequence.saturating_add(1), noted));
        } else if audit::hmac_at(transaction, noted)?.is_some_and(|hmac| hmac != epoch.last.hmac) {
            self.fault(AuditFault::Another(noted));
        }
        let revocations = meta::revocations(transaction)?;
        if revocations < epoch.revocations {
            self.fault(AuditFault::Revocations(revocations, epoch.revocations));
        }
        Ok(())
    }

    fn fault(&mut self, fault: AuditFault) {
        self.verdict.fault_count += 1;
        if self.verdict.faults.len() < NAMED {
            self.verdict.faults.push(fault);
        }
    }
}

/// Whether a row can have this number: they begin with one, and a negative one is read as one that SQL has not.
fn is_number(sequence: u64) -> bool {
    i64::try_from(sequence).is_ok_and(|number| number > 0)
}

/// Faults that are named one by one; all are counted.
const NAMED: usize = 100;
