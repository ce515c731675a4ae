//! The colours that a program may change, and those that it is told when it asks and has changed none: xterm's
//! palette, light on dark.

use std::collections::BTreeMap;

/// Changed colours by index: 0 to 255 the palette, then foreground, background and cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Colours(BTreeMap<usize, [u8; 3]>);

impl Colours {
    /// The colour of an index.
    pub(super) fn get(&self, index: usize) -> [u8; 3] {
        self.0.get(&index).copied().unwrap_or_else(|| default(index))
    }

    /// Changes a colour, or changes it back.
    pub(super) fn set(&mut self, index: usize, colour: Option<[u8; 3]>) {
        match colour {
            Some(colour) => self.0.insert(index, colour),
            None => self.0.remove(&index),
        };
    }

    /// Changes the palette back.
    pub(super) fn reset_palette(&mut self) {
        self.0.retain(|index, _| *index >= FOREGROUND);
    }

    /// The sequences that change fresh colours to these.
    pub(super) fn sequences(&self) -> String {
        let sequence = |(index, [r, g, b]): (&usize, &[u8; 3])| {
            let code = match *index {
                index if index < FOREGROUND => format!("4;{index}"),
                index => format!("1{}", index - FOREGROUND),
            };
            format!("\x1b]{code};rgb:{r:02x}/{g:02x}/{b:02x}\x1b\\")
        };
        self.0.iter().map(sequence).collect()
    }
}

/// A colour as XParseColor(3) reads it: `#rgb` with one to four digits each, or `rgb:r/g/b`.
pub(super) fn parse(colour: &[u8]) -> Option<[u8; 3]> {
    let colour = std::str::from_utf8(colour).ok().filter(|text| text.is_ascii())?;
    if let Some(digits) = colour.strip_prefix('#') {
        let length = digits.len() / 3;
        let value = |digits: &str| {
            let digits = Some(digits).filter(|digits| digits.len() <= 4)?;
            let value = u64::from_str_radix(digits, 16).ok()? << 4;
            // The two highest digits.
            Some((value >> (4 * digits.len().saturating_sub(1))) as u8)
        };
        let (red, rest) = digits.split_at(length);
        let (green, blue) = rest.split_at(length);
        return Some([value(red)?, value(green)?, value(blue)?]);
    }
    let mut parts = colour.strip_prefix("rgb:")?.split('/');
    let mut value = || {
        let digits = parts.next().filter(|digits| digits.len() <= 4)?;
        let max = (1_u32 << (4 * digits.len())) - 1;
        let value = u32::from_str_radix(digits, 16).ok()?;
        u8::try_from((255 * value).checked_div(max)?).ok()
    };
    let rgb = [value()?, value()?, value()?];
    parts.next().is_none().then_some(rgb)
}

fn default(index: usize) -> [u8; 3] {
    let of = |value: u32| {
        let [_, r, g, b] = value.to_be_bytes();
        [r, g, b]
    };
    match index {
        0..16 => of(BASIC[index]),
        16..=231 => {
            let level = |step: usize| {
                if step == 0 {
                    0
                } else {
                    u8::try_from(55 + step * 40).unwrap_or(u8::MAX)
                }
            };
            let cube = index - 16;
            [level(cube / 36), level(cube / 6 % 6), level(cube % 6)]
        }
        232..=255 => [u8::try_from(8 + (index - 232) * 10).unwrap_or(u8::MAX); 3],
        BACKGROUND => of(0x00_00_00),
        _ => of(0xe5_e5_e5),
    }
}

pub(super) const FOREGROUND: usize = 256;
pub(super) const BACKGROUND: usize = 257;
pub(super) const CURSOR: usize = 258;
/// xterm's sixteen.
const BASIC: [u32; 16] = [
    0x00_00_00, 0xcd_00_00, 0x00_cd_00, 0xcd_cd_00, 0x00_00_ee, 0xcd_00_cd, 0x00_cd_cd, 0xe5_e5_e5,
    0x7f_7f_7f, 0xff_00_00, 0x00_ff_00, 0xff_ff_00, 0x5c_5c_ff, 0xff_00_ff, 0x00_ff_ff, 0xff_ff_ff,
];

#[cfg(test)]
mod tests {
    use super::{Colours, parse};

    #[test]
    fn the_cube_and_the_greys_are_xterms() {
        let colours = Colours::default();
        assert_eq!(colours.get(16), [0, 0, 0]);
        assert_eq!(colours.get(16 + 36 + 2 * 6 + 5), [95, 135, 255]);
        assert_eq!(colours.get(255), [238, 238, 238]);
    }

    #[test]
    fn colours_are_read_as_xparsecolor_does() {
        assert_eq!(parse(b"#fff"), Some([0xf0, 0xf0, 0xf0]));
        assert_eq!(parse(b"#010203"), Some([1, 2, 3]));
        assert_eq!(parse(b"rgb:f/80/ffff"), Some([255, 128, 255]));
        for wrong in [
            &b"rgb:1/2"[..],
            b"rgb:1/2/3/4",
            b"#",
            b"red",
            b"rgb://",
            b"?",
            "#é1".as_bytes(),
        ] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }
}
