//! Fuzz targets: every parser that meets bytes of somebody who is not authenticated yet, of a client that attaches, or of a
//! program in a session.
//!
//! A target panics where what it was given breaks a rule. Ordinary tests replay each corpus; `cargo xtask fuzz` looks for more,
//! and what it finds is put into `corpus/<target>/`.

mod targets;

/// One parser, or several that meet the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is its corpus's.
    pub name: &'static str,
    /// Feeds it; panics where a rule is broken.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "token",
        run: targets::token::run,
    },
    Target {
        name: "code",
        run: targets::code::run,
    },
    Target {
        name: "challenge",
        run: targets::challenge::run,
    },
    Target {
        name: "proof",
        run: targets::proof::run,
    },
    Target {
        name: "gate",
        run: targets::gate::run,
    },
    Target {
        name: "label",
        run: targets::label::run,
    },
    Target {
        name: "fragment",
        run: targets::fragment::run,
    },
    Target {
        name: "keeper",
        run: targets::keeper::run,
    },
    Target {
        name: "attach",
        run: targets::attach::run,
    },
    Target {
        name: "screen",
        run: targets::screen::run,
    },
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::TARGETS;

    #[test]
    fn what_was_found_once_is_not_found_again() {
        for target in TARGETS {
            let entries = fs::read_dir(corpora().join(target.name)).unwrap();
            let entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
            assert!(entries.len() >= 3, "{} has hardly a corpus", target.name);
            for entry in entries {
                eprintln!("{}", entry.display());
                (target.run)(&fs::read(entry).unwrap());
            }
        }
    }

    #[test]
    fn every_corpus_has_a_target() {
        let names: BTreeSet<_> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
        let corpora = fs::read_dir(corpora()).unwrap();
        let folders = corpora.map(|folder| folder.unwrap().file_name().into_string().unwrap());
        assert_eq!(folders.collect::<BTreeSet<_>>(), names);
    }

    fn corpora() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"))
    }
}
