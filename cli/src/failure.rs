//! What went wrong, for a person, for a script, and as an exit code.

mod of_client;

use std::{error::Error, fmt, io};

use ::client::{MayPass, Place};
use certs::{SpkiPin, WrongPin};
use protocol::Problem;

use crate::{escape::escape, exit, output, remote, stopped};

/// Why a verb did not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Who read our output went away: nothing to say, and no failure.
    ClosedPipe,
    /// Anything else, with its exit code.
    Problem {
        /// The exit code.
        exit: u8,
        /// What happened and what to do now, as on the wire.
        problem: Box<Problem>,
    },
}

/// An error with its causes, each said once.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut detail = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !detail.contains(&words) {
            detail = format!("{detail}: {words}");
        }
        cause = error.source();
    }
    detail
}

impl Failure {
    /// The operation failed.
    pub(crate) fn failed(code: &str, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        let status = match code {
            "not_found" | "session_gone" => 404,
            "session_deleted" => 410,
            "ambiguous" | "not_deleted" | "way_is_shut" => 409,
            _ => 500,
        };
        Self::with(exit::FAILED, Problem::new(status, code, detail, hint))
    }

    /// What was asked for cannot be.
    pub(crate) fn usage(detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::with(exit::USAGE, Problem::new(400, "usage", detail, hint))
    }

    /// The configuration cannot be used.
    pub(crate) fn configuration(detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::with(
            exit::BAD_CONFIGURATION,
            Problem::new(500, "bad_configuration", detail, hint),
        )
    }

    /// Nobody listens at the socket: start a daemon.
    pub(crate) fn unreachable(place: &Place) -> Self {
        let (detail, hint) = match place {
            Place::Socket(_) => (
                format!("no daemon runs at {place}"),
                "start it with `transom up`; if it runs elsewhere, set TRANSOM_DIR as it was started",
            ),
            Place::Remote { .. } => (format!("nobody answers at {place}"), remote::AWAY),
        };
        Self::with(exit::UNREACHABLE, Problem::new(503, "unreachable", detail, hint))
    }

    /// The daemon was there and is not any more.
    pub(crate) fn lost(detail: impl Into<String>) -> Self {
        let hint = "`transom status` tells whether a daemon runs, `transom up` starts one";
        Self::with(
            exit::UNREACHABLE,
            Problem::new(503, "connection_lost", detail, hint),
        )
    }

    /// It is there and does not answer: ask again.
    pub(crate) fn timed_out(detail: impl Into<String>) -> Self {
        let hint = "it is busy: ask again in a moment; its log says what holds it up";
        Self::with(exit::TIMED_OUT, Problem::new(504, "timed_out", detail, hint))
    }

    /// The socket is another user's.
    pub(crate) fn not_permitted(place: &Place) -> Self {
        let detail = format!("the socket {place} does not let you in: it is another user's");
        let hint = "run this as the user whose daemon it is, or unset TRANSOM_DIR to use your own";
        Self::with(
            exit::NOT_PERMITTED,
            Problem::new(403, "socket_not_permitted", detail, hint),
        )
    }

    /// The daemon does not know the credential, or not any more.
    pub(crate) fn rejected_token() -> Self {
        let detail = "the daemon rejected the token: it is unknown, expired or revoked";
        let hint = "pair this device again; trying again does not help";
        Self::with(exit::NOT_PERMITTED, Problem::new(401, "revoked", detail, hint))
    }

    /// What the daemon answered.
    pub(crate) fn answered(problem: Problem) -> Self {
        let exit = match problem.status {
            401 | 403 => exit::NOT_PERMITTED,
            408 | 504 => exit::TIMED_OUT,
            _ if problem.code == "bad_configuration" => exit::BAD_CONFIGURATION,
            _ => exit::FAILED,
        };
        Self::with(exit, problem)
    }

    /// The key of the daemon is not the one that was pinned.
    fn wrong_pin(detail: String) -> Self {
        let problem = Problem::new(403, "wrong_pin", detail, remote::CHANGED);
        Self::with(exit::NOT_PERMITTED, problem)
    }

    /// What is told to be the key of a daemon is not the one that was agreed to.
    pub(crate) fn wrong_key(place: &str, expected: SpkiPin, seen: SpkiPin) -> Self {
        let (place, wrong) = (Place::unnamed(place), WrongPin { expected, seen });
        ::client::Error::WrongPin { place, wrong }.into()
    }

    /// What kept a connection from being made, or ended it before the answer.
    pub(crate) fn connecting(place: &Place, error: &(dyn Error + 'static)) -> Self {
        ::client::Error::connecting(place, error).into()
    }

    /// Nothing came back in time.
    pub(crate) fn no_answer(place: &Place) -> Self {
        if let Place::Socket(socket) = place
            && let Some(pid) = stopped::process(socket)
        {
            return Self::stopped(place, pid);
        }
        let detail = format!("the daemon at {place} did not answer in time");
        let problem = Problem::new(504, "timed_out", detail, HUNG);
        Self::with(exit::TIMED_OUT, problem).with_hint_for(place, remote::SLOW)
    }

    /// Nothing comes back from a process that does not run.
    fn stopped(place: &Place, pid: u32) -> Self {
        let detail = format!("the daemon at {place} was stopped (process {pid}): it answers once it goes on");
        let hint = format!(
            "`kill -CONT {pid}` has it go on; `transom restart --force` starts another in its place, and sessions go on"
        );
        Self::with(exit::TIMED_OUT, Problem::new(504, "timed_out", detail, hint))
    }

    /// The same with another hint, if it is about a remote.
    fn with_hint_for(mut self, place: &Place, hint: &str) -> Self {
        if let (Self::Problem { problem, .. }, Place::Remote { .. }) = (&mut self, place) {
            hint.clone_into(&mut problem.hint);
        }
        self
    }

    /// Whether no daemon is there at all.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Problem { problem, .. } if problem.code == "unreachable")
    }

    /// Whether the daemon may be there, and does not answer.
    pub(crate) fn is_timed_out(&self) -> bool {
        matches!(self, Self::Problem { problem, .. } if problem.code == "timed_out")
    }

    /// Whether the way to the daemon failed, not what was asked: the same may work in a moment.
    pub(crate) fn is_about_the_link(&self) -> bool {
        let codes = [
            "unreachable",
            "connection_lost",
            "timed_out",
            "too_many_connections",
            "ssh_unreachable",
            "no_daemon_there",
            "no_listener_there",
        ];
        matches!(self, Self::Problem { problem, .. } if codes.contains(&problem.code.as_str()))
    }

    /// Whether who asks was not known, or not any more.
    pub(crate) fn is_rejection(&self) -> bool {
        matches!(self, Self::Problem { problem, .. }
            if problem.status == 401 || problem.code == "too_many_failures")
    }

    /// Whether the daemon knows who asks, and says that they may not.
    pub(crate) fn is_lack_of_permission(&self) -> bool {
        matches!(self, Self::Problem { problem, .. } if problem.code == "not_permitted")
    }

    /// Whether no proof and no other try can help who was rejected.
    pub(crate) fn is_final_rejection(&self) -> bool {
        let codes = ["revoked", "expired"];
        matches!(self, Self::Problem { problem, .. } if codes.contains(&problem.code.as_str()))
    }

    /// Says it, and gives the exit code.
    pub(crate) fn report(self, json: bool) -> u8 {
        let Self::Problem { exit, problem } = self else {
            return exit::OK;
        };
        if json {
            return output::json(&problem).map_or_else(|failure| failure.report(false), |()| exit);
        }
        output::error(&escape(&problem.detail));
        match &problem.request_id {
            // The log has more about the daemon's own faults than their sentence.
            Some(id) if problem.status >= 500 => {
                output::hint(&escape(&format!("{} (request {id})", problem.hint)));
            }
            _ if problem.hint.is_empty() => {}
            _ => output::hint(&escape(&problem.hint)),
        }
        exit
    }

    fn with(exit: u8, problem: Problem) -> Self {
        Self::Problem {
            exit,
            problem: Box::new(problem),
        }
    }
}

impl MayPass for Failure {
    fn is_about_the_link(&self) -> bool {
        Self::is_about_the_link(self)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClosedPipe => formatter.write_str("who read this went away"),
            Self::Problem { problem, .. } => formatter.write_str(&problem.detail),
        }
    }
}

/// So that it passes through the crate `client`, where it was met in what this gives to that.
impl Error for Failure {}

impl From<io::Error> for Failure {
    /// A local read or write that failed.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::failed(
            "local_io",
            format!("reading or writing failed here: {error}"),
            "look at the disk and the terminal",
        )
    }
}

/// What to do where this machine's own daemon does not answer.
const HUNG: &str = "it is busy: ask again in a moment; where that does not help, `transom restart --force` starts it again, \
                    and sessions go on";

#[cfg(test)]
mod tests {
    use std::{io, path::Path};

    use protocol::Problem;

    use super::Failure;
    use ::client::Place;

    fn socket() -> Place {
        Place::from(Path::new("/s"))
    }

    fn parts(failure: Failure) -> (u8, Problem) {
        match failure {
            Failure::Problem { exit, problem } => (exit, *problem),
            Failure::ClosedPipe => panic!("a closed pipe has no parts"),
        }
    }

    fn connecting(kind: io::ErrorKind) -> (u8, String) {
        let (exit, problem) = parts(Failure::connecting(&socket(), &io::Error::from(kind)));
        (exit, problem.code)
    }

    #[test]
    fn the_four_kinds_of_no_answer_are_four_errors_with_four_hints() {
        let all = [
            Failure::unreachable(&socket()),
            Failure::no_answer(&socket()),
            Failure::not_permitted(&socket()),
            Failure::rejected_token(),
        ]
        .map(parts);
        assert_eq!(all.each_ref().map(|(exit, _)| *exit), [3, 5, 4, 4]);
        for (index, (_, one)) in all.iter().enumerate() {
            assert!(
                all[index + 1..]
                    .iter()
                    .all(|(_, other)| one.hint != other.hint && one.code != other.code)
            );
        }
    }

    #[test]
    fn what_keeps_a_connection_from_being_made_is_told_apart() {
        assert_eq!(connecting(io::ErrorKind::NotFound), (3, "unreachable".to_owned()));
        assert_eq!(
            connecting(io::ErrorKind::ConnectionRefused),
            (3, "unreachable".to_owned())
        );
        assert_eq!(
            connecting(io::ErrorKind::PermissionDenied),
            (4, "socket_not_permitted".to_owned())
        );
        assert_eq!(connecting(io::ErrorKind::TimedOut), (5, "timed_out".to_owned()));
        assert_eq!(
            connecting(io::ErrorKind::ConnectionReset),
            (3, "connection_lost".to_owned())
        );
    }

    #[test]
    fn the_daemons_refusals_have_the_exit_codes_of_their_kind() {
        for (status, exit) in [(401, 4), (403, 4), (404, 1), (409, 1), (504, 5)] {
            assert_eq!(
                parts(Failure::answered(Problem::new(status, "x", "d", "h"))).0,
                exit
            );
        }
    }

    #[test]
    fn what_no_daemon_answered_has_the_status_that_would_fit() {
        for (code, status) in [("not_found", 404), ("ambiguous", 409), ("interrupted", 500)] {
            let Failure::Problem { problem, .. } = Failure::failed(code, "d", "h") else {
                panic!("it is a problem");
            };
            assert_eq!(problem.status, status);
        }
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        assert_eq!(
            Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)).report(true),
            0
        );
    }
}
