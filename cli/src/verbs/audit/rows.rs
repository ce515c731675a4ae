//! Rows of the audit trail for people: 80 columns tell when, who, what and to whom.

use jiff::ZonedDateTime;
use protocol::{access::DeviceRecord, audit::AuditRecord, sessions::Session};
use unicode_width::UnicodeWidthStr;

use crate::{escape::escape, output::STRONG, table::cut, wrap::wrap};

/// What ids are called.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) devices: Vec<DeviceRecord>,
    pub(super) sessions: Vec<Session>,
}

impl Rows {
    /// Rows under their heading.
    pub(super) fn table(&self, rows: &[AuditRecord], now: &ZonedDateTime, width: Option<usize>) -> String {
        let lines = rows.iter().map(|row| self.line(row, now, width));
        std::iter::once(heading(width))
            .chain(lines)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// One row; in several lines where there is a width that it does not fit.
    pub(super) fn line(&self, row: &AuditRecord, now: &ZonedDateTime, width: Option<usize>) -> String {
        let at = row.time.to_zoned_datetime(now.time_zone().clone());
        let is_today = at.date() == now.date();
        let form = if is_today { "%H:%M:%S" } else { "%y-%m-%d %H:%M" };
        let mut facts = Vec::new();
        if row.outcome != "ok" {
            facts.push(row.outcome.as_str());
        }
        facts.extend(row.detail.as_deref());
        let cells = [
            at.strftime(form).to_string(),
            self.called(&row.principal),
            row.action.clone(),
            self.called(&row.target),
            facts.join(": "),
        ];
        laid_out(&cells, width)
    }

    /// The name of a device or session that is known, else the beginning of its id.
    fn called(&self, id: &str) -> String {
        let device = self.devices.iter().find(|device| device.id.to_string() == id);
        if let Some(device) = device {
            return device.label.clone();
        }
        if let Some(session) = self.sessions.iter().find(|session| session.id == id) {
            return session.name.clone();
        }
        match id.split_once('_') {
            Some((_, digits)) if digits.len() == 16 => id[..id.len() - 8].to_owned(),
            _ => id.to_owned(),
        }
    }
}

/// What stands over the rows.
pub(super) fn heading(width: Option<usize>) -> String {
    let names = ["TIME", "WHO", "WHAT", "WHOM", "FACTS"].map(str::to_owned);
    format!("{STRONG}{}{STRONG:#}", laid_out(&names, width))
}

/// Cells in their columns; the last has what is left of the width, or lines of its own below where that is too little.
fn laid_out(cells: &[String; 5], width: Option<usize>) -> String {
    let mut line = String::new();
    for (cell, column) in cells.iter().zip(COLUMNS) {
        let text = cut(&escape(cell), column);
        let blanks = column.saturating_sub(text.width()) + GAP;
        line.push_str(&text);
        line.extend(std::iter::repeat_n(' ', blanks));
    }
    let facts = escape(&cells[COLUMNS.len()]);
    match width {
        Some(width) if line.width() + facts.width() > width => {
            let mut lines = vec![cut(line.trim_end(), width)];
            let indent = COLUMNS[0] + GAP;
            let below = wrap(&facts, width.saturating_sub(indent).max(1), 0);
            lines.extend(
                below
                    .iter()
                    .map(|facts| cut(&format!("{:indent$}{facts}", ""), width)),
            );
            lines.join("\n")
        }
        _ => format!("{line}{facts}").trim_end().to_owned(),
    }
}

/// Columns of time, who, what and whom.
const COLUMNS: [usize; 4] = [14, 12, 20, 12];
const GAP: usize = 2;

#[cfg(test)]
mod tests {
    use protocol::audit::AuditRecord;
    use serde_json::json;

    use super::Rows;

    fn row(outcome: &str, detail: Option<&str>) -> AuditRecord {
        serde_json::from_value(json!({
            "sequence": 7, "time": "2026-11-29T09:00:05Z", "principal": "dev_0123456789abcdef", "peer": "127.0.0.1:1",
            "action": "pairing_requested", "target": "ses_0123456789abcdef", "outcome": outcome, "detail": detail,
        }))
        .unwrap()
    }

    fn line(row: &AuditRecord, now: &str, width: Option<usize>) -> String {
        Rows::default().line(row, &now.parse().unwrap(), width)
    }

    #[test]
    fn a_row_says_when_who_what_and_to_whom_in_80_columns() {
        let now = "2026-11-29T10:00:00[UTC]";
        assert_eq!(
            line(&row("ok", None), now, Some(80)),
            "09:00:05        dev_01234567  pairing_requested     ses_01234567"
        );
        assert_eq!(
            line(&row("not_permitted", Some("write")), now, Some(80)),
            "09:00:05        dev_01234567  pairing_requested     ses_01234567\n                not_permitted: write"
        );
        let long = line(&row("ok", Some(&"a fact ".repeat(20))), now, Some(80));
        assert!(
            long.lines().count() > 2 && long.lines().all(|line| line.chars().count() <= 80),
            "{long}"
        );
        assert!(line(&row("ok", Some("a\u{1b}b")), now, None).ends_with("a\\u{1b}b"));
    }

    #[test]
    fn a_row_of_another_day_says_which() {
        let said = line(&row("ok", None), "2026-12-01T10:00:00[UTC]", None);
        assert!(said.starts_with("26-11-29 09:00  "), "{said}");
    }
}
