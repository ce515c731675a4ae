//! What the local terminal sends for keys and pastes while it shows pictures.

use std::{io::Write, sync::PoisonError};

use protocol::attach::Mode;

use super::{Filter, Painter};

impl<W: Write + Send + 'static> Painter<W> {
    /// The bytes that have what a writer types arrive as the program asked for it; none where that is so already. Who only
    /// views types nothing.
    pub(super) fn take_key_modes(&mut self) -> Vec<u8> {
        let wanted = match self.place.mode {
            Mode::Write => self.screen.key_modes(),
            Mode::View | Mode::Lossless => Vec::new(),
        };
        if wanted == self.key_modes {
            return Vec::new();
        }
        let mut modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = modes.begin_anew();
        Filter::default().pass(&wanted, &mut modes, &mut bytes);
        self.key_modes = wanted;
        bytes
    }
}
