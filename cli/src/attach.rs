//! Following a session from this terminal, or from a pipe.

mod attached;
mod detach;
mod filter;
mod keyboard;
mod local;
mod modes;
mod painter;
pub(crate) mod plain;

use std::{
    env,
    io::IsTerminal,
    sync::{Arc, Mutex},
};

use ::client::attachment::{Attachment, Begin};
use protocol::{
    attach::{Hello, Mode},
    sessions::Exit,
};

use self::{
    attached::Attached,
    local::LocalTerminal,
    modes::Modes,
    painter::{Painter, Place, Stage},
};
use crate::{client::Client, escape::escape, failure::Failure, output};

/// How following a session ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The program ended.
    Exited(Exit),
    /// The person left; the session goes on.
    Detached,
    /// A signal asked this process to end; the session goes on.
    Signalled(i32),
}

/// Whether a person sits at both ends of this process: only then can a session be followed interactively.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Refuses where no person sits, and inside a session: its keys to leave would be ambiguous, and a session that
/// shows itself never stops drawing.
pub(crate) fn refuse_unless_possible() -> Result<(), Failure> {
    if let Some(session) = env::var_os("TRANSOM_SESSION") {
        let detail = format!(
            "this terminal is inside the session {}",
            escape(&session.to_string_lossy())
        );
        return Err(Failure::usage(
            detail,
            "detach first (Ctrl-\\ then d), or unset TRANSOM_SESSION if that is stale",
        ));
    }
    if is_interactive() {
        return Ok(());
    }
    let hint = "run it in a terminal; in a script, `transom run` passes a program's output on";
    Err(Failure::usage(
        "a session can only be followed from a terminal",
        hint,
    ))
}

/// Follows the session until it ends or the person leaves; the local terminal is as before afterwards.
///
/// # Errors
/// Why it could not be followed to its end.
pub(crate) async fn interactive(
    client: &Client,
    session: &str,
    mode: Mode,
    begin: Begin,
) -> Result<End, Failure> {
    let Attachment {
        hello,
        say,
        events,
        course,
    } = Attachment::open(client.inner(), session, mode, begin, None).await?;
    let stage = match begin {
        Begin::Screen => Stage::Alternate,
        Begin::Output | Begin::Offset(_) => Stage::Primary,
    };
    let modes = Arc::new(Mutex::new(Modes::default()));
    let terminal = LocalTerminal::enter(Arc::clone(&modes))?;
    let painter = Painter::new(
        local::Screen,
        modes,
        Place::of(&hello, terminal.size(), stage),
        say.clone(),
    );
    let (jobs, painting) = painter.spawn(notice(&hello));
    let mut attached = Attached::new(mode, terminal, say, jobs)?;
    let end = attached.follow(events).await;
    attached.leave(painting, &end).await;
    // The goodbye is sent behind whatever was typed last.
    if let Ok(keys @ 1..) = course.await {
        let they = if keys == 1 { "it" } else { "they" };
        output::note(&format!("{}; {they} may be lost", unconfirmed(keys)));
    }
    end
}

/// That nobody knows whether the program got so many keys.
fn unconfirmed(keys: usize) -> String {
    match keys {
        1 => "1 key was not confirmed".to_owned(),
        keys => format!("{keys} keys were not confirmed"),
    }
}

/// How to leave, and who else is there: the words over the first screen.
fn notice(hello: &Hello) -> String {
    let leave = match hello.mode {
        Mode::Write => "Ctrl-\\ then d detaches",
        Mode::View | Mode::Lossless => "Ctrl-\\ then d, or Ctrl-C, detaches",
    };
    match others(hello.mode, hello.viewers, hello.writers) {
        Some(others) => format!("{leave}; {others}"),
        None => leave.to_owned(),
    }
}

/// Who else is there, of so many in all.
fn others(mode: Mode, viewers: u32, writers: u32) -> Option<String> {
    let others = [
        count(
            viewers.saturating_sub(u32::from(mode != Mode::Write)),
            "views",
            "view",
        ),
        count(
            writers.saturating_sub(u32::from(mode == Mode::Write)),
            "may type",
            "may type",
        ),
    ];
    let others: Vec<String> = others.into_iter().flatten().collect();
    (!others.is_empty()).then(|| others.join(", "))
}

fn count(others: u32, one: &str, many: &str) -> Option<String> {
    match others {
        0 => None,
        1 => Some(format!("1 other {one}")),
        others => Some(format!("{others} others {many}")),
    }
}

#[cfg(test)]
mod tests {
    use protocol::{
        attach::{Hello, Mode},
        sessions::Size,
    };

    use super::notice;

    fn hello(mode: Mode, viewers: u32, writers: u32) -> Hello {
        let size = Size {
            columns: 80,
            rows: 24,
        };
        let [session, name, instance, life] = ["ses_1", "build", "i", "l"].map(str::to_owned);
        Hello {
            session,
            name,
            size,
            mode,
            offset: 0,
            instance,
            life,
            viewers,
            writers,
            input_applied: None,
        }
    }

    #[test]
    fn the_notice_says_who_else_is_there_and_how_to_leave() {
        assert_eq!(
            notice(&hello(Mode::Write, 2, 2)),
            "Ctrl-\\ then d detaches; 2 others view, 1 other may type"
        );
        assert_eq!(
            notice(&hello(Mode::View, 1, 0)),
            "Ctrl-\\ then d, or Ctrl-C, detaches"
        );
    }
}
