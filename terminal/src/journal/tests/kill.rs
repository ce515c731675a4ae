//! A writer that is killed at any moment.

use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::{ALL, Journal, Offset, Read, Size, UnixMs, again};

/// The byte at an offset.
fn byte(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// The child of the test below: goes on with the journal that is its descriptor 3, until it is killed.
#[test]
#[ignore = "is run by the test that kills it"]
#[expect(unsafe_code, reason = "the descriptor comes by its number")]
fn writes_until_it_is_killed() {
    // SAFETY: the parent made it descriptor 3 of this process, and nothing else here uses that number.
    let descriptor = unsafe { OwnedFd::from_raw_fd(3) };
    let mut journal = Journal::open(descriptor).unwrap();
    let mut bytes = Vec::new();
    for round in 0.. {
        let end = journal.end().0;
        bytes.clear();
        bytes.extend((end..end + 1 + end * 31 % 700).map(byte));
        assert_eq!(journal.append(round, &bytes, ALL), bytes.len());
        if round % 5 == 0 {
            journal.resize(round, Size::new((journal.end().0 % 900 + 1) as u16, 10));
        }
    }
}

#[expect(unsafe_code, reason = "a descriptor is given to a child by its number")]
fn writer(journal: &Journal) -> Child {
    let given = journal.descriptor().try_clone_to_owned().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--ignored",
            "--exact",
            "journal::tests::kill::writes_until_it_is_killed",
        ])
        .stdout(Stdio::null());
    // SAFETY: `dup2` is async-signal-safe, and nothing else is done after the fork.
    unsafe {
        command.pre_exec(
            move || match libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&given), 3) {
                3 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            },
        );
    }
    command.spawn().unwrap()
}

/// Waits until the child has written a while longer.
fn wait_for_more(journal: &mut Journal, child: &mut Child, until: u64) {
    loop {
        // Where the writer is in the middle of it, the next look sees it whole.
        if journal.refresh().is_ok() && journal.end().0 >= until {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "the writer goes on");
        std::thread::yield_now();
    }
}

#[test]
fn a_writer_killed_at_any_moment_leaves_a_whole_journal() {
    let mut journal = Journal::create(64 * 1_024, Size::default(), UnixMs(0)).unwrap();
    let (mut end, mut sizes) = (0, 0);
    for round in 0..25_u64 {
        let mut child = writer(&journal);
        wait_for_more(&mut journal, &mut child, end + 1 + round * 12_345 % 400_000);
        child.kill().unwrap();
        child.wait().unwrap();
        let left = again(&journal);
        assert!(left.end().0 > end, "it went on where the one before was killed");
        end = left.end().0;
        let start = left.start();
        let mut bytes = Vec::new();
        assert_eq!(left.read(start, u64::MAX, usize::MAX, &mut bytes), Read::Output);
        let expected: Vec<u8> = (start.0..end).map(byte).collect();
        assert!(bytes == expected, "nothing is lost, doubled or moved");
        let count = left.first_size_from(Offset(u64::MAX));
        assert!(count >= sizes && [10, 24].contains(&left.size().rows()));
        sizes = count;
    }
}
