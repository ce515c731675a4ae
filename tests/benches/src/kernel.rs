//! What the kernel says about processes (proc(5)).

use std::{collections::BTreeMap, fs, time::Duration};

use anyhow::{Context, Result};
use rustix::event::poll;

/// Processor time of a process and of its threads that ended, in seconds.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may hold anything, blanks too.
    let (_, rest) = stat.rsplit_once(')').context("a process has a name")?;
    let ticks: u64 = rest
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Ok(ticks as f64 / USER_HZ)
}

/// Processor time of the threads that a process has, to the nanosecond.
pub(crate) fn busy_seconds(pid: u32) -> Result<f64> {
    let mut nanoseconds = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end meanwhile.
        let stat = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        let busy = stat.split_whitespace().next();
        nanoseconds += busy.and_then(|busy| busy.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(nanoseconds as f64 / 1e9)
}

/// Processor time of the calling thread, in seconds.
pub(crate) fn thread_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: u64 = stat
        .split_whitespace()
        .next()
        .context("the kernel counts")?
        .parse()?;
    Ok(nanoseconds as f64 / 1e9)
}

/// Memory of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// Its share, in KiB: pages that others map too are divided among them.
    pub(crate) proportional: f64,
    /// What it alone maps, in KiB.
    pub(crate) private: f64,
}

/// Memory of a process, by `smaps_rollup`.
///
/// # Errors
/// Where the process is gone, or hides its memory from this user.
pub(crate) fn memory(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let rollup =
        fs::read_to_string(&path).with_context(|| format!("{path} cannot be read (it takes root)"))?;
    let sum = |names: &[&str]| names.iter().map(|name| kib(&rollup, name)).sum();
    Ok(Memory {
        proportional: sum(&["Pss:"]),
        private: sum(&["Private_Clean:", "Private_Dirty:"]),
    })
}

/// Begins the measurement of a process's peak anew.
pub(crate) fn reset_peak(pid: u32) -> Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5")
        .context("the peak of a process cannot be reset (it takes root)")
}

/// The most resident memory since the reset, in KiB.
pub(crate) fn peak_kib(pid: u32) -> Result<f64> {
    Ok(kib(&fs::read_to_string(format!("/proc/{pid}/status"))?, "VmHWM:"))
}

/// Resident memory now, in KiB.
pub(crate) fn resident_kib(pid: u32) -> Result<f64> {
    Ok(kib(&fs::read_to_string(format!("/proc/{pid}/status"))?, "VmRSS:"))
}

/// How often each thread of a process gave up or lost the processor: at least its wake-ups.
pub(crate) fn switches(pid: u32) -> Result<BTreeMap<String, u64>> {
    let mut switches = BTreeMap::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let task = task?;
        // A thread may end meanwhile.
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let counts = status
            .lines()
            .filter(|line| line.contains("ctxt_switches:"))
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        switches.insert(task.file_name().to_string_lossy().into_owned(), counts.sum());
    }
    Ok(switches)
}

/// The process that listens on a Unix socket of this path, besides `not`.
pub(crate) fn listener_of(path: &str, not: u32) -> Result<Option<u32>> {
    let table = fs::read_to_string("/proc/net/unix")?;
    let inodes: Vec<String> = table
        .lines()
        .filter(|line| line.ends_with(path))
        .filter_map(|line| line.split_whitespace().nth(6))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let processes = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(processes
        .filter(|pid| *pid != not)
        .find(|pid| harness::open_files(*pid).iter().any(|file| inodes.contains(file))))
}

/// The binary that a process runs.
pub(crate) fn binary_of(pid: u32) -> Option<std::path::PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// How busy the machine is: processes that ran or wanted to, over the last minute.
pub(crate) fn load() -> String {
    fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|line| line.split_whitespace().next().map(str::to_owned))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// Lets the machine come to rest, or be watched, for so long. No figure waits for anything by it.
pub(crate) fn pause(duration: Duration) -> Result<()> {
    poll(&mut [], Some(&duration.try_into()?))?;
    Ok(())
}

/// A line's number of KiB; 0 where the kernel does not say it.
fn kib(text: &str, name: &str) -> f64 {
    text.lines()
        .find(|line| line.starts_with(name))
        .and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or_default()
}

/// Between two looks at what only the kernel, or another thread, knows.
pub(crate) const TICK: Duration = Duration::from_millis(1);
/// Ticks per second of the times in proc(5), on every machine that Transom runs on.
const USER_HZ: f64 = 100.0;
