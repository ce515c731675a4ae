//! Where output goes.

use std::io::{self, IsTerminal, Write};

use protocol::{
    Bytes64,
    sessions::{Exit, Output},
};

use crate::{failure::Failure, tame::Tame};

/// Standard output, and how output is written there.
pub(super) struct Sink {
    to: Box<dyn Write>,
    form: Form,
}

enum Form {
    /// Bytes as they are.
    Bytes,
    /// What a terminal may get of them.
    Terminal(Tame),
    /// Lines of JSON.
    Json,
}

impl Sink {
    /// Standard output, in the form that fits.
    pub(super) fn of_stdout(json: bool) -> Self {
        let form = if json {
            Form::Json
        } else if io::stdout().is_terminal() {
            Form::Terminal(Tame::default())
        } else {
            Form::Bytes
        };
        Self {
            to: Box::new(io::stdout()),
            form,
        }
    }

    /// A place that takes bytes as they are.
    #[cfg(test)]
    pub(super) fn of_bytes(to: impl Write + 'static) -> Self {
        Self {
            to: Box::new(to),
            form: Form::Bytes,
        }
    }

    /// Writes the next piece.
    pub(super) fn piece(&mut self, piece: &Output) -> Result<(), Failure> {
        match &mut self.form {
            Form::Bytes => self.write(&piece.data.0),
            Form::Terminal(tame) => {
                let tamed = tame.pass(&piece.data.0);
                self.write(&tamed)
            }
            Form::Json => {
                let mut line =
                    serde_json::to_vec(piece).expect("wire structs have string keys and finite numbers");
                line.push(b'\n');
                self.write(&line)
            }
        }
    }

    /// Says how the program ended, where there is a place for it.
    pub(super) fn exit(&mut self, end: u64, exit: Exit) -> Result<(), Failure> {
        let Form::Json = self.form else {
            return Ok(());
        };
        self.piece(&Output {
            data: Bytes64(Vec::new()),
            offset: end,
            next_offset: end,
            end,
            truncated: false,
            running: false,
            exit: Some(exit),
        })
    }

    /// Makes the terminal as it was, for a word of ours between.
    pub(super) fn pause(&mut self) {
        // Who reads no more notices at the next piece.
        self.restore(false).ok();
    }

    /// Makes the terminal as it was; after a Ctrl-C that it shows, what follows begins a line.
    pub(super) fn finish(&mut self, interrupted: bool) -> Result<(), Failure> {
        self.restore(interrupted)
    }

    fn restore(&mut self, begins_line: bool) -> Result<(), Failure> {
        let Form::Terminal(tame) = &self.form else {
            return Ok(());
        };
        let mut bytes = tame.restore().to_vec();
        bytes.extend(begins_line.then_some(b'\n'));
        self.write(&bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.to.write_all(bytes)?;
        Ok(self.to.flush()?)
    }
}
