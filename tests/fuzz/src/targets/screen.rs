//! The screen under anything that a program may write, and a change of size: a snapshot goes on as it does.

use terminal::{Screen, Size, screen};

/// The sizes before and after take four bytes, where the change comes in two, and where the snapshot is taken two; the rest is
/// output.
pub(crate) fn run(bytes: &[u8]) {
    let Some((
        [
            columns,
            rows,
            other_columns,
            other_rows,
            change @ ..,
            cut_0,
            cut_1,
        ],
        output,
    )) = bytes.split_first_chunk::<8>()
    else {
        return;
    };
    let size = |columns: u8, rows: u8| Size::new(u16::from(columns), u16::from(rows % 64));
    let at = |bytes: [u8; 2], length: usize| usize::from(u16::from_be_bytes(bytes)) % (length + 1);
    let (first, output) = output.split_at(at(*change, output.len()));
    let (second, rest) = output.split_at(at([*cut_0, *cut_1], output.len()));
    let mut original = screen(size(*columns, *rows));
    original.feed(first);
    original.resize(size(*other_columns, *other_rows));
    original.feed(second);
    let mut copy = screen(original.size());
    copy.feed(&original.snapshot());
    let fed = [first, second].concat();
    copy.feed(&fed[fed.len() - original.pending()..]);
    assert_same(&*original, &*copy);
    original.feed(rest);
    copy.feed(rest);
    assert_same(&*original, &*copy);
    assert!(original.take_replies().len() < MOST_REPLIES);
}

fn assert_same(original: &dyn Screen, copy: &dyn Screen) {
    assert_eq!(original.text_lines(), copy.text_lines());
    assert_eq!(original.cursor(), copy.cursor());
    assert_eq!(original.cursor_visible(), copy.cursor_visible());
    assert_eq!(original.is_alternate(), copy.is_alternate());
    assert_eq!(original.key_modes(), copy.key_modes());
    assert_eq!(original.title(), copy.title());
    let (column, row) = original.cursor();
    let size = original.size();
    assert!(
        row < size.rows() && column < size.columns().max(2),
        "{column} {row}"
    );
}

/// Bytes that wait for the program, at most.
const MOST_REPLIES: usize = 100_000;
