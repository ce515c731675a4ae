//! The exit codes, stable and documented.

/// It worked.
pub(crate) const OK: u8 = 0;
/// The operation failed.
pub(crate) const FAILED: u8 = 1;
/// The command line asks for something that cannot be.
pub(crate) const USAGE: u8 = 2;
/// No daemon runs, or it cannot be reached.
pub(crate) const UNREACHABLE: u8 = 3;
/// Not permitted: another user's socket, or a credential that does not allow it.
pub(crate) const NOT_PERMITTED: u8 = 4;
/// No answer in time.
pub(crate) const TIMED_OUT: u8 = 5;
/// The configuration cannot be used.
pub(crate) const BAD_CONFIGURATION: u8 = 64;

/// A program that a signal ended has this plus the signal's number as its code, as in shells.
pub(crate) const SIGNAL_BASE: i32 = 128;

/// What `--help` says about them.
pub(crate) const HELP: &str = "\
Exit codes:
  0   it worked
  1   the operation failed
  2   the command line is wrong, or it needs an answer that nobody can give
  3   no daemon runs, or it cannot be reached
  4   not permitted: another user's daemon, a rejected token, or a remote that shows another key
  5   timed out: the daemon is busy, ask again; or what `wait` waits for did not come in time
  64  the configuration cannot be used
  `run` ends with the program's own code, or 128 and the signal's number.

Errors go to standard error as `error:` and `hint:` lines. With --json the problem object (RFC 9457) \
goes to standard output instead; errors that no daemon answered carry the HTTP status that would fit.

TRANSOM_DIR isolates a daemon: configuration, state and sockets are then all in that folder. \
TRANSOM_REMOTE names a remote for every verb that --on takes.";

/// The code with which a program's end is passed on: its own, or 128 and the signal.
pub(crate) fn of_program(exit: &protocol::sessions::Exit) -> u8 {
    let code = match (exit.code, exit.signal) {
        (Some(code), _) => code & 0xff,
        (None, Some(signal)) => SIGNAL_BASE + signal,
        (None, None) => i32::from(FAILED),
    };
    u8::try_from(code).unwrap_or(FAILED)
}

/// How a program ended, as the rest of a sentence that begins with its session's name.
pub(crate) fn in_words(exit: &protocol::sessions::Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by {}", of_signal(signal)),
        (None, None) => "ended, and nobody knows how".to_owned(),
    }
}

/// The signal's name (signal(7)), or its number where that has none.
pub(crate) fn of_signal(signal: i32) -> String {
    let name = SIGNALS.iter().find(|(number, _)| *number == signal);
    name.map_or_else(|| format!("signal {signal}"), |(_, name)| format!("SIG{name}"))
}

/// The signals that end programs, with the numbers that they have on every architecture we run on.
const SIGNALS: [(i32, &str); 14] = [
    (1, "HUP"),
    (2, "INT"),
    (3, "QUIT"),
    (4, "ILL"),
    (5, "TRAP"),
    (6, "ABRT"),
    (7, "BUS"),
    (8, "FPE"),
    (9, "KILL"),
    (11, "SEGV"),
    (13, "PIPE"),
    (14, "ALRM"),
    (15, "TERM"),
    (24, "XCPU"),
];

#[cfg(test)]
mod tests {
    use protocol::sessions::Exit;

    use super::{in_words, of_program};

    #[test]
    fn an_end_is_told_in_words() {
        assert_eq!(in_words(&exit(Some(7), None)), "ended with exit code 7");
        assert_eq!(in_words(&exit(None, Some(9))), "was ended by SIGKILL");
        assert_eq!(in_words(&exit(None, Some(40))), "was ended by signal 40");
    }

    fn exit(code: Option<i32>, signal: Option<i32>) -> Exit {
        Exit {
            code,
            signal,
            duration_ms: 0,
            peak_memory_bytes: 0,
        }
    }

    #[test]
    fn a_programs_own_code_is_passed_on() {
        assert_eq!(of_program(&exit(Some(0), None)), 0);
        assert_eq!(of_program(&exit(Some(7), None)), 7);
        assert_eq!(of_program(&exit(Some(255), None)), 255);
    }

    #[test]
    fn a_signal_is_passed_on_as_shells_do() {
        assert_eq!(of_program(&exit(None, Some(9))), 137);
    }

    #[test]
    fn an_end_that_nobody_knows_is_never_passed_on_as_success() {
        assert_eq!(of_program(&exit(None, None)), 1);
    }
}
