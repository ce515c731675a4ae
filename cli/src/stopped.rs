//! A daemon that somebody stopped: it has its lock and its socket, and does nothing until it goes on.

use std::{fs, path::Path};

use daemon::{
    Paths,
    lock::{Holder, Lock},
};

use crate::client;

/// The process of the daemon at this socket, where it is this user's own and stopped.
pub(crate) fn process(socket: &Path) -> Option<u32> {
    // Inside of a session the socket may be that of any.
    if client::session_socket().is_some() {
        return None;
    }
    let paths = Paths::find(None).ok().filter(|paths| paths.socket() == socket)?;
    let Ok(Holder::Process(pid)) = Lock::holder(&paths.lock()) else {
        return None;
    };
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    is_stopped(&stat).then_some(pid)
}

/// Whether the kernel says so: by a signal, or by a debugger (proc_pid_stat(5)).
fn is_stopped(stat: &str) -> bool {
    // The name before it may hold anything.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('T' | 't'))
}

#[cfg(test)]
mod tests {
    use super::is_stopped;

    #[test]
    fn a_process_is_stopped_by_its_state_whatever_its_name() {
        assert!(is_stopped("4711 (transom) T 1 4711") && is_stopped("4711 (transom) t 1"));
        assert!(!is_stopped("4711 (a) T 1) S 1 4711") && !is_stopped(""));
    }
}
