//! Failures of a remote, in words that fit one: what helps here is not what helps there.

use protocol::access::Health;

use super::AWAY;
use crate::{client::Client, failure::Failure, names};

/// The failure of the remote with this name, in words that fit it.
pub(crate) async fn explained(failure: Failure, name: &str, client: &Client) -> Failure {
    let Failure::Problem { exit, mut problem } = failure else {
        return failure;
    };
    match problem.code.as_str() {
        "unreachable" | "connection_lost" | "no_daemon" => problem.hint = AWAY.to_owned(),
        "timed_out" if !problem.hint.contains("--timeout") => {
            problem.hint =
                format!("`{name}` may be busy or off, or the way to it slow: ask again in a moment");
        }
        "revoked" | "expired" | "invalid_token" => {
            problem.detail = format!("{name}: {}", problem.detail);
            problem.hint = format!(
                "if its owner wants that, `transom remote rm {name}`, then pair again with `transom remote add`"
            );
        }
        "not_permitted" => problem.detail = format!("{name}: {}", problem.detail),
        code if VERSIONED.contains(&code)
            && let Some(difference) = difference(name, client).await =>
        {
            problem.hint = difference;
        }
        // What this runs in is a session of another daemon.
        "not_found"
            if problem.hint.starts_with("`transom ls`") || problem.hint.starts_with(names::INSIDE) =>
        {
            problem.hint = format!("`transom ls --on {name}` shows what there is");
        }
        "not_found" if problem.hint.starts_with("`transom devices`") => {
            problem.hint = format!("`transom devices --on {name}` shows what there is");
        }
        _ => {}
    }
    Failure::Problem { exit, problem }
}

/// How the versions at both ends differ, if they do.
async fn difference(name: &str, client: &Client) -> Option<String> {
    let health: Health = client.get("/health").await.ok()?;
    let ours = env!("CARGO_PKG_VERSION");
    (health.version != ours).then(|| {
        format!(
            "`{name}` runs transom {}, and this is {ours}: what only one of them knows cannot be done between them; \
             bring the older one up to date",
            health.version
        )
    })
}

/// What two have that do not know the same.
const VERSIONED: &[&str] = &[
    "unknown_answer",
    "unknown_message",
    "unknown_event",
    "malformed_request",
    "not_found",
    "method_not_allowed",
    "upgrade_required",
];

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::UnixListener,
    };

    use super::explained;
    use crate::{client::Client, failure::Failure};

    #[tokio::test]
    async fn what_an_other_version_does_not_know_is_said_with_both_versions() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("transom.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        tokio::spawn(async move {
            let health = json!({"status": "ok", "version": "99.1.0", "instance": "i"}).to_string();
            while let Ok((mut stream, _)) = listener.accept().await {
                assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
                let length = health.len();
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{health}");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let client = Client::at(&socket).unwrap();
        let failure = client.get::<u64>("/sessions").await.unwrap_err();
        let Failure::Problem { problem, .. } = explained(failure, "desk", &client).await else {
            panic!("no pipe is written")
        };
        assert_eq!(problem.code, "unknown_answer");
        for part in [
            "`desk` runs transom 99.1.0",
            env!("CARGO_PKG_VERSION"),
            "cannot be done",
        ] {
            assert!(problem.hint.contains(part), "{}", problem.hint);
        }
    }
}
