//! One cell of the grid, in eight bytes.

/// A character or a cluster of one and the marks that join it, how wide it is, and the number of its style.
///
/// Bits 0 to 20 hold the character, or the number of the cluster; 32 to 63 the style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell(u64);

impl Cell {
    /// A cell of a fresh screen.
    pub(super) const BLANK: Self = Self(b' ' as u64);

    /// A character of one cell.
    pub(super) fn new(character: char, style: u32) -> Self {
        Self(u64::from(character) | u64::from(style) << STYLE)
    }

    /// Another character with this cell's style; the inner loop of printing.
    #[inline]
    pub(super) fn with_ascii(self, byte: u8) -> Self {
        Self(self.0 & !0xffff_ffff | u64::from(byte))
    }

    /// The left half of a wide character.
    pub(super) fn wide(character: char, style: u32) -> Self {
        Self(Self::new(character, style).0 | WIDE)
    }

    /// The right half of a wide character.
    pub(super) fn half(style: u32) -> Self {
        Self(Self::new(' ', style).0 | HALF)
    }

    /// The last cell of a row, left blank because a wide character did not fit.
    pub(super) fn leader(style: u32) -> Self {
        Self(Self::new(' ', style).0 | LEADER)
    }

    /// The same cell with a cluster in place of its character.
    pub(super) fn with_cluster(self, cluster: u32) -> Self {
        Self(self.0 & !CHARACTER | u64::from(cluster) & CHARACTER | CLUSTER)
    }

    /// The character, unless it is a cluster.
    pub(super) fn character(self) -> Option<char> {
        if self.0 & CLUSTER != 0 {
            return None;
        }
        char::from_u32((self.0 & CHARACTER) as u32)
    }

    /// The number of the cluster, if it is one.
    pub(super) fn cluster(self) -> Option<u32> {
        (self.0 & CLUSTER != 0).then_some((self.0 & CHARACTER) as u32)
    }

    /// The number of the style.
    pub(super) fn style(self) -> u32 {
        (self.0 >> STYLE) as u32
    }

    /// Whether this is the left half of a wide character.
    pub(super) fn is_wide(self) -> bool {
        self.0 & WIDE != 0
    }

    /// Whether this is the right half of a wide character.
    pub(super) fn is_half(self) -> bool {
        self.0 & HALF != 0
    }

    /// Whether this was left blank because a wide character did not fit; with a mark it is no blank any more.
    pub(super) fn is_leader(self) -> bool {
        self.0 & (LEADER | CLUSTER) == LEADER
    }

    /// Whether this shows nothing but its style.
    pub(super) fn is_space(self) -> bool {
        self.0 & (CHARACTER | CLUSTER) == u64::from(b' ')
    }

    /// The cell once its other half is gone: a blank where a wide character was, else the cell as it is.
    pub(super) fn mended(self) -> Self {
        if self.is_wide() {
            Self::new(' ', self.style())
        } else {
            Self(self.0 & !HALF)
        }
    }

    /// The cell without the sign that a wide character did not fit.
    pub(super) fn without_leader(self) -> Self {
        Self(self.0 & !LEADER)
    }

    /// All bits of cells together: below 128 if all of them are ASCII without a style.
    pub(super) fn union(cells: &[Self]) -> u64 {
        cells.iter().fold(0, |all, cell| all | cell.0)
    }

    /// The lowest byte of the character.
    pub(super) fn byte(self) -> u8 {
        (self.0 & 0xff) as u8
    }

    /// Whether character and width are those of one ASCII character.
    pub(super) fn is_ascii(self) -> bool {
        self.0 & 0xffff_ffff < 0x80
    }
}

/// The number of a cluster has as many bits as a character.
pub(super) const MAX_CLUSTERS: usize = 1 << 21;
const CHARACTER: u64 = (1 << 21) - 1;
const CLUSTER: u64 = 1 << 21;
const WIDE: u64 = 1 << 22;
const HALF: u64 = 1 << 23;
const LEADER: u64 = 1 << 24;
const STYLE: u32 = 32;
