//! A disk that is full.

use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;

use super::{Stored, Tail, append, assert_reads, journal, place, write};
use crate::offset::Offset;

/// In a process of its own, as the limit is the whole process's.
#[test]
fn a_full_disk_costs_what_it_missed_and_nothing_else() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "tail::tests::full::no_file_takes_a_byte"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "is run by the test above in a process of its own"]
#[expect(
    unsafe_code,
    reason = "the signal of the limit ends a process that does not ignore it"
)]
fn no_file_takes_a_byte() {
    // SAFETY: ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let former = getrlimit(Resource::Fsize);
    let limit = Rlimit {
        current: Some(0),
        ..former
    };
    let directory = TempDir::new().unwrap();
    let journal = journal(64 * 1_024);
    let tail = Tail::new(directory.path().into(), 64 << 20);
    append(&journal, 40_000);
    write(&tail, &journal);
    append(&journal, 40_000);
    write(&tail, &journal);
    setrlimit(Resource::Fsize, limit).unwrap();
    append(&journal, 40_000);
    assert!(
        tail.write(&journal, false, &mut Vec::new()).is_err(),
        "the disk is full"
    );
    assert!(
        !tail.write(&journal, false, &mut Vec::new()).unwrap(),
        "it is left alone for a while"
    );
    assert_reads(&tail, 0, usize::MAX, 80_000);
    append(&journal, 40_000);
    assert!(
        tail.write(&journal, true, &mut Vec::new()).is_err(),
        "it is full still"
    );
    setrlimit(Resource::Fsize, former).unwrap();
    while tail.write(&journal, true, &mut Vec::new()).unwrap() {}
    let start = journal.lock().unwrap().start();
    assert!(start > Offset(80_000));
    assert_reads(&tail, 0, usize::MAX, 80_000);
    let gap = tail.read(place(80_000), 1, &mut Vec::new()).unwrap();
    assert_eq!(gap, Stored::Gap { to: start });
    // It recovers.
    assert_reads(&tail, start.0, usize::MAX, 160_000 - start.0);
}
