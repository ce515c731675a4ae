//! A tail against the journal it is written from, and against a disk that fails.

use std::path::Path;
use std::sync::Mutex;

use proptest::{prop_assert, prop_assert_eq, proptest};
use tempfile::TempDir;

use super::segment::Segment;
use super::{Place, Stored, Tail, stored_bytes};
use crate::journal::{Journal, UnixMs};
use crate::offset::Offset;
use crate::size::Size;

mod full;

const ALL: Offset = Offset(u64::MAX);

fn journal(capacity: usize) -> Mutex<Journal> {
    Mutex::new(Journal::create(capacity, Size::default(), UnixMs(0)).unwrap())
}

/// The bytes of a stretch of output.
fn bytes(from: u64, length: usize) -> Vec<u8> {
    (from..from + length as u64)
        .map(|offset| (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect()
}

fn append(journal: &Mutex<Journal>, length: usize) {
    let mut journal = journal.lock().unwrap();
    let end = journal.end().0;
    assert_eq!(journal.append(end, &bytes(end, length), ALL), length);
}

fn write(tail: &Tail, journal: &Mutex<Journal>) {
    while tail.write(journal, false, &mut Vec::new()).unwrap() {}
}

fn place(offset: u64) -> Place {
    Place {
        offset: Offset(offset),
        next_size: 0,
    }
}

/// Whether a tail has these bytes of output and, as far as asked for, no others.
#[track_caller]
fn assert_reads(tail: &Tail, from: u64, limit: usize, length: u64) {
    let found = read(tail, from, limit);
    assert_eq!(found.len() as u64, length);
    assert!(found == bytes(from, found.len()), "other bytes than were written");
}

fn read(tail: &Tail, from: u64, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert_eq!(tail.read(place(from), limit, &mut bytes).unwrap(), Stored::Output);
    bytes
}

fn segments(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_left_the_journal_is_read_from_the_disk() {
    let directory = TempDir::new().unwrap();
    let journal = journal(16 * 1_024);
    let tail = Tail::new(directory.path().into(), 64 << 20);
    for _ in 0..100 {
        append(&journal, 777);
        write(&tail, &journal);
    }
    assert!(journal.lock().unwrap().start() > Offset(60_000));
    assert_reads(&tail, 0, usize::MAX, 77_700);
    assert_reads(&tail, 12_345, 1_000, 864);
    assert_eq!(tail.bounds().unwrap(), Some((Offset(0), Offset(77_700))));
    assert_eq!(tail.read(place(77_700), 1, &mut Vec::new()).unwrap(), Stored::End);
    let mode = std::fs::metadata(directory.path().join(&segments(directory.path())[0])).unwrap();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777,
        0o600
    );
}

#[test]
fn a_tail_goes_on_where_an_earlier_process_left_it() {
    let directory = TempDir::new().unwrap();
    let journal = journal(64 * 1_024);
    for round in 0..10 {
        let tail = Tail::new(directory.path().into(), 64 << 20);
        append(&journal, 500);
        journal
            .lock()
            .unwrap()
            .resize(round, Size::new(50 + round as u16, 10));
        write(&tail, &journal);
    }
    let tail = Tail::new(directory.path().into(), 64 << 20);
    assert_eq!(segments(directory.path()).len(), 1);
    let mut from = place(0);
    for round in 0..10_u64 {
        let mut found = Vec::new();
        assert_eq!(tail.read(from, usize::MAX, &mut found).unwrap(), Stored::Output);
        assert_eq!(found, bytes(round * 500, 500));
        from.offset = from.offset.plus(500);
        let size = Stored::Size {
            number: round,
            size: Size::new(50 + round as u16, 10),
            offset: from.offset,
        };
        assert_eq!(tail.read(from, usize::MAX, &mut found).unwrap(), size);
        from.next_size = round + 1;
    }
}

#[test]
fn a_torn_last_record_is_cut_off() {
    let directory = TempDir::new().unwrap();
    let journal = journal(64 * 1_024);
    let tail = Tail::new(directory.path().into(), 64 << 20);
    append(&journal, 300);
    append(&journal, 200);
    write(&tail, &journal);
    let path = directory.path().join(&segments(directory.path())[0]);
    let whole = std::fs::read(&path).unwrap();
    for length in 0..=whole.len() {
        let kept = match length {
            0..332 => 0,
            332..548 => 300,
            _ => 500,
        };
        std::fs::write(&path, &whole[..length]).unwrap();
        let tail = Tail::new(directory.path().into(), 64 << 20);
        let mut found = Vec::new();
        let _ = tail.read(place(0), usize::MAX, &mut found).unwrap();
        assert!(found == bytes(0, kept), "{length}");
        write(&tail, &journal);
        assert_reads(&tail, 0, usize::MAX, 500);
        assert!(std::fs::read(&path).unwrap() == whole, "{length}");
    }
}

#[test]
fn what_the_journal_gave_up_before_it_was_written_is_said_to_be_missing() {
    let directory = TempDir::new().unwrap();
    let journal = journal(8 * 1_024);
    let tail = Tail::new(directory.path().into(), 64 << 20);
    append(&journal, 1_000);
    write(&tail, &journal);
    append(&journal, 30_000);
    let start = journal.lock().unwrap().start();
    write(&tail, &journal);
    assert_reads(&tail, 0, usize::MAX, 1_000);
    let gap = tail.read(place(1_000), 1, &mut Vec::new()).unwrap();
    assert_eq!(gap, Stored::Gap { to: start });
    assert_reads(&tail, start.0, usize::MAX, 31_000 - start.0);
}

#[test]
fn a_segment_that_could_not_be_read_is_read_when_it_can_be() {
    let directory = TempDir::new().unwrap();
    let journal = journal(64 * 1_024);
    append(&journal, 1_000);
    write(&Tail::new(directory.path().into(), 64 << 20), &journal);
    let path = directory.path().join(&segments(directory.path())[0]);
    let aside = directory.path().join("aside");
    let mut segment = Segment::found(&path).unwrap().unwrap();
    std::fs::rename(&path, &aside).unwrap();
    // Opened like a file, and read like none.
    std::fs::create_dir(&path).unwrap();
    assert!(segment.scan().is_err());
    std::fs::remove_dir(&path).unwrap();
    std::fs::rename(&aside, &path).unwrap();
    segment.scan().unwrap();
    assert_eq!(segment.end().0, Offset(1_000));
}

#[test]
fn a_segment_that_was_taken_away_is_a_gap_and_what_is_behind_it_is_there() {
    let directory = TempDir::new().unwrap();
    let journal = journal(64 * 1_024);
    // Segments of 4 KiB.
    let tail = Tail::new(directory.path().into(), 16 * 1_024);
    for _ in 0..2 {
        append(&journal, 5_000);
        write(&tail, &journal);
    }
    let names = segments(directory.path());
    std::fs::remove_file(directory.path().join(&names[0])).unwrap();
    let gap = tail.read(place(10), 1, &mut Vec::new()).unwrap();
    assert_eq!(gap, Stored::Gap { to: Offset(5_000) });
    std::fs::remove_file(directory.path().join(&names[1])).unwrap();
    assert_eq!(tail.read(place(5_000), 1, &mut Vec::new()).unwrap(), Stored::End);
    append(&journal, 1_000);
    write(&tail, &journal);
    assert_reads(&tail, 10_000, usize::MAX, 1_000);
}

#[test]
fn the_oldest_segments_go_first() {
    let directory = TempDir::new().unwrap();
    let journal = journal(256 * 1_024);
    let limit = 400 * 1_024;
    let tail = Tail::new(directory.path().into(), limit);
    for _ in 0..1_000 {
        append(&journal, 1_024);
        write(&tail, &journal);
        assert!(stored_bytes(directory.path()).unwrap() <= limit + 2_048);
    }
    let (start, end) = tail.bounds().unwrap().unwrap();
    assert_eq!(end, Offset(1_000 * 1_024));
    assert!(end.since(start) > 200 * 1_024, "{start} to {end}");
    let gap = tail.read(place(0), 1, &mut Vec::new()).unwrap();
    assert_eq!(gap, Stored::Gap { to: start });
    let newest = read(&tail, start.0, usize::MAX);
    assert!(newest == bytes(start.0, newest.len()));
}

#[test]
fn reading_makes_no_directory() {
    let parent = TempDir::new().unwrap();
    let directory = parent.path().join("session");
    let tail = Tail::new(directory.clone(), 1 << 20);
    assert_eq!(tail.read(place(0), 1, &mut Vec::new()).unwrap(), Stored::End);
    assert_eq!(tail.bounds().unwrap(), None);
    assert_eq!(stored_bytes(&directory).unwrap(), 0);
    assert!(!directory.exists());
}

proptest! {
    #[test]
    fn a_damaged_tail_says_what_was_written_or_nothing(
        lengths in proptest::collection::vec(1_usize..2_000, 1..30),
        damage in proptest::collection::vec((0_usize..30_000, proptest::prelude::any::<u8>()), 0..10),
        from in 0_u64..30_000,
    ) {
        let directory = TempDir::new().unwrap();
        let journal = journal(64 * 1_024);
        let tail = Tail::new(directory.path().into(), 64 << 20);
        for length in &lengths {
            append(&journal, *length);
        }
        write(&tail, &journal);
        let path = directory.path().join(&segments(directory.path())[0]);
        let mut file = std::fs::read(&path).unwrap();
        let is_whole = damage.is_empty();
        for (place, byte) in damage {
            if let Some(old) = file.get_mut(place) {
                *old = byte;
            }
        }
        std::fs::write(&path, &file).unwrap();
        let tail = Tail::new(directory.path().into(), 64 << 20);
        let mut found = Vec::new();
        let read = tail.read(place(from), 5_000, &mut found).unwrap();
        prop_assert_eq!(found.is_empty(), read != Stored::Output);
        prop_assert!(!is_whole || found == bytes(from, found.len()));
        prop_assert!(found.len() <= 5_000);
        write(&tail, &journal);
    }
}

#[test]
fn sizes_of_a_program_that_writes_nothing_take_a_bounded_part_of_the_disk() {
    let directory = TempDir::new().unwrap();
    let journal = journal(64 * 1_024);
    let tail = Tail::new(directory.path().into(), 64 * 1_024);
    append(&journal, 100);
    for step in 0..10_000 {
        let size = Size::new(80 + step % 2, 24);
        journal.lock().unwrap().resize(0, size);
        if step % 100 == 0 {
            write(&tail, &journal);
        }
    }
    write(&tail, &journal);
    assert!(stored_bytes(directory.path()).unwrap() <= 64 * 1_024);
    assert_reads(&tail, 0, usize::MAX, 100);
}
