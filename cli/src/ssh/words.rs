//! Why a way over SSH failed, by what `ssh` said: its words are the same in every language, and its exit code is one for all.

use protocol::Problem;

use super::Far;
use crate::{exit, failure::Failure};

/// There is no `ssh` here, or it cannot be started.
pub(super) fn not_started(error: &std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::NotFound => failure(
            exit::FAILED,
            "no_ssh",
            "there is no `ssh` on this machine".to_owned(),
            "install OpenSSH's client (on Debian: apt-get install openssh-client)",
        ),
        _ => failure(
            exit::FAILED,
            "no_ssh",
            format!("`ssh` cannot be started: {error}"),
            "see that `ssh -V` works",
        ),
    }
}

/// `ssh` ended before the daemon there said where it listens; with its exit code and its words.
pub(super) fn not_begun(far: &Far, code: Option<i32>, said: &[String]) -> Failure {
    let to = &far.destination;
    match code {
        Some(SSHS_OWN) | None => by_ssh(far, said),
        Some(NOT_FOUND | NOT_EXECUTABLE) => failure(
            exit::UNREACHABLE,
            "no_transom_there",
            format!("`{}` cannot be run on {to}", far.program()),
            format!(
                "install it there; where the shell of `ssh {to}` does not find it, say --program and its path"
            ),
        ),
        Some(code) => failure(
            exit::FAILED,
            "no_status_there",
            format!(
                "`{} status` on {to} ended with code {code}{}",
                far.program(),
                last(said)
            ),
            format!("see what `ssh {to} {} status` says", far.program()),
        ),
    }
}

/// The connection has ended after it worked.
pub(super) fn ended(far: &Far, said: &[String]) -> Failure {
    failure(
        exit::UNREACHABLE,
        "ssh_unreachable",
        format!(
            "the SSH connection to {} has ended{}",
            far.destination,
            last(said)
        ),
        "see that the network and the machine there are up, and begin again",
    )
}

/// What `transom status` there said instead of a status.
pub(super) fn told_there(far: &Far, problem: Problem) -> Failure {
    let to = &far.destination;
    match problem.code.as_str() {
        "unreachable" => failure(
            exit::UNREACHABLE,
            "no_daemon_there",
            format!("no daemon runs on {to}"),
            format!(
                "start it there with `{0} up`, or for good with `{0} service install`; where it runs with a TRANSOM_DIR, say \
                 --program \"env TRANSOM_DIR=… {0}\"",
                far.program()
            ),
        ),
        _ => {
            let Problem {
                status,
                code,
                detail,
                hint,
                ..
            } = problem;
            let there = Problem::new(
                status,
                code.as_str(),
                format!("on {to}: {detail}"),
                format!("there: {hint}"),
            );
            Failure::answered(there)
        }
    }
}

/// The daemon there has no remote way in.
pub(super) fn no_listener(far: &Far, is_locked_down: bool) -> Failure {
    let (to, program) = (&far.destination, far.program());
    let (detail, hint) = match is_locked_down {
        true => (
            format!("the daemon on {to} is locked down: every remote way in is closed"),
            format!("`{program} lockdown --lift` there opens them again"),
        ),
        false => (
            format!("the daemon on {to} has no TLS listener"),
            format!(
                "give it one there, by listen.tls in its configuration or `{program} up --tls 127.0.0.1:7443`"
            ),
        ),
    };
    failure(exit::UNREACHABLE, "no_listener_there", detail, hint)
}

/// The near end of the tunnel could not be made.
pub(super) fn not_forwarded(far: &Far, port: u16, said: &[String]) -> Failure {
    if has(said, &["in use"]) {
        return failure(
            exit::FAILED,
            "port_in_use",
            format!("port {port} of this machine is in use"),
            "begin again, or choose another by --port; `ss -ltnp` shows who has it",
        );
    }
    failure(
        exit::FAILED,
        "forwarding_refused",
        format!("`ssh` makes no tunnel to {}{}", far.destination, last(said)),
        "see whether ssh_config(5) or the version of `ssh` here forbids it",
    )
}

/// The far side made no connection for the tunnel, in the line that `ssh` said of it.
pub(super) fn not_carried(far: &Far, address: &str, line: &str) -> Failure {
    let to = &far.destination;
    if line.contains(PROHIBITED) {
        return failure(
            exit::NOT_PERMITTED,
            "forwarding_refused",
            format!("the SSH server on {to} forbids forwarding"),
            "let it allow that (sshd_config(5): AllowTcpForwarding, PermitOpen; in authorized_keys: restrict, no-port-forwarding), \
             or go another way, such as a tailnet",
        );
    }
    failure(
        exit::UNREACHABLE,
        "no_listener_there",
        format!("nobody listens at {address} on {to}, though its daemon says so"),
        format!(
            "the daemon may be just starting, or in a container of its own: ask again, and see `{} status` there",
            far.program()
        ),
    )
}

/// Lines by which `ssh` tells that the far side made no connection.
pub(super) const NOT_CARRIED: &[&str] = &["open failed: ", PROHIBITED];

/// What `ssh` itself failed at.
fn by_ssh(far: &Far, said: &[String]) -> Failure {
    let to = &far.destination;
    if has(said, &["IDENTIFICATION HAS CHANGED"]) {
        return failure(
            exit::NOT_PERMITTED,
            "ssh_host_key",
            format!("the host key of {to} is not the one that `ssh` knows: nothing was said to it"),
            "ask who runs that machine whether it has a new key; if so, `ssh-keygen -R` and the host's name forgets the old one. If \
             not, somebody stands between: do not go on",
        );
    }
    if has(
        said,
        &[
            "Host key verification failed",
            "host key is known",
            "key fingerprint",
        ],
    ) {
        return failure(
            exit::NOT_PERMITTED,
            "ssh_host_key",
            format!("`ssh` does not know the host key of {to}, and nobody agreed to it"),
            format!("say `ssh {to}` in a terminal once, and compare the key that it shows"),
        );
    }
    if has(said, &["Permission denied", "Too many authentication failures"]) {
        return failure(
            exit::NOT_PERMITTED,
            "ssh_not_permitted",
            format!("{to} does not let you in{}", last(said)),
            format!("`ssh {to}` must work first: see your key, the agent, and the user's name"),
        );
    }
    failure(
        exit::UNREACHABLE,
        "ssh_unreachable",
        format!("`ssh` did not reach {to}{}", last(said)),
        format!("`ssh {to}` must work first: see the name, the network, and that an SSH server runs there"),
    )
}

fn failure(exit: u8, code: &str, detail: String, hint: impl Into<String>) -> Failure {
    let status = match exit {
        exit::UNREACHABLE => 503,
        exit::NOT_PERMITTED => 403,
        _ => 500,
    };
    Failure::Problem {
        exit,
        problem: Box::new(Problem::new(status, code, detail, hint)),
    }
}

fn has(said: &[String], texts: &[&str]) -> bool {
    said.iter()
        .any(|line| texts.iter().any(|text| line.contains(text)))
}

/// The last that was said, as the rest of a sentence.
fn last(said: &[String]) -> String {
    said.last().map(|line| format!(": {line}")).unwrap_or_default()
}

/// ssh(1), "EXIT STATUS".
const SSHS_OWN: i32 = 255;
/// What shells end with where there is no such program (POSIX, "Exit Status for Commands").
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;
const PROHIBITED: &str = "administratively prohibited";

#[cfg(test)]
mod tests {
    use protocol::Problem;

    use super::{Far, no_listener, not_begun, not_carried, not_forwarded, told_there};
    use crate::failure::Failure;

    fn far() -> Far {
        Far {
            destination: "ann@desk".parse().unwrap(),
            program: None,
        }
    }

    fn parts(failure: Failure) -> (u8, String) {
        let Failure::Problem { exit, problem } = failure else {
            panic!("it is a problem");
        };
        assert!(problem.detail.contains("desk") || problem.detail.contains("port"));
        assert!(!problem.hint.is_empty());
        (exit, problem.code)
    }

    #[test]
    fn what_ssh_failed_at_is_told_apart_by_its_words() {
        for (line, exit, code) in [
            (
                "ssh: Could not resolve hostname desk: Name or service not known",
                3,
                "ssh_unreachable",
            ),
            (
                "ssh: connect to host desk port 22: Connection refused",
                3,
                "ssh_unreachable",
            ),
            ("ann@desk: Permission denied (publickey).", 4, "ssh_not_permitted"),
            ("Host key verification failed.", 4, "ssh_host_key"),
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @",
                4,
                "ssh_host_key",
            ),
        ] {
            let said = [line.to_owned()];
            let told = parts(not_begun(&far(), Some(255), &said));
            assert_eq!(told, (exit, code.to_owned()), "{line}");
        }
    }

    #[test]
    fn a_command_that_is_not_there_is_told_from_one_that_fails() {
        assert_eq!(
            parts(not_begun(&far(), Some(127), &[])),
            (3, "no_transom_there".to_owned())
        );
        assert_eq!(
            parts(not_begun(&far(), Some(2), &[])),
            (1, "no_status_there".to_owned())
        );
    }

    #[test]
    fn what_the_command_there_says_is_passed_on() {
        let unreachable = Problem::new(503, "unreachable", "no daemon runs at /s", "start it");
        assert_eq!(
            parts(told_there(&far(), unreachable)),
            (3, "no_daemon_there".to_owned())
        );
        let hangs = Problem::new(504, "timed_out", "it did not answer", "ask again");
        assert_eq!(parts(told_there(&far(), hangs)), (5, "timed_out".to_owned()));
    }

    #[test]
    fn commands_to_run_there_are_called_as_they_are_called_there() {
        let far = Far {
            program: Some("/opt/transom".to_owned()),
            ..far()
        };
        let unreachable = Problem::new(503, "unreachable", "no daemon runs at /s", "start it");
        let nobody = "channel 2: open failed: connect failed: Connection refused";
        for failure in [
            told_there(&far, unreachable),
            no_listener(&far, true),
            no_listener(&far, false),
            not_carried(&far, "127.0.0.1:7443", nobody),
            not_begun(&far, Some(2), &[]),
        ] {
            let Failure::Problem { problem, .. } = failure else {
                panic!("it is a problem");
            };
            assert!(problem.hint.contains("/opt/transom "), "{}", problem.hint);
            assert!(!problem.hint.contains("`transom "), "{}", problem.hint);
        }
    }

    #[test]
    fn the_ends_of_a_tunnel_fail_in_different_words() {
        let in_use = ["bind [127.0.0.1]:7443: Address already in use".to_owned()];
        assert_eq!(
            parts(not_forwarded(&far(), 7443, &in_use)),
            (1, "port_in_use".to_owned())
        );
        let forbidden = "channel 2: open failed: administratively prohibited: open failed";
        assert_eq!(
            parts(not_carried(&far(), "127.0.0.1:7443", forbidden)),
            (4, "forwarding_refused".to_owned())
        );
        let nobody = "channel 2: open failed: connect failed: Connection refused";
        assert_eq!(
            parts(not_carried(&far(), "127.0.0.1:7443", nobody)),
            (3, "no_listener_there".to_owned())
        );
    }
}
