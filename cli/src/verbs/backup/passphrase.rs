//! The passphrase of a back-up: from the terminal, unseen, or out of a file; never from arguments or environment.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use daemon::backup::Passphrase;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use super::shown;
use crate::failure::Failure;

/// What a file says, less its last newline.
///
/// # Errors
/// Where it cannot be read, everybody can read it, or nothing is in it.
pub(super) fn of_file(path: &Path) -> Result<String, Failure> {
    let name = shown(path);
    let unreadable = |error: io::Error| {
        Failure::failed(
            "local_io",
            format!("the passphrase file {name} cannot be read: {error}"),
            "check the path, and whose the file is",
        )
    };
    let file = File::open(path).map_err(unreadable)?;
    let there = file.metadata().map_err(unreadable)?;
    if there.is_file() && there.permissions().mode() & OTHERS != 0 {
        return Err(Failure::failed(
            "open_file",
            format!("every user of this machine can open the passphrase file {name}"),
            format!("`chmod o= {name}`"),
        ));
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(unreadable)?;
    let length = text.trim_end_matches('\n').trim_end_matches('\r').len();
    text.truncate(length);
    match text.is_empty() {
        true => Err(Failure::usage(
            format!("nothing is in the passphrase file {name}"),
            "write the passphrase into it",
        )),
        false => Ok(text),
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
pub(super) fn strong(text: String) -> Result<Passphrase, Failure> {
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
    fn ask(&mut self, question: &str) -> Result<String, Failure> {
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

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = Vec::new();
        let mut key = [0];
        loop {
            if self.device.read(&mut key)? == 0 {
                return Err(none());
            }
            match key[0] {
                b'\r' | b'\n' => break,
                INTERRUPT => return Err(none()),
                END if line.is_empty() => return Err(none()),
                BACKSPACE | DELETE => erase(&mut line),
                CLEAR => line.clear(),
                letter if line.len() < MOST as usize => line.push(letter),
                _ => {}
            }
        }
        String::from_utf8(line).map_err(|_| Failure::usage("the passphrase is no text (UTF-8)", "try again"))
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
const MOST: u64 = 4096;
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
        assert_eq!(of_file(&path).unwrap(), " correct horse ");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        assert!(of_file(&path).is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "\n").unwrap();
        assert!(of_file(&path).is_err());
    }

    #[test]
    fn what_is_short_is_refused_for_a_new_backup() {
        assert!(strong("äöüäöüä".to_owned()).is_err());
        assert!(strong("äöüäöüäö".to_owned()).is_ok());
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
