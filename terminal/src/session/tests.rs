//! Sessions with real programs on real terminals.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::{InputError, Session, SessionState};
use crate::attachment::{Attachment, Mode, Start, Update};
use crate::gate::Gate;
use crate::keeper;
use crate::offset::Offset;
use crate::process::Exit;
use crate::size::Size;
use crate::spawn::{Command, DescriptorLimit};

mod attach;
mod flood;
mod input;
mod rebuild;
mod stop;
mod store;
mod stored;

/// Fails a test instead of letting it hang.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("it happens within a minute")
}

fn shell(script: &str) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Command {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        env: vec![("PATH".into(), path), ("TERM".into(), "xterm-256color".into())],
        size: Size::new(40, 10),
        descriptor_limit: None,
    }
}

async fn run(script: &str) -> Session {
    keeper::tests::run(shell(script)).await.unwrap()
}

async fn exit(session: &Session) -> Exit {
    let mut state = session.state();
    let state = *soon(state.wait_for(|state| state.exit().is_some()))
        .await
        .unwrap();
    state.exit().unwrap()
}

/// Everything that a session's program writes, acknowledged as it comes.
async fn read_to_end(mut attachment: Attachment) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(update) = soon(attachment.next()).await {
        if let Update::Output { offset, bytes: more } = update {
            assert_eq!(
                offset,
                Offset(bytes.len() as u64),
                "nothing is lost, doubled or moved"
            );
            bytes.extend(more);
            attachment.acked(Offset(bytes.len() as u64));
        }
    }
    bytes
}

/// Reads until the output contains `text`; returns all output read.
async fn read_until(attachment: &mut Attachment, text: &str) -> String {
    let mut bytes = Vec::new();
    loop {
        match soon(attachment.next()).await {
            Some(Update::Output { bytes: more, .. }) => {
                bytes.extend(more);
                attachment.acked(attachment.offset());
            }
            Some(_) => {}
            None => panic!(
                "the program ended without {text:?}: {:?}",
                String::from_utf8_lossy(&bytes)
            ),
        }
        let seen = String::from_utf8_lossy(&bytes);
        if seen.contains(text) {
            return seen.into_owned();
        }
    }
}

async fn output(script: &str) -> String {
    let session = run(script).await;
    String::from_utf8(read_to_end(session.attach(Mode::Lossless, Start::Screen)).await).unwrap()
}

/// The right to write, until it is taken.
#[derive(Default)]
struct Right {
    is_revoked: AtomicBool,
    passed: AtomicU64,
}

impl Gate for Right {
    fn pass(&self, write: &mut dyn FnMut()) -> bool {
        let may = !self.is_revoked.load(Ordering::SeqCst);
        if may {
            self.passed.fetch_add(1, Ordering::SeqCst);
            write();
        }
        may
    }
}

#[tokio::test]
async fn output_keeps_its_colours() {
    assert_eq!(output(r"printf '\033[31mred\033[0m'").await, "\x1b[31mred\x1b[0m");
}

#[tokio::test]
async fn an_exit_code_is_reported() {
    let exit = exit(&run("exit 7").await).await;
    assert_eq!((exit.code, exit.signal), (Some(7), None));
    assert!(exit.peak_memory_bytes > 100_000, "{exit:?}");
}

#[tokio::test]
async fn a_signal_is_reported() {
    let exit = exit(&run("kill -TERM $$").await).await;
    assert_eq!((exit.code, exit.signal), (None, Some(libc::SIGTERM)));
}

#[tokio::test]
async fn a_late_viewer_sees_the_screen_the_rest_and_the_end() {
    let session = run(r"printf 'x\033[3'; exit 7").await;
    let exit = exit(&session).await;
    let mut attachment = session.attach(Mode::View, Start::Screen);
    let mut text = crate::screen::Emulator::new(session.size());
    let mut last = None;
    while let Some(update) = soon(attachment.next()).await {
        match &update {
            Update::Snapshot(snapshot) => crate::Screen::feed(&mut text, &snapshot.bytes),
            Update::Output { bytes, .. } => crate::Screen::feed(&mut text, bytes),
            _ => {}
        }
        last = Some(update);
    }
    assert_eq!(crate::Screen::text_lines(&text)[0], "x");
    assert_eq!(last, Some(Update::Exit(exit)));
}

#[tokio::test]
async fn a_program_has_the_terminal_as_its_own() {
    let seen = output("stty size; tty </dev/tty; ps -o sid= -p $$ | tr -d ' '; echo $$").await;
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines[0], "10 40");
    assert!(lines[1].starts_with("/dev/"), "{lines:?}");
    assert_eq!(lines[2], lines[3], "it leads its session");
}

#[tokio::test]
async fn a_program_gets_its_environment_and_nothing_else() {
    let mut command = shell("exec env");
    command.env.push(("GREETING".into(), "hello".into()));
    let session = keeper::tests::run(command).await.unwrap();
    let bytes = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    let text = String::from_utf8(bytes).unwrap();
    let ours =
        |line: &&str| !line.starts_with("_=") && !line.starts_with("PWD=") && !line.starts_with("PATH=");
    let mut lines: Vec<&str> = text
        .lines()
        .filter(ours)
        .filter(|line| !line.starts_with("SHLVL="))
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, ["GREETING=hello", "TERM=xterm-256color"]);
}

#[tokio::test]
async fn a_program_inherits_no_descriptor() {
    // Opened without close-on-exec, as a careless library or the daemon's own parent might.
    let leaked = rustix::io::dup(rustix::stdio::stdin()).unwrap();
    let seen = output("ls /proc/self/fd | tr '\\n' ' '").await;
    drop(leaked);
    // The last one is the directory that `ls` reads.
    assert_eq!(seen.trim(), "0 1 2 3");
}

#[tokio::test]
async fn a_program_is_told_the_new_size() {
    let session = run("trap 'stty size; exit 0' WINCH; echo ready; tail -f /dev/null & wait").await;
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    read_until(&mut attachment, "ready").await;
    assert!(session.resize(Size::new(90, 30)));
    assert!(!session.resize(Size::new(90, 30)), "it has that size");
    assert_eq!(session.size(), Size::new(90, 30));
    let offset = match soon(attachment.next()).await {
        Some(Update::Output { .. }) | None => panic!("the size comes before what is written because of it"),
        Some(Update::Size { offset, size }) => {
            assert_eq!(size, Size::new(90, 30));
            offset
        }
        Some(update) => panic!("{update:?}"),
    };
    assert_eq!(offset, attachment.offset());
    read_until(&mut attachment, "30 90").await;
    session.stop().await;
}

#[tokio::test]
async fn what_a_program_writes_for_another_size_is_no_work_whoever_changed_it() {
    let session = run("read line").await;
    assert_eq!(session.shared.journal().disturbed(), None);
    let before = session.time_ms();
    session.resize(Size::new(90, 30));
    assert!(session.shared.journal().disturbed() >= Some(before));
    session.stop().await;
}

#[tokio::test]
async fn a_viewer_gets_the_screen_anew_after_a_change_of_size() {
    let session = run("echo ready; read line").await;
    let mut attachment = session.attach(Mode::View, Start::Offset(Offset::START));
    read_until(&mut attachment, "ready").await;
    session.resize(Size::new(20, 5));
    assert!(matches!(soon(attachment.next()).await, Some(Update::Size { .. })));
    let Some(Update::Snapshot(snapshot)) = soon(attachment.next()).await else {
        panic!("a snapshot follows")
    };
    assert_eq!(snapshot.size, Size::new(20, 5));
    session.stop().await;
}

#[tokio::test]
async fn a_background_process_does_not_delay_the_end() {
    let session = run("tail -f /dev/null & echo done; exit 3").await;
    let exit = exit(&session).await;
    assert_eq!(exit.code, Some(3));
    assert!(exit.duration_ms < 30_000);
    let text = String::from_utf8(read_to_end(session.attach(Mode::Lossless, Start::Screen)).await).unwrap();
    assert_eq!(text, "done\r\n");
    session.stop().await;
}

#[tokio::test]
async fn a_program_that_closed_its_terminal_can_write_to_it_again() {
    let seen =
        output("exec <&- >&- 2>&-; perl -e 'select undef, undef, undef, 0.2'; echo back >/dev/tty").await;
    assert_eq!(seen, "back\r\n");
}

#[tokio::test]
async fn a_question_of_the_program_is_answered_once() {
    let seen =
        output(r"stty raw -echo; printf 'ab\033[6n\033[c'; dd bs=1 count=11 2>/dev/null | od -An -c").await;
    assert!(
        seen.contains("033   [   1   ;   3   R 033   [   ?   6   c"),
        "{seen}"
    );
}

#[tokio::test]
async fn a_synchronized_update_that_never_ends_is_shown_at_last() {
    let session = run(r"printf 'before\033[?2026h after'; read line").await;
    let mut changes = session.changes();
    while session.last_line() != "before after" {
        soon(changes.changed()).await;
    }
    session.stop().await;
}

#[tokio::test]
async fn the_title_and_the_last_line_are_known() {
    let session = run(r"printf '\033]0;working\007one\r\n\r\ntwo \r\n\r\n'").await;
    exit(&session).await;
    let mut changes = session.changes();
    while session.title().is_empty() || session.last_line() != "two" {
        soon(changes.changed()).await;
    }
    assert_eq!(session.title(), "working");
}

#[tokio::test]
async fn a_viewer_that_comes_back_gets_what_it_missed() {
    let session = run("printf 0123456789; exit 0").await;
    exit(&session).await;
    let mut attachment = session.attach(Mode::View, Start::Offset(Offset(4)));
    let missed = Update::Output {
        offset: Offset(4),
        bytes: b"456789".to_vec(),
    };
    assert_eq!(soon(attachment.next()).await, Some(missed));
    assert!(matches!(soon(attachment.next()).await, Some(Update::Exit(_))));
    assert_eq!(soon(attachment.next()).await, None);
}

#[tokio::test]
async fn an_offset_beyond_the_end_gets_a_snapshot() {
    let session = run("printf 0123456789").await;
    exit(&session).await;
    let mut attachment = session.attach(Mode::View, Start::Offset(Offset(11)));
    assert!(matches!(soon(attachment.next()).await, Some(Update::Snapshot(_))));
}

#[tokio::test]
async fn an_ended_session_takes_no_input_and_no_size() {
    let session = run("exit 0").await;
    assert!(matches!(
        *session.state().borrow(),
        SessionState::Running | SessionState::Exited(_)
    ));
    exit(&session).await;
    let writer = session.writer(Arc::new(Right::default()));
    assert_eq!(writer.write(b"x").await, Err(InputError::Exited));
    assert!(!session.resize(Size::new(1, 1)));
    session.stop().await;
}

#[tokio::test]
async fn ignored_and_blocked_signals_are_not_passed_on() {
    // The standard library itself ignores SIGPIPE in this process.
    let seen = output("grep -E 'Sig(Ign|Blk)' /proc/self/status").await;
    let masks = seen
        .split_ascii_whitespace()
        .filter_map(|word| u64::from_str_radix(word, 16).ok());
    // Signals 32 and 33 are the C library's own and cannot be set through it.
    let masks: Vec<u64> = masks.map(|mask| mask & !(0b11 << 31)).collect();
    assert_eq!(masks, [0, 0]);
}

#[tokio::test]
async fn a_former_limit_is_given_back() {
    let mut command = shell("ulimit -Sn; ulimit -Hn");
    command.descriptor_limit = Some(DescriptorLimit {
        soft: Some(100),
        hard: Some(200),
    });
    let session = keeper::tests::run(command).await.unwrap();
    let bytes = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    assert_eq!(bytes, b"100\r\n200\r\n");
}

#[tokio::test]
async fn a_command_shows_no_secret() {
    let mut command = shell("exit");
    command.env.push(("TOKEN".into(), "secret".into()));
    command.args.push("secret".into());
    assert!(!format!("{command:?}").contains("secret"));
}
