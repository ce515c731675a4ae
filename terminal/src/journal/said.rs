//! What a journal's first page says of the program's own words, and of when it worked.

use super::Journal;
use super::header::{APPLIED, APPLIED_END, FREE, PAGE};
use super::map::Map;
use crate::offset::Offset;
use crate::said::{Said, Word};
use crate::screen::MAX_TEXT;

impl Journal {
    /// What the program said last, and the ground offset up to which that was heard.
    pub(crate) fn said(&self) -> (Offset, Said) {
        said(&self.map)
    }

    /// Says what the program said last in what stands before `heard`.
    pub(crate) fn set_said(&mut self, heard: Offset, said: &Said) {
        store_said(&mut self.map, heard, said);
    }

    /// From when to when the program last wrote what was no echo; none if it never did.
    pub(crate) fn worked(&self) -> Option<(u64, u64)> {
        worked(&self.map)
    }

    /// Says so.
    pub(crate) fn set_worked(&self, (since, last): (u64, u64)) {
        store_worked(&self.map, since, last);
    }

    /// When somebody last typed or changed the size.
    pub(crate) fn disturbed(&self) -> Option<u64> {
        disturbed(&self.map)
    }

    /// Says that somebody did.
    pub(crate) fn set_disturbed(&self, at_ms: u64) {
        store_disturbed(&self.map, at_ms);
    }
}

/// What the program said last, and the ground offset up to which that was heard.
fn said(map: &Map) -> (Offset, Said) {
    let Some(at) = said_at(map) else {
        return (Offset::START, Said::default());
    };
    let [kind, has_marks, low, high, ..] = map.load(at + SAID_KIND).to_le_bytes();
    let mut text = vec![0; usize::from(u16::from_le_bytes([low, high])).min(MAX_TEXT)];
    map.copy_to(at + SAID_TEXT, &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let word = match kind {
        1 => Some(Word::Calls(None)),
        2 => Some(Word::Calls(Some(text))),
        3 => Some(Word::Runs),
        4 => Some(Word::AtPrompt),
        _ => None,
    };
    let said = Said {
        word: word.map(|word| (map.load(at + SAID_TIME), word)),
        has_marks: has_marks != 0,
    };
    (Offset(map.load(at)), said)
}

/// Publishes it by one word, after it is written in the place that is not in use.
fn store_said(map: &mut Map, heard: Offset, said: &Said) {
    let place = match map.load(SAID) {
        1 => 2,
        _ => 1,
    };
    let at = SAID_PLACES[place as usize - 1];
    let (kind, text) = match &said.word {
        None => (0, ""),
        Some((_, Word::Calls(None))) => (1, ""),
        Some((_, Word::Calls(Some(text)))) => (2, &text[..text.floor_char_boundary(MAX_TEXT)]),
        Some((_, Word::Runs)) => (3, ""),
        Some((_, Word::AtPrompt)) => (4, ""),
    };
    map.store(at, heard.0);
    map.store(at + SAID_TIME, said.word.as_ref().map_or(0, |(time, _)| *time));
    let length = text.len() as u64;
    map.store(
        at + SAID_KIND,
        length << 16 | u64::from(said.has_marks) << 8 | kind,
    );
    map.copy_from(at + SAID_TEXT, text.as_bytes());
    map.store(SAID, place);
}

fn said_at(map: &Map) -> Option<usize> {
    let place = usize::try_from(map.load(SAID)).ok()?;
    SAID_PLACES.get(place.checked_sub(1)?).copied()
}

/// From when to when the program last worked, by its output; none if it never did.
fn worked(map: &Map) -> Option<(u64, u64)> {
    let (since, last) = (map.load(WORKED_SINCE), map.load(WORKED_LAST));
    Some((since.checked_sub(1)?.min(last), last))
}

fn store_worked(map: &Map, since: u64, last: u64) {
    // Whoever is killed between the two leaves a stretch that ends too early.
    map.store(WORKED_SINCE, since.saturating_add(1));
    map.store(WORKED_LAST, last);
}

/// When somebody last typed or changed the size.
fn disturbed(map: &Map) -> Option<u64> {
    map.load(DISTURBED).checked_sub(1)
}

fn store_disturbed(map: &Map, at_ms: u64) {
    map.store(DISTURBED, at_ms.saturating_add(1));
}

// Zero in the journals of older processes, as is all that is not named here.
const DISTURBED: usize = FREE;
const WORKED_SINCE: usize = 88;
const WORKED_LAST: usize = 96;
/// Which of the two places says what the program said: one or two, or zero for none.
const SAID: usize = 104;
const SAID_PLACES: [usize; 2] = [APPLIED - SAID_LENGTH, APPLIED_END];
const SAID_KIND: usize = 8;
const SAID_TIME: usize = 16;
const SAID_TEXT: usize = 24;
const SAID_LENGTH: usize = SAID_TEXT + MAX_TEXT;
const _: () = assert!(SAID_PLACES[0] >= SAID + 8 && SAID_PLACES[1] + SAID_LENGTH <= PAGE);
