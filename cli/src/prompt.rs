//! Questions to the person at the terminal. They go to standard error, and are answered on standard input.

use std::io::{self, BufRead, Write};

use crate::failure::Failure;

/// Asks, and gives the answer as it was typed.
pub(crate) fn ask(question: &str) -> Result<String, Failure> {
    say(question)?;
    line()
}

/// Asks whether to go on; only a clear yes is one.
pub(crate) fn is_confirmed(question: &str) -> Result<bool, Failure> {
    pose(question)?;
    Ok(is_yes(&line()?))
}

/// Asks for a yes or no whose line is read elsewhere.
pub(crate) fn pose(question: &str) -> io::Result<()> {
    say(&format!("{question} [y/N] "))
}

/// A line of standard input.
pub(crate) fn line() -> Result<String, Failure> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}

/// Whether an answer is a clear yes; anything else is a no.
pub(crate) fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn say(question: &str) -> io::Result<()> {
    let mut stderr = anstream::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_a_clear_yes_is_one() {
        assert!(["y\n", "Y\n", "yes\n", " YES "].into_iter().all(is_yes));
        assert!(!["", "\n", "n\n", "yep\n", "yes please\n"].into_iter().any(is_yes));
    }
}
