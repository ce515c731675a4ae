//! The process, as the kernel sees it, by the names that every client library of Prometheus uses.

use std::{fs, time::Duration};

use pairing::UnixMillis;
use rustix::{
    process::{Resource, getrlimit},
    time::{ClockId, clock_gettime},
};

use super::{Exposition, Kind};

/// Writes what the kernel says, and nothing of what it does not say; `started` is when this run began.
pub(super) fn write(started: UnixMillis, to: &mut Exposition) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(bytes) = memory(&status, "VmRSS:") {
        to.family(
            "process_resident_memory_bytes",
            Kind::Gauge,
            "Memory of the daemon's process that is resident; its keeper and its programs are others.",
        )
        .figure(&[], bytes);
    }
    if let Some(bytes) = memory(&status, "VmSize:") {
        to.family(
            "process_virtual_memory_bytes",
            Kind::Gauge,
            "Address space that the daemon's process has mapped.",
        )
        .figure(&[], bytes);
    }
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    if let Ok(cpu) = Duration::try_from(cpu) {
        to.family(
            "process_cpu_seconds_total",
            Kind::Counter,
            "Processor time that the daemon's process has used.",
        )
        .seconds(&[], cpu);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // One of them is open to read this.
        to.family("process_open_fds", Kind::Gauge, "Open file descriptors.")
            .figure(&[], open.count().saturating_sub(1) as u64);
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        to.family(
            "process_max_fds",
            Kind::Gauge,
            "File descriptors that may be open.",
        )
        .figure(&[], most);
    }
    to.family(
        "process_start_time_seconds",
        Kind::Gauge,
        "When this run of the daemon began, since the Unix epoch.",
    )
    .seconds(&[], Duration::from_millis(started.0.try_into().unwrap_or(0)));
}

/// A line of proc_pid_status(5), in units of 1,024 bytes.
fn memory(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let count: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    count.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use pairing::UnixMillis;

    use super::{Exposition, write};

    #[test]
    fn the_kernel_says_all_of_it() {
        let mut exposition = Exposition::default();
        write(UnixMillis(1_234), &mut exposition);
        let text = exposition.into_text();
        let figure = |name: &str| -> f64 {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
        };
        let resident = figure("process_resident_memory_bytes");
        assert!(resident > 1e6 && figure("process_virtual_memory_bytes") > resident);
        assert!(figure("process_cpu_seconds_total") > 0.0);
        assert!((3.0..figure("process_max_fds")).contains(&figure("process_open_fds")));
        assert_eq!(figure("process_start_time_seconds"), 1.234);
    }
}
