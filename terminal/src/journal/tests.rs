//! A journal against a simple model of it, and against damage.

use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq, proptest};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

use super::{Journal, Read, UnixMs};
use crate::offset::Offset;
use crate::said::{Said, Word};
use crate::size::Size;

mod kill;

fn journal(capacity: usize) -> Journal {
    Journal::create(capacity, Size::default(), UnixMs(1_000)).unwrap()
}

/// The same journal as another process would open it.
fn again(journal: &Journal) -> Journal {
    Journal::open(journal.descriptor().try_clone_to_owned().unwrap()).unwrap()
}

fn read(journal: &Journal, from: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = journal.read(Offset(from), u64::MAX, usize::MAX, &mut bytes);
    assert_eq!(read, Read::Output);
    bytes
}

const ALL: Offset = Offset(u64::MAX);

#[test]
fn offsets_survive_trimming_and_opening() {
    let mut journal = journal(4_096);
    for round in 0..100_u64 {
        let line: Vec<u8> = (0..97).map(|index| (round * 97 + index) as u8).collect();
        assert_eq!(journal.append(round, &line, journal.end()), 97);
    }
    assert_eq!(journal.end(), Offset(9_700));
    assert!(journal.start() > Offset(5_500));
    assert!(journal.start() < Offset(7_000));
    let start = journal.start().0;
    let expected: Vec<u8> = (start..9_700).map(|index| index as u8).collect();
    assert_eq!(read(&journal, start), expected);
    let opened = again(&journal);
    assert_eq!((opened.start(), opened.end()), (journal.start(), journal.end()));
    assert_eq!(read(&opened, start), expected);
    assert_eq!(opened.last_output_ms(), Some(99));
    assert_eq!(opened.began(), UnixMs(1_000));
}

#[test]
fn what_the_screen_has_not_drawn_is_never_trimmed() {
    let mut journal = journal(4_096);
    let mut written = 0;
    while journal.append(0, &[1; 100], Offset(20)) == 100 {
        written += 100;
    }
    assert!(written > 3_000, "{written}");
    assert_eq!(journal.start(), Offset(0));
    assert!(journal.room(Offset(20)) < 100);
    assert!(journal.room(Offset(950)) >= 100);
    assert_eq!(journal.append(1, &[2; 100], Offset(950)), 100);
    assert!(journal.start() > Offset(0) && journal.start() <= Offset(950));
}

#[test]
fn there_is_room_for_what_room_says_and_for_a_size() {
    let mut journal = journal(4_096);
    journal.append(0, &[1; 500], ALL);
    loop {
        let room = journal.room(Offset(250));
        if room == 0 {
            break;
        }
        journal.resize(1, Size::new(90, 20));
        assert_eq!(journal.append(1, &vec![2; room], Offset(250)), room);
    }
    journal.resize(1, Size::new(100, 20));
    assert_eq!(journal.start(), Offset(0));
}

#[test]
fn what_was_trimmed_is_said_to_be_gone() {
    let mut journal = journal(4_096);
    journal.append(0, &[1; 50_000], ALL);
    let start = journal.start();
    assert!(start > Offset(0));
    let read = journal.read(Offset(0), 0, 10, &mut Vec::new());
    assert_eq!(read, Read::Trimmed { start });
}

#[test]
fn a_size_stands_between_the_bytes_around_it() {
    let mut journal = journal(4_096);
    journal.append(0, b"before", ALL);
    journal.resize(1, Size::new(100, 30));
    journal.append(2, b"after", ALL);
    for journal in [&journal, &again(&journal)] {
        let mut bytes = Vec::new();
        assert_eq!(journal.read(Offset(0), 0, 100, &mut bytes), Read::Output);
        assert_eq!(bytes, b"before");
        let size = Read::Size {
            number: 0,
            size: Size::new(100, 30),
            offset: Offset(6),
        };
        assert_eq!(journal.read(Offset(6), 0, 100, &mut bytes), size);
        assert_eq!(journal.read(Offset(6), 1, 100, &mut bytes), Read::Output);
        assert_eq!(bytes, b"beforeafter");
        assert_eq!(journal.read(Offset(11), 1, 100, &mut bytes), Read::Nothing);
        assert_eq!(journal.size(), Size::new(100, 30));
    }
}

#[test]
fn the_size_and_its_number_are_known_when_their_record_is_gone() {
    let mut journal = journal(4_096);
    journal.resize(0, Size::new(100, 30));
    journal.append(1, &[1; 50_000], ALL);
    let mut opened = again(&journal);
    assert_eq!(opened.size(), Size::new(100, 30));
    opened.resize(2, Size::new(50, 10));
    let next = opened.read(opened.end(), 0, 1, &mut Vec::new());
    assert!(matches!(next, Read::Size { number: 1, .. }), "{next:?}");
}

#[test]
fn an_idle_session_touches_few_pages() {
    let mut journal = journal(2 << 20);
    journal.append(0, &[b'x'; 2_000], ALL);
    let file = std::fs::File::from(journal.descriptor().try_clone_to_owned().unwrap());
    let blocks = std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap());
    assert!(blocks * 512 <= 8 * 1024, "{blocks} blocks of 512 bytes");
}

#[test]
fn what_the_program_said_and_when_it_worked_is_known_to_who_opens_it() {
    let mut journal = journal(4_096);
    assert_eq!(again(&journal).said(), (Offset::START, Said::default()));
    assert_eq!(
        (again(&journal).worked(), again(&journal).disturbed()),
        (None, None)
    );
    let long = "é".repeat(1_000);
    let words = [
        Word::Calls(Some(long.clone())),
        Word::Runs,
        Word::Calls(None),
        Word::AtPrompt,
    ];
    for (number, word) in words.into_iter().enumerate() {
        journal.set_applied([number as u8; 16], 7, 7);
        let heard = Offset(number as u64);
        let said = Said {
            word: Some((number as u64, word)),
            has_marks: number % 2 == 0,
        };
        journal.set_said(heard, &said);
        let mut expected = said;
        if let Some((_, Word::Calls(Some(text)))) = &mut expected.word {
            text.truncate(888);
        }
        assert_eq!(again(&journal).said(), (heard, expected));
    }
    journal.set_worked((0, 5));
    journal.set_disturbed(0);
    let opened = again(&journal);
    assert_eq!((opened.worked(), opened.disturbed()), (Some((0, 5)), Some(0)));
    assert_eq!(opened.applied([0; 16]), Some((7, true)));
}

#[test]
fn a_journal_without_its_records_counts_the_sessions_time_on() {
    let mut journal = journal(4_096);
    journal.append(7, b"one", ALL);
    // As if the session had begun with the machine.
    journal.began_steady_ms = 0;
    let lasted = journal.time_ms();
    let emptied = journal.without_records().unwrap();
    assert!(lasted > 0 && emptied.time_ms() >= lasted);
    assert_eq!(
        (emptied.began(), emptied.last_output_ms()),
        (UnixMs(1_000), Some(7))
    );
    assert_eq!((emptied.start(), emptied.end()), (Offset(3), Offset(3)));
}

#[test]
fn a_byte_is_known_by_its_record() {
    let mut journal = journal(4_096);
    journal.append(5, b"one", ALL);
    journal.append(9, b"two", ALL);
    let before = |end| journal.record_before(Offset(end));
    assert_eq!((before(0), before(7)), (None, None));
    assert_eq!(
        (before(1), before(3)),
        (Some((5, Offset(3))), Some((5, Offset(3))))
    );
    assert_eq!(before(4), Some((9, Offset(6))));
}

#[test]
fn what_was_answered_and_applied_is_known_to_who_opens_it() {
    let journal = journal(4_096);
    journal.set_answered(Offset(77));
    for client in 0..64_u8 {
        journal.set_applied([client; 16], u64::from(client), u64::from(client));
    }
    journal.set_applied([0; 16], 100, 100);
    journal.set_applied([64; 16], 64, 101);
    let opened = again(&journal);
    assert_eq!(opened.answered(), Offset(77));
    assert_eq!(opened.applied([0; 16]), Some((100, true)));
    assert_eq!(opened.applied([1; 16]), None, "the one longest unused went");
    assert_eq!(opened.applied([2; 16]), Some((2, true)));
    assert_eq!(opened.applied([64; 16]), Some((64, true)));
    assert_eq!(opened.applied([65; 16]), None);
}

#[test]
fn what_was_being_applied_is_in_doubt_to_who_opens_it() {
    let journal = journal(4_096);
    journal.set_applied([1; 16], 7, 1);
    journal.set_applying([1; 16], 8, 2);
    journal.set_applying([2; 16], 1, 3);
    let opened = again(&journal);
    assert_eq!(opened.applied([1; 16]), Some((8, false)));
    assert_eq!(opened.applied([2; 16]), Some((1, false)));
    opened.touch_applied([1; 16], 4);
    opened.set_applied([2; 16], 1, 5);
    let opened = again(&opened);
    assert_eq!(opened.applied([1; 16]), Some((8, false)));
    assert_eq!(opened.applied([2; 16]), Some((1, true)));
}

#[test]
fn asking_for_a_client_changes_nothing_of_what_was_applied() {
    let journal = journal(4_096);
    journal.touch_applied([1; 16], 1);
    assert_eq!(journal.applied([1; 16]), Some((0, true)));
    journal.set_applied([1; 16], 7, 2);
    for client in 2..65_u8 {
        journal.set_applied([client; 16], 1, 3);
    }
    journal.touch_applied([1; 16], 4);
    journal.touch_applied([65; 16], 5);
    assert_eq!(journal.applied([1; 16]), Some((7, true)));
    assert_eq!(journal.applied([2; 16]), None, "the one longest unused went");
    assert_eq!(journal.applied([65; 16]), Some((0, true)));
}

#[test]
fn memory_that_could_shrink_is_refused() {
    let descriptor = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&descriptor, 1 << 20).unwrap();
    assert!(Journal::open(descriptor).is_err());
    let plain = tempfile::tempfile().unwrap();
    assert!(Journal::open(plain.into()).is_err());
}

/// What happens to a session.
#[derive(Debug, Clone)]
enum Step {
    Append { length: usize, keep: u64 },
    Resize { columns: u16 },
    Open,
    Read { back: u64, limit: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1_usize..3_000, 0_u64..5_000).prop_map(|(length, keep)| Step::Append { length, keep }),
        2 => (1_u16..200).prop_map(|columns| Step::Resize { columns }),
        1 => proptest::prelude::Just(Step::Open),
        3 => (0_u64..20_000, 1_usize..9_000).prop_map(|(back, limit)| Step::Read { back, limit }),
    ]
}

/// All that a session ever wrote.
#[derive(Default)]
struct Model {
    bytes: Vec<u8>,
    sizes: Vec<(u64, Size)>,
}

impl Model {
    /// What stands at `from`, as long as it is not trimmed.
    fn read(&self, from: u64, next_size: usize, limit: usize) -> (Option<(usize, Size)>, &[u8]) {
        let next = self.sizes.get(next_size);
        if let Some((_, size)) = next.filter(|(offset, _)| *offset <= from) {
            return (Some((next_size, *size)), &[]);
        }
        let stop = next.map_or(self.bytes.len(), |(offset, _)| *offset as usize);
        let from = (from as usize).min(stop);
        (None, &self.bytes[from..stop.min(from.saturating_add(limit))])
    }
}

fn check(journal: &Journal, model: &Model, from: u64, limit: usize) -> Result<(), TestCaseError> {
    let from = from.max(journal.start().0);
    let number = journal.first_size_from(Offset(from));
    // What stands at the first offset of the ring may have been trimmed with what is before it.
    let expected = model.sizes.iter().filter(|(offset, _)| *offset < from).count() as u64;
    prop_assert!(number == expected || from == journal.start().0 && number >= expected);
    let mut bytes = Vec::new();
    let read = journal.read(Offset(from), number, limit, &mut bytes);
    let (size, output) = model.read(from, number as usize, limit);
    prop_assert_eq!(&bytes, output);
    match size {
        Some((index, expected)) => {
            let is_expected =
                matches!(read, Read::Size { number, size, .. } if number == index as u64 && size == expected);
            prop_assert!(is_expected);
        }
        None if output.is_empty() => prop_assert_eq!(read, Read::Nothing),
        None => prop_assert_eq!(read, Read::Output),
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_journal_says_what_was_written_to_it(steps in proptest::collection::vec(step(), 1..120)) {
        let mut journal = journal(8 * 1_024);
        let mut model = Model::default();
        for (time, step) in steps.into_iter().enumerate() {
            match step {
                Step::Append { length, keep } => {
                    let end = model.bytes.len();
                    let bytes: Vec<u8> = (end..end + length).map(|index| (index * 7 / 3) as u8).collect();
                    let keep_from = journal.end().minus(keep as usize);
                    let kept = keep_from.max(journal.start());
                    let room = journal.room(keep_from);
                    let taken = journal.append(time as u64, &bytes, keep_from);
                    prop_assert!(taken >= room.min(length));
                    prop_assert!(journal.start() <= kept);
                    model.bytes.extend_from_slice(&bytes[..taken]);
                }
                Step::Resize { columns } => {
                    let size = Size::new(columns, 24);
                    journal.resize(time as u64, size);
                    model.sizes.push((model.bytes.len() as u64, size));
                }
                Step::Open => journal = again(&journal),
                Step::Read { back, limit } => {
                    check(&journal, &model, (model.bytes.len() as u64).saturating_sub(back), limit)?;
                }
            }
            prop_assert_eq!(journal.end(), Offset(model.bytes.len() as u64));
        }
        check(&journal, &model, 0, usize::MAX)?;
    }

    #[test]
    fn a_damaged_journal_is_refused_or_read_within_its_bounds(
        damage in proptest::collection::vec((0_usize..12 * 1_024, any::<u8>()), 1..20),
        header in proptest::collection::vec((0_usize..9, any::<u64>()), 0..2),
        records in 1_usize..40,
    ) {
        let mut journal = journal(8 * 1_024);
        for index in 0..records {
            journal.append(index as u64, &vec![index as u8; index * 37 % 500 + 1], ALL);
            journal.resize(index as u64, Size::new(index as u16, 10));
        }
        for (at, byte) in damage {
            journal.map.copy_from(at, &[byte]);
        }
        for (word, value) in header {
            journal.map.store(word * 8, value);
        }
        let descriptor = journal.descriptor().try_clone_to_owned().unwrap();
        // Who has it open already, and who opens it.
        for mut journal in [Some(journal), Journal::open(descriptor).ok()].into_iter().flatten() {
            use_all(&mut journal);
            let _ = journal.refresh();
            use_all(&mut journal);
        }
    }

    #[test]
    fn arbitrary_memory_is_refused(mut bytes in proptest::collection::vec(any::<u8>(), 8..10_000)) {
        bytes.truncate(bytes.len() / 8 * 8);
        let mut file = std::fs::File::from(memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap());
        std::io::Write::write_all(&mut file, &bytes).unwrap();
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW).unwrap();
        prop_assert!(Journal::open(file.into()).is_err());
    }
}

fn use_all(journal: &mut Journal) {
    let mut bytes = Vec::new();
    for from in [0, journal.start().0, journal.end().0 / 2, journal.end().0] {
        journal.read(Offset(from), 0, 10_000, &mut bytes);
        journal.read(Offset(from), u64::MAX, 10_000, &mut bytes);
        journal.room(Offset(from));
    }
    journal.applied([0; 16]);
    journal.append(0, &[1; 3_000], ALL);
    journal.resize(0, Size::default());
    journal.append(0, &[1; 3_000], Offset(0));
    journal.read(journal.start(), 0, 10_000, &mut bytes);
}
