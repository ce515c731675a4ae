//! The states of the parser: the transitions of the `vte` crate (Paul Williams' ANSI parser, 7-bit controls).

/// Where a parser stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// Between sequences.
    #[default]
    Ground,
    Escape,
    EscapeIntermediate,
    /// In a control sequence, whether or not it is a valid one.
    Control,
    /// In an operating system command.
    Command,
    DeviceEntry,
    DeviceParameter,
    DeviceIntermediate,
    /// In a device control string that is not valid.
    DeviceIgnore,
    /// In a device control string's data.
    Device,
    /// In a string that is ignored (SOS, PM, APC).
    Ignored,
}

impl State {
    /// Where the parser stands after one more byte. In [`State::Ground`] every byte but ESC is text.
    pub(super) fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (_, 0x1b) => Self::Escape,
            (_, 0x18 | 0x1a) | (Self::Command, 0x07) | (Self::Device, 0x9c) => Self::Ground,
            (Self::Escape, _) => Self::after_escape(byte),
            (Self::EscapeIntermediate, 0x30..=0x7e) | (Self::Control, 0x40..=0x7e) => Self::Ground,
            (Self::DeviceEntry | Self::DeviceParameter, 0x20..=0x2f) => Self::DeviceIntermediate,
            (Self::DeviceEntry, 0x30..=0x3f) => Self::DeviceParameter,
            (Self::DeviceParameter, 0x3c..=0x3f) | (Self::DeviceIntermediate, 0x30..=0x3f) => {
                Self::DeviceIgnore
            }
            (Self::DeviceEntry | Self::DeviceParameter | Self::DeviceIntermediate, 0x40..=0x7e) => {
                Self::Device
            }
            (state, _) => state,
        }
    }

    fn after_escape(byte: u8) -> Self {
        match byte {
            0x20..=0x2f => Self::EscapeIntermediate,
            b'P' => Self::DeviceEntry,
            b'X' | b'^' | b'_' => Self::Ignored,
            b'[' => Self::Control,
            b']' => Self::Command,
            0x30..=0x7e => Self::Ground,
            _ => Self::Escape,
        }
    }

    /// Where a parser that keeps nothing of a too long sequence goes on.
    pub(super) fn given_up(self) -> Self {
        match self {
            Self::Escape => Self::EscapeIntermediate,
            Self::DeviceEntry | Self::DeviceParameter | Self::DeviceIntermediate => Self::DeviceIgnore,
            state => state,
        }
    }

    /// What brings a parser into this state so that the rest of the sequence has no effect.
    pub(super) fn opener(self) -> &'static [u8] {
        match self {
            Self::Ground => b"",
            Self::Escape | Self::EscapeIntermediate => b"\x1b   ",
            Self::Control => b"\x1b[1<",
            // A number that no terminal knows.
            Self::Command => b"\x1b]99999;",
            Self::DeviceEntry | Self::DeviceParameter | Self::DeviceIntermediate | Self::DeviceIgnore => {
                b"\x1bP1<"
            }
            // A final byte that no terminal knows.
            Self::Device => b"\x1bPz",
            Self::Ignored => b"\x1b_",
        }
    }

    /// Whether controls in such a sequence have their effect at once.
    pub(super) fn executes_controls(self) -> bool {
        matches!(self, Self::Escape | Self::EscapeIntermediate | Self::Control)
    }
}
