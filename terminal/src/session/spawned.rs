//! A session whose program was just started, of which nobody else knows yet.

use super::run::Watched;
use super::{Options, SMALLEST, Session};
use crate::id::SessionId;
use crate::keeper::{Held, Keeper};
use crate::spawn::{Command, SpawnError};

impl Session {
    /// Starts a program on a terminal of its own, under a keeper. Must be called on a tokio runtime with time and IO.
    ///
    /// # Errors
    /// When the working directory or the program does not exist or may not be used, said by name, or when the
    /// system has no process or terminal left. Nothing is running then.
    pub async fn spawn(
        keeper: &Keeper,
        id: SessionId,
        command: Command,
        options: Options,
    ) -> Result<Self, SpawnError> {
        let held = keeper
            .spawn(command, id, options.scrollback_memory.max(SMALLEST))
            .await?;
        Self::adopt_new(keeper, held, options).await
    }

    /// Takes over a program that a keeper has just started for this. Must be called on a tokio runtime with time and IO.
    ///
    /// # Errors
    /// When its terminal cannot be watched. It is ended then, and the keeper has forgotten it.
    pub async fn adopt_new(keeper: &Keeper, held: Held, options: Options) -> Result<Self, SpawnError> {
        let source = match Watched::of(&held) {
            Ok(watched) => return Ok(Self::begin(held, watched, options)),
            Err(source) => source,
        };
        // Nobody else knows of it.
        held.tree.kill().await;
        keeper.forget(held.id).await.ok();
        Err(SpawnError::System {
            what: "watch the program",
            source,
        })
    }
}
