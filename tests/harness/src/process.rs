//! What the kernel says about processes.

use std::{
    fs,
    net::SocketAddr,
    process::{Output, Stdio},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Resource, Rlimit, getrlimit, pidfd_open, setrlimit},
};
use tokio::process::{Child, Command};

use crate::within;

/// A command that ran to its end.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; 128 and the signal where one ended it.
    pub code: i32,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl Finished {
    /// Runs the command to its end.
    ///
    /// # Panics
    /// Where it cannot be started.
    pub async fn of(command: &mut Command) -> Self {
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let child = child.expect("the binary can be started");
        let output = within("a command's end", child.wait_with_output())
            .await
            .expect("its output can be read");
        Self::from(output)
    }

    /// Follows a command that was started with pipes for as long as it takes.
    ///
    /// # Panics
    /// Where its output cannot be read.
    pub async fn of_child(child: Child) -> Self {
        let output = child.wait_with_output().await.expect("its output can be read");
        Self::from(output)
    }

    /// Its stdout as JSON.
    ///
    /// # Panics
    /// Where it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let status = output.status;
        Self {
            code: status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// All descendants of a process, children before theirs.
pub fn descendants(pid: u32) -> Vec<u32> {
    let children = children(pid);
    children
        .iter()
        .copied()
        .chain(children.iter().flat_map(|child| descendants(*child)))
        .collect()
}

/// The open descriptors of a process, each with what it leads to.
pub fn open_files(pid: u32) -> Vec<String> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .map(|target| target.display().to_string())
        .collect()
}

/// The resident memory of a process.
///
/// # Panics
/// Where the process is gone.
pub fn resident_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("the kernel counts memory");
    line.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .expect("VmRSS is a number of KiB")
}

/// Bytes that came to a listener's connections of IPv4, and that their process has not read.
///
/// # Panics
/// Where the kernel does not tell.
pub fn unread(listener: SocketAddr) -> u64 {
    let table = fs::read_to_string("/proc/self/net/tcp").expect("the kernel lists connections");
    let port = format!(":{:04X}", listener.port());
    table
        .lines()
        .filter_map(|line| {
            let mut columns = line.split_whitespace().skip(1);
            let (local, _remote, state) = (columns.next()?, columns.next()?, columns.next()?);
            // What is established; the queue of a listener counts connections.
            (local.ends_with(&port) && state == "01").then(|| columns.next())?
        })
        .filter_map(|queues| u64::from_str_radix(queues.split_once(':')?.1, 16).ok())
        .sum()
}

/// Lets this process have as many descriptors as the system allows: for tests that are thousands of peers.
///
/// # Panics
/// Where the system does not take its own limit.
pub fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).expect("up to its hard limit a process may raise its own");
}

/// Waits for a process's end; false where it has not ended within some seconds. Blocks.
pub(crate) fn ends(pid: u32) -> bool {
    let Some(pidfd) =
        Pid::from_raw(pid.cast_signed()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
    else {
        return true;
    };
    let patience = Timespec {
        tv_sec: 10,
        tv_nsec: 0,
    };
    loop {
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&patience)) {
            // The daemon's own end is told by a signal.
            Err(rustix::io::Errno::INTR) => {}
            ended => return ended == Ok(1),
        }
    }
}

/// The keeper of an instance, known by its arguments.
pub(crate) fn keeper_of(instance: &str) -> Option<u32> {
    let wanted = format!("transom\0keep\0transom-{instance}\0");
    let pids = fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_it = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(wanted.as_bytes()))
    };
    // Its reapers are copies of it; it is the one that is nobody else's child of them.
    let all: Vec<u32> = pids.filter(is_it).collect();
    all.iter()
        .copied()
        .find(|pid| !all.iter().any(|other| children(*other).contains(pid)))
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}
