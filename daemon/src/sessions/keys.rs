//! Keys by name, as the bytes that a terminal sends for them (xterm's `ctlseqs`, "PC-Style Function Keys").

mod name;

use name::Key;

/// How the program asked its terminal to send some keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyModes {
    /// Cursor keys are application keys (DECCKM).
    pub application_cursor: bool,
    /// The keypad sends application keys (DECKPAM).
    pub application_keypad: bool,
}

/// Why keys were not pressed: none of them was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnknownKey {
    /// No key has this name.
    #[error("`{name}` is no key{}", .nearest.map(|nearest| format!("; the nearest is `{nearest}`")).unwrap_or_default())]
    Name {
        /// As asked for.
        name: String,
        /// The known name that looks most like it, if one does.
        nearest: Option<&'static str>,
    },
    /// The key is there, but no terminal has bytes for it with these modifiers.
    #[error("no terminal can send `{0}`")]
    Modifiers(String),
}

/// The bytes of keys, in order.
///
/// # Errors
/// [`UnknownKey`] at the first that is none.
pub(crate) fn encode(names: &[String], modes: KeyModes) -> Result<Vec<u8>, UnknownKey> {
    let mut bytes = Vec::new();
    for name in names {
        press(name, modes, &mut bytes)?;
    }
    Ok(bytes)
}

/// What is held while a key is pressed.
#[derive(Clone, Copy, Debug, Default)]
struct Modifiers {
    shift: bool,
    meta: bool,
    control: bool,
}

impl Modifiers {
    /// Takes `C-`, `M-` and `S-` off a name.
    fn split(name: &str) -> (Self, &str) {
        let mut modifiers = Self::default();
        let mut rest = name;
        while let Some((prefix, key)) = rest.split_at_checked(2)
            && !key.is_empty()
        {
            match prefix {
                "C-" | "c-" => modifiers.control = true,
                "M-" | "m-" => modifiers.meta = true,
                "S-" | "s-" => modifiers.shift = true,
                _ => break,
            }
            rest = key;
        }
        (modifiers, rest)
    }

    /// xterm's parameter for them; none where nothing is held.
    fn parameter(self) -> Option<u8> {
        let sum = u8::from(self.shift) + 2 * u8::from(self.meta) + 4 * u8::from(self.control);
        (sum > 0).then_some(sum + 1)
    }
}

fn press(name: &str, modes: KeyModes, into: &mut Vec<u8>) -> Result<(), UnknownKey> {
    let (held, key) = Modifiers::split(name);
    let impossible = || UnknownKey::Modifiers(shown(name));
    match name::find(key) {
        Some(Key::Cursor(letter)) => match held.parameter() {
            Some(held) => into.extend(format!("\x1b[1;{held}{letter}").bytes()),
            None if modes.application_cursor => into.extend(format!("\x1bO{letter}").bytes()),
            None => into.extend(format!("\x1b[{letter}").bytes()),
        },
        Some(Key::Letter(letter)) => match held.parameter() {
            Some(held) => into.extend(format!("\x1b[1;{held}{letter}").bytes()),
            None => into.extend(format!("\x1bO{letter}").bytes()),
        },
        Some(Key::Number(number)) => match held.parameter() {
            Some(held) => into.extend(format!("\x1b[{number};{held}~").bytes()),
            None => into.extend(format!("\x1b[{number}~").bytes()),
        },
        Some(Key::Keypad { letter, .. }) if modes.application_keypad && held.parameter().is_none() => {
            into.extend(format!("\x1bO{letter}").bytes());
        }
        Some(Key::Keypad { plain, .. }) => character(plain, held, into).ok_or_else(impossible)?,
        Some(Key::BackTab) => into.extend(b"\x1b[Z"),
        Some(Key::Character('\t')) if held.shift => into.extend(b"\x1b[Z"),
        Some(Key::Character(plain)) => character(plain, held, into).ok_or_else(impossible)?,
        None => {
            return Err(UnknownKey::Name {
                name: shown(name),
                nearest: name::nearest(key),
            });
        }
    }
    Ok(())
}

/// A character with what is held; none where that has no bytes.
fn character(plain: char, held: Modifiers, into: &mut Vec<u8>) -> Option<()> {
    let is_sign = plain.is_control() || plain == ' ';
    let shifted = match plain {
        _ if !held.shift || is_sign => plain,
        letter if letter.is_alphabetic() => letter.to_uppercase().next()?,
        // What Shift makes of it is the keyboard's secret: the sign itself can be asked for.
        _ => return None,
    };
    let sent = if held.control { control(shifted)? } else { shifted };
    if held.meta {
        into.push(0x1b);
    }
    into.extend(sent.encode_utf8(&mut [0; 4]).bytes());
    Some(())
}

/// What Ctrl makes of a character (xterm's `ctlseqs` and DEC's VT220 manual, table 3-5).
fn control(character: char) -> Option<char> {
    Some(match character.to_ascii_lowercase() {
        letter @ 'a'..='z' => char::from(letter as u8 & 0x1f),
        ' ' | '@' | '2' => '\0',
        '[' | '3' => '\x1b',
        '\\' | '4' => '\x1c',
        ']' | '5' => '\x1d',
        '^' | '6' => '\x1e',
        '_' | '/' | '7' => '\x1f',
        '?' | '8' => '\x7f',
        // Enter, Tab and Escape are control characters themselves; Ctrl with Backspace deletes a word.
        '\x7f' => '\x08',
        own if own.is_control() => own,
        _ => return None,
    })
}

/// A name for a message: what somebody sent is not a key, and may be anything.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(MAX_SHOWN).collect()
}

/// Characters of a name in a message.
const MAX_SHOWN: usize = 32;

#[cfg(test)]
mod tests;
