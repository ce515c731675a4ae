//! The passphrase of a back-up: from the terminal, unseen, or out of a file; never from arguments or environment.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use daemon::backup::Passphrase;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use super::shown;
use crate::failure::Failure;

/// What a file says, less one line end behind it.
///
/// # Errors
/// Where it cannot be read, everybody can read it, or it holds nothing, no text, or more than a passphrase.
pub(super) fn of_file(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let name = shown(path);
    let unreadable = |error: io::Error| {
        Failure::failed(
            "local_io",
            format!("the passphrase file {name} cannot be read: {error}"),
            "check the path, and whose the file is",
        )
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let there = file.metadata().map_err(unreadable)?;
    if there.is_file() && there.permissions().mode() & OTHERS != 0 {
        return Err(Failure::failed(
            "open_file",
            format!("every user of this machine can open the passphrase file {name}"),
            format!("`chmod o= {name}`"),
        ));
    }
    // Of its whole length from the beginning: what grows leaves a copy behind.
    let mut bytes = Zeroizing::new(vec![0; MOST + LINE_END + 1]);
    let mut length = 0;
    while length < bytes.len() {
        match file.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    let bytes = &bytes[..length];
    let bytes = bytes
        .strip_suffix(b"\n")
        .map_or(bytes, |line| line.strip_suffix(b"\r").unwrap_or(line));
    match bytes.len() {
        0 => Err(Failure::usage(
            format!("nothing is in the passphrase file {name}"),
            "write the passphrase into it",
        )),
        length if length > MOST => Err(too_long(&format!("what is in the file {name} is longer"))),
        _ => text(bytes),
    }
}

/// Asks for the passphrase of a back-up.
///
/// # Errors
/// Where nobody can be asked, or answers.
pub(super) fn ask_once() -> Result<Passphrase, Failure> {
    let mut terminal = Terminal::open()?;
    let text = terminal.ask("passphrase of the back-up: ")?;
    Passphrase::new(text).ok_or_else(none)
}

/// Asks for a new passphrase, and for the same once more.
///
/// # Errors
/// Where nobody can be asked, or answers, or the two are not the same.
pub(super) fn ask_twice() -> Result<Passphrase, Failure> {
    let mut terminal = Terminal::open()?;
    let text = terminal.ask("new passphrase: ")?;
    if !is_strong(&text) {
        return Err(too_short());
    }
    if terminal.ask("the same again: ")? != text {
        return Err(Failure::failed(
            "not_the_same",
            "these were two passphrases: nothing was written",
            "try again",
        ));
    }
    Passphrase::new(text).ok_or_else(none)
}

/// Refuses for a new back-up what can be guessed.
///
/// # Errors
/// Where it is too short.
pub(super) fn strong(text: Zeroizing<String>) -> Result<Passphrase, Failure> {
    match is_strong(&text) {
        true => Passphrase::new(text).ok_or_else(none),
        false => Err(too_short()),
    }
}

fn is_strong(text: &str) -> bool {
    text.chars().count() >= SHORTEST
}

fn too_short() -> Failure {
    Failure::usage(
        format!(
            "a passphrase has {SHORTEST} characters at least: it guards this daemon's keys against whoever has the file"
        ),
        "take some words; or --plain, where something else encrypts the file",
    )
}

/// Refuses what would only in part be used.
fn too_long(what: &str) -> Failure {
    Failure::usage(
        format!("a passphrase has {MOST} bytes at most, and {what}"),
        "take a shorter one; nothing of it was used",
    )
}

/// A passphrase is text, copied once.
fn text(bytes: &[u8]) -> Result<Zeroizing<String>, Failure> {
    let read = std::str::from_utf8(bytes);
    let read = read.map_err(|_| Failure::usage("the passphrase is no text (UTF-8)", "try again"))?;
    Ok(Zeroizing::new(read.to_owned()))
}

fn none() -> Failure {
    Failure::usage("no passphrase was given", "try again")
}

/// The terminal of this process, whatever its input and output are.
struct Terminal {
    device: File,
    /// What it was before, while it shows nothing that is typed.
    saved: Option<Termios>,
}

impl Terminal {
    fn open() -> Result<Self, Failure> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/tty");
        let device = device.map_err(|_| {
            Failure::usage(
                "there is no terminal to ask for the passphrase",
                "name a file with it: --passphrase-file FILE",
            )
        })?;
        Ok(Self { device, saved: None })
    }

    /// Asks, and shows nothing of the answer. A key that interrupts is read as any other here, so that no signal leaves the terminal
    /// as it is meanwhile.
    fn ask(&mut self, question: &str) -> Result<Zeroizing<String>, Failure> {
        let before = tcgetattr(&self.device).map_err(io::Error::from)?;
        let mut quiet = before.clone();
        let unseen = LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG;
        quiet.local_modes.remove(unseen);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        self.saved = Some(before);
        // What was typed before the question is no answer to it.
        tcsetattr(&self.device, OptionalActions::Flush, &quiet).map_err(io::Error::from)?;
        self.device.write_all(question.as_bytes())?;
        let answer = self.line();
        self.restore();
        self.device.write_all(b"\r\n")?;
        answer
    }

    fn line(&mut self) -> Result<Zeroizing<String>, Failure> {
        // What grows leaves a copy behind.
        let mut line = Zeroizing::new(Vec::with_capacity(MOST));
        let mut key = Zeroizing::new([0]);
        let mut is_too_long = false;
        loop {
            if self.device.read(&mut *key)? == 0 {
                return Err(none());
            }
            match key[0] {
                b'\r' | b'\n' if is_too_long => return Err(too_long("this is longer")),
                b'\r' | b'\n' => break,
                INTERRUPT => return Err(none()),
                END if line.is_empty() => return Err(none()),
                BACKSPACE | DELETE => erase(&mut line),
                CLEAR => {
                    line.clear();
                    is_too_long = false;
                }
                letter if line.len() < MOST => line.push(letter),
                // Until it is all cleared: which of it would be erased is not known any more.
                _ => is_too_long = true,
            }
        }
        text(&line)
    }

    fn restore(&mut self) {
        if let Some(before) = self.saved.take() {
            // Where the terminal is gone there is nothing left to restore.
            tcsetattr(&self.device, OptionalActions::Now, &before).ok();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Removes the last character, which may have more bytes than one.
fn erase(line: &mut Vec<u8>) {
    while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
}

/// Characters of a new passphrase.
const SHORTEST: usize = 8;
/// Bytes of a passphrase.
const MOST: usize = 4096;
/// Bytes of the longest end of a line.
const LINE_END: usize = 2;
/// What others than its owner and its group may do to a file.
const OTHERS: u32 = 0o007;
/// Keys: Ctrl-C, Ctrl-D, Ctrl-H, Ctrl-U, and the one that deletes.
const INTERRUPT: u8 = 0x03;
const END: u8 = 0x04;
const BACKSPACE: u8 = 0x08;
const CLEAR: u8 = 0x15;
const DELETE: u8 = 0x7f;

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::{erase, of_file, strong};

    #[test]
    fn a_file_gives_its_text_without_the_last_newline_and_only_if_it_is_not_everybodys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passphrase");
        fs::write(&path, " correct horse \n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(*of_file(&path).unwrap(), " correct horse ");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        assert!(of_file(&path).is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "\n").unwrap();
        assert!(of_file(&path).is_err());
    }

    #[test]
    fn what_is_short_is_refused_for_a_new_backup() {
        assert!(strong("äöüäöüä".to_owned().into()).is_err());
        assert!(strong("äöüäöüäö".to_owned().into()).is_ok());
    }

    #[test]
    fn exactly_one_line_end_is_no_part_of_a_passphrase() {
        for (written, meant) in [
            ("horse", "horse"),
            ("horse\n", "horse"),
            ("horse\r\n", "horse"),
            ("horse\n\n", "horse\n"),
            ("horse\r\n\r\n", "horse\r\n"),
            ("horse\r", "horse\r"),
            ("correct\nhorse\n", "correct\nhorse"),
        ] {
            assert_eq!(*said(written).unwrap(), meant, "{written:?}");
        }
    }

    #[test]
    fn a_passphrase_that_is_too_long_is_refused_and_not_cut_off() {
        let longest = "ä".repeat(2048);
        for end in ["", "\n", "\r\n"] {
            assert_eq!(*said(&format!("{longest}{end}")).unwrap(), longest);
            let refused = said(&format!("{longest}x{end}")).unwrap_err();
            assert!(
                format!("{refused:?}").contains("4096 bytes at most"),
                "{refused:?}"
            );
        }
        assert!(said(&"x".repeat(1 << 20)).is_err());
    }

    #[test]
    fn a_passphrase_is_wiped_when_it_is_dropped() {
        fn is_wiped(_: &impl zeroize::ZeroizeOnDrop) {}
        is_wiped(&said("horse").unwrap());
    }

    /// What is read of a file with this text, which is its owner's alone.
    fn said(text: &str) -> Result<zeroize::Zeroizing<String>, crate::failure::Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passphrase");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        of_file(&path)
    }

    #[test]
    fn the_last_character_is_erased_whole() {
        let mut line = "aé".as_bytes().to_vec();
        erase(&mut line);
        assert_eq!(line, b"a");
        erase(&mut line);
        erase(&mut line);
        assert!(line.is_empty());
    }
}
