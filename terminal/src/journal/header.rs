//! The first page of a journal: words at fixed places, each stored as one.

use std::io;

use super::map::{Map, invalid};
use super::record::HEADER;
use super::{Position, UnixMs};
use crate::offset::Offset;
use crate::size::Size;

/// Writes the page of a journal that begins.
pub(super) fn initialise(map: &Map, size: Size, began: UnixMs, began_steady_ms: u64) {
    map.store(CAPACITY, (map.length() - PAGE) as u64);
    map.store(BEGAN, began.0);
    map.store(BEGAN_STEADY, began_steady_ms);
    store_size(map, 0, size);
    map.store(FIRST_SIZE, map.load(SIZE));
    map.store(VERSION, CURRENT);
    // Last: without it this is no journal.
    map.store(MAGIC, u64::from_le_bytes(*b"transomj"));
}

/// Checks that this is a journal which this build can read and write. Returns its capacity.
pub(super) fn check(map: &Map) -> io::Result<usize> {
    if map.length() < PAGE + SMALLEST || map.load(MAGIC) != u64::from_le_bytes(*b"transomj") {
        return Err(invalid("this is no journal"));
    }
    if map.load(VERSION) != CURRENT {
        return Err(invalid("the journal is of another version"));
    }
    let capacity = map.length() - PAGE;
    if map.load(CAPACITY) != capacity as u64 {
        return Err(invalid("the journal is not as long as it says"));
    }
    Ok(capacity)
}

pub(super) fn began(map: &Map) -> (UnixMs, u64) {
    (UnixMs(map.load(BEGAN)), map.load(BEGAN_STEADY))
}

/// Where the oldest record begins and the newest ends.
pub(super) fn bounds(map: &Map) -> (Position, Position) {
    let write = map.load(WRITE);
    (map.load(START), write)
}

pub(super) fn store_start(map: &Map, start: Position) {
    map.store(START, start);
}

/// Publishes everything that was written before `write`.
pub(super) fn store_write(map: &Map, write: Position) {
    map.store(WRITE, write);
}

/// How many size changes there were and the newest size, in one word.
pub(super) fn store_size(map: &Map, count: u64, size: Size) {
    let sides = u64::from(size.columns()) << 16 | u64::from(size.rows());
    map.store(SIZE, count << 32 | sides);
}

pub(super) fn size(map: &Map) -> (u64, Size) {
    size_at(map, SIZE)
}

/// The size at first.
pub(super) fn first_size(map: &Map) -> Size {
    size_at(map, FIRST_SIZE).1
}

fn size_at(map: &Map, at: usize) -> (u64, Size) {
    let word = map.load(at);
    let side = |shift: u32| (word >> shift & 0xffff) as u16;
    (word >> 32, Size::new(side(16), side(0)))
}

pub(super) fn answered(map: &Map) -> Offset {
    Offset(map.load(ANSWERED))
}

pub(super) fn store_answered(map: &Map, offset: Offset) {
    map.store(ANSWERED, offset.0);
}

/// The last sequence applied for a client, if it is remembered, and whether that is certain: it is not where whoever applied it
/// was interrupted.
pub(super) fn applied(map: &Map, client: [u8; 16]) -> Option<(u64, bool)> {
    let slot = slot_of(map, client)?;
    let is_certain = map.load(place(slot) + SLOT_USED) & IN_DOUBT == 0;
    Some((map.load(place(slot) + SLOT_SEQUENCE), is_certain))
}

/// Remembers the sequence that is about to be applied for a client: in doubt until it is stored as applied.
pub(super) fn store_applying(map: &Map, client: [u8; 16], sequence: u64, now_ms: u64) {
    touch_applied(map, client, now_ms);
    if let Some(slot) = slot_of(map, client) {
        // In this order: there is no moment at which it seems certain.
        let used = place(slot) + SLOT_USED;
        map.store(used, map.load(used) | IN_DOUBT);
        map.store(place(slot) + SLOT_SEQUENCE, sequence);
    }
}

/// Remembers a client's last sequence for longer, which is 0 where none was; what is in doubt stays so.
pub(super) fn touch_applied(map: &Map, client: [u8; 16], now_ms: u64) {
    match slot_of(map, client) {
        Some(slot) => {
            let used = place(slot) + SLOT_USED;
            map.store(used, now_ms.saturating_add(1) | map.load(used) & IN_DOUBT);
        }
        None => store_applied(map, client, 0, now_ms),
    }
}

/// Remembers the last sequence applied for a client; where there is no place, the one longest unused is forgotten.
pub(super) fn store_applied(map: &Map, client: [u8; 16], sequence: u64, now_ms: u64) {
    // Zero says that a slot is empty.
    let now = now_ms.saturating_add(1);
    if let Some(slot) = slot_of(map, client) {
        map.store(place(slot) + SLOT_SEQUENCE, sequence);
        map.store(place(slot) + SLOT_USED, now);
        return;
    }
    let Some(slot) = (0..SLOTS).min_by_key(|&slot| used(map, slot)) else {
        return;
    };
    let [low, high] = halves(client);
    // Empty while it is neither the one's nor the other's.
    map.store(place(slot) + SLOT_USED, 0);
    map.store(place(slot) + SLOT_CLIENT, low);
    map.store(place(slot) + SLOT_CLIENT + 8, high);
    map.store(place(slot) + SLOT_SEQUENCE, sequence);
    map.store(place(slot) + SLOT_USED, now);
}

fn slot_of(map: &Map, client: [u8; 16]) -> Option<usize> {
    (0..SLOTS).find(|&slot| used(map, slot) != 0 && slot_client(map, slot) == client)
}

fn place(slot: usize) -> usize {
    APPLIED + slot * SLOT
}

fn used(map: &Map, slot: usize) -> u64 {
    map.load(place(slot) + SLOT_USED) & !IN_DOUBT
}

fn slot_client(map: &Map, slot: usize) -> [u8; 16] {
    let low = map.load(place(slot) + SLOT_CLIENT).to_le_bytes();
    let high = map.load(place(slot) + SLOT_CLIENT + 8).to_le_bytes();
    std::array::from_fn(|index| if index < 8 { low[index] } else { high[index - 8] })
}

fn halves(client: [u8; 16]) -> [u64; 2] {
    let number = u128::from_le_bytes(client);
    [number as u64, (number >> 64) as u64]
}

/// Bytes before the records.
pub(super) const PAGE: usize = 4 * 1024;
/// Bytes of records at least; four of the largest always fit (see `Journal::max_content`).
pub(super) const SMALLEST: usize = 64 * HEADER;
const CURRENT: u64 = 1;

const MAGIC: usize = 0;
const VERSION: usize = 8;
const CAPACITY: usize = 16;
const BEGAN: usize = 24;
const BEGAN_STEADY: usize = 32;
const WRITE: usize = 40;
const START: usize = 48;
const SIZE: usize = 56;
const ANSWERED: usize = 64;
const FIRST_SIZE: usize = 72;
/// The first free byte before the table of clients' last sequences.
pub(super) const FREE: usize = 80;
/// That table, and the byte behind it.
pub(super) const APPLIED: usize = 1024;
pub(super) const APPLIED_END: usize = APPLIED + SLOTS * SLOT;
const SLOT: usize = 32;
const SLOT_CLIENT: usize = 0;
const SLOT_SEQUENCE: usize = 16;
const SLOT_USED: usize = 24;
/// Set in the time at which a place was used, while its sequence is in doubt.
const IN_DOUBT: u64 = 1 << 63;
/// Clients remembered; more than anybody has windows open.
const SLOTS: usize = 64;
