//! How large a session's terminal is.

/// Columns and rows of a terminal, each in 1..=1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    columns: u16,
    rows: u16,
}

impl Size {
    /// A size as asked for, each side brought into 1..=1,000.
    #[must_use]
    pub fn new(columns: u16, rows: u16) -> Self {
        Self {
            columns: columns.clamp(1, MAX_SIDE),
            rows: rows.clamp(1, MAX_SIDE),
        }
    }

    /// Cells in a row.
    #[must_use]
    pub const fn columns(self) -> u16 {
        self.columns
    }

    /// Rows on the screen.
    #[must_use]
    pub const fn rows(self) -> u16 {
        self.rows
    }
}

impl Default for Size {
    /// 80 × 24, for a session made by nobody's terminal.
    fn default() -> Self {
        Self {
            columns: 80,
            rows: 24,
        }
    }
}

/// Cells; a larger terminal than anybody's, small enough that a screen's memory is bounded (24 MB).
const MAX_SIDE: u16 = 1_000;

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn a_size_is_within_bounds() {
        assert_eq!((Size::new(0, 0).columns(), Size::new(0, 0).rows()), (1, 1));
        assert_eq!(
            (Size::new(u16::MAX, 24).columns(), Size::new(80, 5_000).rows()),
            (1_000, 1_000)
        );
    }
}
