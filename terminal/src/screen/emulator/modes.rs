//! The modes of a terminal.

/// Modes that are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Modes(u32);

impl Modes {
    pub(super) const APP_CURSOR: Self = Self(1);
    pub(super) const ORIGIN: Self = Self(1 << 1);
    pub(super) const MOUSE_CLICK: Self = Self(1 << 2);
    pub(super) const MOUSE_DRAG: Self = Self(1 << 3);
    pub(super) const MOUSE_MOTION: Self = Self(1 << 4);
    pub(super) const FOCUS: Self = Self(1 << 5);
    pub(super) const UTF8_MOUSE: Self = Self(1 << 6);
    pub(super) const SGR_MOUSE: Self = Self(1 << 7);
    pub(super) const BRACKETED_PASTE: Self = Self(1 << 8);
    pub(super) const SHOW_CURSOR: Self = Self(1 << 9);
    pub(super) const ALTERNATE_SCROLL: Self = Self(1 << 10);
    pub(super) const URGENCY_HINTS: Self = Self(1 << 11);
    pub(super) const LINE_WRAP: Self = Self(1 << 12);
    pub(super) const INSERT: Self = Self(1 << 13);
    pub(super) const NEW_LINE: Self = Self(1 << 14);
    pub(super) const APP_KEYPAD: Self = Self(1 << 15);

    /// The mode of a number that DECSET takes, with those that exclude it.
    pub(super) fn private(number: u16) -> Option<(Self, Self)> {
        let none = Self(0);
        let mouse = Self(Self::MOUSE_CLICK.0 | Self::MOUSE_DRAG.0 | Self::MOUSE_MOTION.0);
        Some(match number {
            1 => (Self::APP_CURSOR, none),
            6 => (Self::ORIGIN, none),
            7 => (Self::LINE_WRAP, none),
            25 => (Self::SHOW_CURSOR, none),
            1000 => (Self::MOUSE_CLICK, mouse),
            1002 => (Self::MOUSE_DRAG, mouse),
            1003 => (Self::MOUSE_MOTION, mouse),
            1004 => (Self::FOCUS, none),
            1005 => (Self::UTF8_MOUSE, Self::SGR_MOUSE),
            1006 => (Self::SGR_MOUSE, Self::UTF8_MOUSE),
            1007 => (Self::ALTERNATE_SCROLL, none),
            1042 => (Self::URGENCY_HINTS, none),
            2004 => (Self::BRACKETED_PASTE, none),
            _ => return None,
        })
    }

    /// The mode of a number that SM takes.
    pub(super) fn ansi(number: u16) -> Option<Self> {
        match number {
            4 => Some(Self::INSERT),
            20 => Some(Self::NEW_LINE),
            _ => None,
        }
    }

    pub(super) fn has(self, mode: Self) -> bool {
        self.0 & mode.0 != 0
    }

    pub(super) fn set(&mut self, mode: Self, on: bool) {
        if on {
            self.0 |= mode.0;
        } else {
            self.0 &= !mode.0;
        }
    }
}

impl Default for Modes {
    fn default() -> Self {
        Self(Self::SHOW_CURSOR.0 | Self::ALTERNATE_SCROLL.0 | Self::URGENCY_HINTS.0 | Self::LINE_WRAP.0)
    }
}

/// How the cursor looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CursorStyle {
    pub(super) shape: Shape,
    pub(super) is_blinking: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Shape {
    #[default]
    Block,
    Underline,
    Beam,
}
