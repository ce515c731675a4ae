//! What cells are written with, each kept once and known by a number.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::links::Links;
use crate::snapshot::{Colour, Pen, Underline};

/// Colours, attributes and link of a cell.
#[derive(Debug, Clone, Copy, Eq, Default)]
pub(super) struct Style {
    pub(super) foreground: Tint,
    pub(super) background: Tint,
    pub(super) underline_colour: Tint,
    pub(super) attributes: u16,
    /// The number of the link, or 0.
    pub(super) link: u32,
}

/// A colour in a number, which is compared and mixed faster than its parts. The highest byte tells the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tint(u32);

impl Tint {
    pub(super) const DEFAULT: Self = Self(0);

    /// One of the sixteen that have sequences of their own.
    pub(super) fn basic(index: u8) -> Self {
        Self(1 << 24 | u32::from(index))
    }

    pub(super) fn indexed(index: u8) -> Self {
        Self(2 << 24 | u32::from(index))
    }

    pub(super) fn rgb(red: u8, green: u8, blue: u8) -> Self {
        Self(u32::from_be_bytes([3, red, green, blue]))
    }

    fn colour(self) -> Colour {
        match self.0.to_be_bytes() {
            [1, .., index] => Colour::Basic(index),
            [2, .., index] => Colour::Indexed(index),
            [3, red, green, blue] => Colour::Rgb(red, green, blue),
            _ => Colour::Default,
        }
    }
}

impl Style {
    pub(super) const BOLD: u16 = 1;
    pub(super) const DIM: u16 = 1 << 1;
    pub(super) const ITALIC: u16 = 1 << 2;
    pub(super) const INVERSE: u16 = 1 << 3;
    pub(super) const HIDDEN: u16 = 1 << 4;
    pub(super) const STRUCK: u16 = 1 << 5;
    /// Three bits: the kind of underline.
    const UNDERLINE: u32 = 8;

    /// What cells are erased with.
    pub(super) fn erased(self) -> Self {
        Self {
            background: self.background,
            ..Self::default()
        }
    }

    pub(super) fn underline(self) -> Underline {
        match self.attributes >> Self::UNDERLINE {
            1 => Underline::Single,
            2 => Underline::Double,
            3 => Underline::Curly,
            4 => Underline::Dotted,
            5 => Underline::Dashed,
            _ => Underline::None,
        }
    }

    pub(super) fn set_underline(&mut self, underline: Underline) {
        self.attributes &= (1 << Self::UNDERLINE) - 1;
        self.attributes |= (underline as u16) << Self::UNDERLINE;
    }

    pub(super) fn set(&mut self, attribute: u16, on: bool) {
        if on {
            self.attributes |= attribute;
        } else {
            self.attributes &= !attribute;
        }
    }

    pub(super) fn has(self, attribute: u16) -> bool {
        self.attributes & attribute != 0
    }

    /// Where the style is kept while it is recent.
    #[inline(always)]
    fn slot(&self) -> usize {
        let colours = self.foreground.0 ^ self.background.0.rotate_left(5);
        let mixed = (colours ^ u32::from(self.attributes).rotate_left(9)).wrapping_mul(0x9e37_79b1);
        (mixed >> 27) as usize % RECENT
    }

    /// Whether a blank of this style is nothing to keep when lines are wrapped anew.
    pub(super) fn is_empty(self) -> bool {
        self.foreground == Tint::DEFAULT
            && self.background == Tint::DEFAULT
            && !self.has(Self::INVERSE | Self::STRUCK)
            && self.underline() == Underline::None
    }
}

impl PartialEq for Style {
    /// Without branches, which nobody could predict.
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        let colours = (self.foreground.0 ^ other.foreground.0)
            | (self.background.0 ^ other.background.0)
            | (self.underline_colour.0 ^ other.underline_colour.0);
        let others = u32::from(self.attributes ^ other.attributes) | (self.link ^ other.link);
        colours | others == 0
    }
}

impl Hash for Style {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.foreground.0) | u64::from(self.background.0) << 32);
        state.write_u64(u64::from(self.underline_colour.0) | u64::from(self.attributes) << 32);
        state.write_u32(self.link);
    }
}

/// All styles in use, and some that no longer are. Number 0 is the default style.
#[derive(Debug)]
pub(super) struct Styles {
    entries: Vec<Style>,
    numbers: HashMap<Style, u32, BuildHasherDefault<Mixer>>,
    free: Vec<u32>,
    /// Styles asked for lately and their numbers, where their colours and attributes put them.
    recent: [(Style, u32); RECENT],
    /// When to look for styles that are no longer used.
    limit: usize,
    pub(super) links: Links,
}

impl Default for Styles {
    fn default() -> Self {
        Self {
            entries: vec![Style::default()],
            numbers: HashMap::default(),
            free: Vec::new(),
            recent: [(Style::default(), 0); RECENT],
            limit: MIN_LIMIT,
            links: Links::default(),
        }
    }
}

impl Styles {
    /// The style of a number.
    pub(super) fn get(&self, number: u32) -> Style {
        self.entries.get(number as usize).copied().unwrap_or_default()
    }

    /// The number of a style, if it was asked for lately.
    ///
    /// The style is read part by part where it is: one that was just changed is slow to copy.
    #[inline(always)]
    pub(super) fn recent(&self, style: &Style) -> Option<u32> {
        let (recent, number) = &self.recent[style.slot()];
        (recent == style).then_some(*number)
    }

    /// The number of a style.
    pub(super) fn number(&mut self, style: Style) -> u32 {
        let number = self.lasting_number(style);
        self.recent[style.slot()] = (style, number);
        number
    }

    fn lasting_number(&mut self, style: Style) -> u32 {
        if style == Style::default() {
            return 0;
        }
        if let Some(number) = self.numbers.get(&style) {
            return *number;
        }
        let number = if let Some(number) = self.free.pop() {
            self.entries[number as usize] = style;
            number
        } else if self.entries.len() < MAX_STYLES {
            self.entries.push(style);
            // There are at most MAX_STYLES.
            (self.entries.len() - 1) as u32
        } else {
            // Its text stays.
            return 0;
        };
        self.numbers.insert(style, number);
        number
    }

    /// Whether styles should be swept before another one comes.
    pub(super) fn is_full(&self) -> bool {
        self.numbers.len() >= self.limit || self.links.is_full()
    }

    /// Forgets the styles whose numbers are not marked, and their links; `pens` are in use too.
    pub(super) fn sweep(&mut self, used: &[bool], pens: &[Style]) {
        let is_used = |number: u32| used.get(number as usize).copied().unwrap_or(false);
        self.numbers.retain(|_, number| is_used(*number));
        self.free = (1..self.entries.len() as u32)
            .filter(|number| !is_used(*number))
            .collect();
        self.recent = [(Style::default(), 0); RECENT];
        self.limit = (2 * self.numbers.len()).max(MIN_LIMIT);
        let links = self.numbers.keys().chain(pens).map(|style| style.link);
        self.links.sweep(links);
    }

    /// How many numbers were given.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The style as what draws it.
    pub(super) fn pen(&self, style: Style) -> Pen {
        Pen {
            foreground: style.foreground.colour(),
            background: style.background.colour(),
            underline_colour: style.underline_colour.colour(),
            underline: style.underline(),
            is_bold: style.has(Style::BOLD),
            is_dim: style.has(Style::DIM),
            is_italic: style.has(Style::ITALIC),
            is_inverse: style.has(Style::INVERSE),
            is_hidden: style.has(Style::HIDDEN),
            is_struck: style.has(Style::STRUCK),
            link: self.links.get(style.link),
        }
    }
}

/// Mixes a few numbers fast; nobody gains from making these collide but in his own terminal.
#[derive(Debug, Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(26) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Styles to be found without looking them up.
const RECENT: usize = 32;
/// Styles before the first sweep.
const MIN_LIMIT: usize = 1_024;
/// Styles at once (24 MB and their index); a picture in true colour on the largest screen may have more.
const MAX_STYLES: usize = 1 << 20;
