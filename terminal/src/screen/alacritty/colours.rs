//! The colours that a program is told when it asks and has set none: xterm's palette, light on dark.

use alacritty_terminal::vte::ansi::{NamedColor, Rgb};

/// The colour of an index of alacritty's: 0..256 the palette, then foreground, background and cursor.
pub(super) fn default(index: usize) -> Rgb {
    let of = |value: u32| {
        let [_, r, g, b] = value.to_be_bytes();
        Rgb { r, g, b }
    };
    match index {
        0..16 => of(BASIC[index]),
        16..232 => {
            let level = |step: usize| {
                if step == 0 {
                    0
                } else {
                    u8::try_from(55 + step * 40).unwrap_or(u8::MAX)
                }
            };
            let cube = index - 16;
            Rgb {
                r: level(cube / 36),
                g: level(cube / 6 % 6),
                b: level(cube % 6),
            }
        }
        232..256 => {
            let grey = u8::try_from(8 + (index - 232) * 10).unwrap_or(u8::MAX);
            Rgb {
                r: grey,
                g: grey,
                b: grey,
            }
        }
        _ if index == NamedColor::Background as usize => of(0x00_00_00),
        _ => of(0xe5_e5_e5),
    }
}

/// xterm's sixteen.
const BASIC: [u32; 16] = [
    0x00_00_00, 0xcd_00_00, 0x00_cd_00, 0xcd_cd_00, 0x00_00_ee, 0xcd_00_cd, 0x00_cd_cd, 0xe5_e5_e5,
    0x7f_7f_7f, 0xff_00_00, 0x00_ff_00, 0xff_ff_00, 0x5c_5c_ff, 0xff_00_ff, 0x00_ff_ff, 0xff_ff_ff,
];

#[cfg(test)]
mod tests {
    use alacritty_terminal::vte::ansi::Rgb;

    #[test]
    fn the_cube_and_the_greys_are_xterms() {
        assert_eq!(super::default(16), Rgb { r: 0, g: 0, b: 0 });
        assert_eq!(
            super::default(16 + 36 + 2 * 6 + 5),
            Rgb {
                r: 95,
                g: 135,
                b: 255
            }
        );
        assert_eq!(
            super::default(255),
            Rgb {
                r: 238,
                g: 238,
                b: 238
            }
        );
    }
}
