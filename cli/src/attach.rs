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

use protocol::{
    attach::{Hello, Mode, ServerMessage},
    sessions::Exit,
};
use tokio::sync::mpsc;

use self::{
    attached::{Attached, send_all},
    local::LocalTerminal,
    modes::Modes,
    painter::{Painter, Place, Stage},
};
use crate::{
    attachment::{self, Begin},
    client::Client,
    escape::escape,
    failure::Failure,
};

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
    let (outgoing, mut incoming) = attachment::attach(client, session, mode, begin).await?;
    let ServerMessage::Hello(hello) = incoming.next().await? else {
        return Err(Failure::lost("the daemon did not say what this is attached to"));
    };
    let stage = match begin {
        Begin::Screen => Stage::Alternate,
        Begin::Output => Stage::Primary,
    };
    let modes = Arc::new(Mutex::new(Modes::default()));
    let terminal = LocalTerminal::enter(Arc::clone(&modes))?;
    let (say, to_daemon) = mpsc::unbounded_channel();
    let sending = tokio::spawn(send_all(outgoing, to_daemon));
    let painter = Painter::new(
        local::Screen,
        modes,
        Place::of(&hello, terminal.size(), stage),
        say.clone(),
    );
    let (jobs, painting) = painter.spawn(notice(&hello));
    let mut attached = Attached::new(mode, terminal, say, jobs)?;
    let end = attached.follow(&mut incoming).await;
    attached.leave(painting, &end).await;
    // The goodbye is sent behind whatever was typed last.
    sending.await.ok();
    end
}

/// How to leave, and who else is there: the words over the first screen.
fn notice(hello: &Hello) -> String {
    let leave = match hello.mode {
        Mode::Write => "Ctrl-\\ then d detaches",
        Mode::View | Mode::Lossless => "Ctrl-\\ then d, or Ctrl-C, detaches",
    };
    let others = [
        count(
            hello.viewers.saturating_sub(u32::from(hello.mode != Mode::Write)),
            "views",
            "view",
        ),
        count(
            hello.writers.saturating_sub(u32::from(hello.mode == Mode::Write)),
            "may type",
            "may type",
        ),
    ];
    let others: Vec<String> = others.into_iter().flatten().collect();
    if others.is_empty() {
        leave.to_owned()
    } else {
        format!("{leave}; {}", others.join(", "))
    }
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
