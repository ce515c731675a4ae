//! Typing by request: text, bytes and keys, each through a writer that asks the permit again.

use std::{sync::Arc, time::Duration};

use pairing::{Permit, Write};
use protocol::sessions::{Input, Session};
use server::peer::Peer;
use terminal::{InputError, Size, Writer};
use tokio::time::timeout;

use super::{
    Handle, SessionError,
    handle::PermitGate,
    keys::{self, KeyModes},
    paste, typed,
};

impl Handle {
    /// Types text or bytes, and Enter behind it where that is asked for.
    ///
    /// # Errors
    /// [`SessionError`], with nothing typed, or [`SessionError::InputStuck`] with a part of it.
    pub(crate) async fn input(
        &self,
        permit: Permit<Write>,
        peer: &Peer,
        input: Input,
    ) -> Result<(), SessionError> {
        self.at_hand(&permit)?;
        let mut bytes = match (input.text, input.data) {
            (Some(text), None) => {
                let engine = self.record.engine()?;
                engine.rebuilt().await;
                let has_brackets = self
                    .record
                    .engine()?
                    .look(|screen| screen.wants_bracketed_paste());
                paste::typed(&text, has_brackets)
            }
            (None, Some(data)) => data.0,
            _ => return Err(SessionError::AmbiguousInput),
        };
        if input.enter {
            bytes.push(b'\r');
        }
        self.type_in(permit, peer, bytes).await
    }

    /// Presses keys by name.
    ///
    /// # Errors
    /// As for [`Self::input`]; one unknown name, and none is pressed.
    pub(crate) async fn press(
        &self,
        permit: Permit<Write>,
        peer: &Peer,
        names: &[String],
    ) -> Result<(), SessionError> {
        self.at_hand(&permit)?;
        let engine = self.record.engine()?;
        engine.rebuilt().await;
        let modes = engine.look(|screen| KeyModes {
            application_cursor: screen.application_cursor_keys(),
            application_keypad: screen.application_keypad(),
        });
        let bytes = keys::encode(names, modes)?;
        self.type_in(permit, peer, bytes).await
    }

    /// Gives the session another size; who holds the claim gives it theirs when that changes next.
    ///
    /// # Errors
    /// [`SessionError::ProgramEnded`] where nothing is there to be resized.
    pub(crate) fn resize(&self, permit: &Permit<Write>, size: Size) -> Result<Session, SessionError> {
        self.at_hand(permit)?;
        if !self.record.is_running() {
            return Err(SessionError::ProgramEnded);
        }
        let _hold = permit.hold().ok_or(SessionError::Ended)?;
        self.record.engine()?.resize(size);
        // No output comes of it by itself.
        self.record.revise(|_| ());
        Ok(self.record.show())
    }

    /// Types bytes as those of an attachment are: one of which the terminal makes an interrupt reaches the program also where
    /// that reads nothing, and takes with it what stands before it, as the terminal does (termios(3), ISIG).
    async fn type_in(&self, permit: Permit<Write>, peer: &Peer, bytes: Vec<u8>) -> Result<(), SessionError> {
        if !self.record.is_running() {
            return Err(SessionError::ProgramEnded);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let store = &self.sessions.shared.store;
        self.typed_by(permit.principal().device_id());
        typed::count(&self.record, store, permit.principal(), peer, bytes.len()).await?;
        if !permit.is_current() {
            return Err(SessionError::Ended);
        }
        let writer = self.record.engine()?.writer(Arc::new(PermitGate(permit)));
        let given = bytes.len();
        match timeout(MAX_WAIT, write(&writer, bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(InputError::Exited)) => Err(SessionError::ProgramEnded),
            Ok(Err(InputError::Malformed)) => Err(SessionError::TooLarge {
                what: "bytes of input",
                given,
                most: MAX_INPUT,
            }),
            Err(_full) => {
                writer.discard();
                Err(SessionError::InputStuck)
            }
        }
    }
}

async fn write(writer: &Writer, bytes: Vec<u8>) -> Result<(), InputError> {
    // The writer is this request's own, hence nothing came before.
    match writer.take_in(FIRST, bytes)? {
        Some(input) => writer.queue(&input).await,
        None => Ok(()),
    }
}

/// The number of a client's first input.
const FIRST: u64 = 1;

/// Bytes of one input, as a terminal's writer takes it.
const MAX_INPUT: usize = 8 * 1024 * 1024 - 1;

/// A program that takes no input for so long is not going to take this one.
const MAX_WAIT: Duration = Duration::from_secs(5);
