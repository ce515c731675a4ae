//! Signs of life, where somebody ends the daemon for want of them (sd_watchdog_enabled(3)).
//!
//! A sign is given only after the daemon has answered a request on its own socket: whoever accepts no more, or has no thread that
//! still works, gives none, whatever its timers do.

use std::{env, path::PathBuf, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    time::{sleep, timeout},
};

use super::Notifier;

/// How often a sign is due, if any is: thrice in the time after which somebody would miss it.
pub(crate) fn interval() -> Option<Duration> {
    let variable = |name| env::var(name).ok();
    let deadline = deadline(
        variable("WATCHDOG_PID").as_deref(),
        variable("WATCHDOG_USEC").as_deref(),
        std::process::id(),
    );
    deadline.map(|deadline| deadline / 3)
}

/// Gives signs of life for as long as the daemon answers at its socket.
pub(crate) async fn watch(notifier: Notifier, socket: PathBuf, every: Duration) {
    let mut was_answered = true;
    loop {
        let is_answered = timeout(every, answered(&socket)).await.unwrap_or(false);
        if is_answered {
            notifier.alive();
        } else if was_answered {
            tracing::error!("the daemon does not answer at its own socket: it gives no sign of life");
        }
        was_answered = is_answered;
        sleep(every).await;
    }
}

/// Whether there is an answer, whatever it says: that of a daemon at one of its limits is one.
async fn answered(socket: &PathBuf) -> bool {
    let asked = async {
        let mut stream = UnixStream::connect(socket).await?;
        stream.write_all(QUESTION).await?;
        let mut head = [0; ANSWER.len()];
        stream.read_exact(&mut head).await?;
        std::io::Result::Ok(head)
    };
    asked.await.is_ok_and(|head| head == ANSWER)
}

/// After how long without a sign the process with this id is ended.
fn deadline(pid: Option<&str>, micros: Option<&str>, own: u32) -> Option<Duration> {
    if pid.is_some_and(|pid| pid.parse() != Ok(own)) {
        return None;
    }
    let micros: u64 = micros?.parse().ok()?;
    (micros > 0).then(|| Duration::from_micros(micros))
}

/// By the status it goes through who asks, the routes, and the sessions.
const QUESTION: &[u8] = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const ANSWER: [u8; 9] = *b"HTTP/1.1 ";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::deadline;

    #[test]
    fn signs_of_life_are_for_the_process_of_whom_they_are_wanted() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(deadline(Some("7"), Some("1000000"), 7), second);
        assert_eq!(deadline(None, Some("1000000"), 7), second);
        assert_eq!(deadline(Some("8"), Some("1000000"), 7), None);
        assert_eq!(deadline(Some("7"), None, 7), None);
        assert_eq!(deadline(Some("7"), Some("0"), 7), None);
        assert_eq!(deadline(Some("7"), Some("soon"), 7), None);
    }
}
