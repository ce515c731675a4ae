//! The hyperlinks of a screen (OSC 8), each kept once and known by a number.

use std::collections::{HashMap, HashSet};

use crate::snapshot::Link;

/// All links in use, and some that no longer are. Number 0 is no link.
#[derive(Debug, Default)]
pub(super) struct Links {
    links: HashMap<u32, Link>,
    numbers: HashMap<Link, u32>,
    last: u32,
    /// Links that the program gave no id.
    unnamed: u32,
    bytes: usize,
    is_stale: bool,
}

impl Links {
    /// The link of a number.
    pub(super) fn get(&self, number: u32) -> Option<Link> {
        self.links.get(&number).cloned()
    }

    /// The number of a link, or 0 if it is too long, cannot be written again as it came, or is one too many.
    /// Without an id it gets one of its own, so that its parts stay one link when they are drawn apart.
    pub(super) fn number(&mut self, id: Option<&str>, uri: &str) -> u32 {
        let has_control = |text: &str| text.contains(char::is_control);
        if uri.len() > MAX_URI
            || id.is_some_and(|id| id.len() > MAX_ID || has_control(id))
            || has_control(uri)
        {
            return 0;
        }
        let id = id.map_or_else(
            || {
                self.unnamed = self.unnamed.wrapping_add(1);
                format!("{UNNAMED}{}", self.unnamed)
            },
            str::to_owned,
        );
        let link = Link {
            id,
            uri: uri.to_owned(),
        };
        if let Some(number) = self.numbers.get(&link) {
            return *number;
        }
        let bytes = link.id.len() + link.uri.len();
        if self.bytes + bytes > MAX_BYTES || self.last == u32::MAX {
            return 0;
        }
        self.bytes += bytes;
        self.is_stale = false;
        self.last += 1;
        self.links.insert(self.last, link.clone());
        self.numbers.insert(link, self.last);
        self.last
    }

    /// Whether there is so much that links no longer used should be swept before another one comes.
    pub(super) fn is_full(&self) -> bool {
        self.bytes + MAX_URI + MAX_ID > MAX_BYTES && !self.is_stale
    }

    /// Forgets all links but those.
    pub(super) fn sweep(&mut self, used: impl Iterator<Item = u32>) {
        let used: HashSet<u32> = used.collect();
        self.links.retain(|number, _| used.contains(number));
        self.numbers.retain(|_, number| used.contains(number));
        self.bytes = self
            .numbers
            .keys()
            .map(|link| link.id.len() + link.uri.len())
            .sum();
        // Until another one is taken in there is nothing more to sweep.
        self.is_stale = true;
    }
}

/// What ids of our own begin with.
pub(super) const UNNAMED: char = '~';
/// Bytes of a link's address; what VTE's terminals take.
const MAX_URI: usize = 2_083;
/// Bytes of a link's id.
const MAX_ID: usize = 250;
/// Bytes of all links of a session; further ones are text only.
const MAX_BYTES: usize = 1024 * 1024;
