//! The licences of what is in the binary, with their texts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use cargo_metadata::MetadataCommand;

use crate::{
    packages::{Package, folders_of_npm, purl},
    steps::{command, output, root},
};

/// What a package says of itself, and where its archive is unpacked.
struct Source {
    licence: String,
    folder: PathBuf,
    authors: Vec<String>,
    repository: Option<String>,
}

/// Says under which licence each package is, and gives the page with the texts of those in the binary.
///
/// # Errors
/// A package that is in the binary names no licence, or its archive is not here.
pub(super) fn add(packages: &mut [Package]) -> Result<String> {
    let mut sources = crates()?;
    let modules = folders_of_npm()?;
    for package in packages.iter_mut() {
        if let Some(source) = sources.get(&package.purl) {
            package.licence = Some(source.licence.clone());
        } else if let (Some(folder), Some(licence)) = (modules.get(&package.purl), &package.licence) {
            let source = Source {
                licence: licence.clone(),
                folder: folder.clone(),
                authors: Vec::new(),
                repository: None,
            };
            sources.insert(package.purl.clone(), source);
        }
    }
    let shipped: Vec<_> = packages.iter().filter(|package| package.is_shipped).collect();
    page(&shipped, &sources)
}

fn page(shipped: &[&Package], sources: &BTreeMap<String, Source>) -> Result<String> {
    let mut page = format!("{OPENING}\n\n{}\n", std_line()?);
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in shipped {
        let source = sources.get(&package.purl).with_context(|| {
            format!(
                "{} names no licence, or its archive is not unpacked here",
                package.purl
            )
        })?;
        let title = format!("{} {}", package.name, package.version);
        writeln!(page, "{title}: {}", source.licence)?;
        let found = texts_of(source, sources)?;
        if found.is_empty() {
            let authors = match source.authors.as_slice() {
                [] => "nobody by name".to_owned(),
                authors => authors.join(", "),
            };
            writeln!(
                page,
                "    (its archive has no text of it; its authors: {authors})"
            )?;
        }
        for text in found {
            texts.entry(text).or_default().insert(title.clone());
        }
    }
    for (text, titles) in texts {
        let titles: Vec<_> = titles.into_iter().collect();
        write!(page, "\n{RULE}\n{}\n{RULE}\n\n{text}\n", titles.join(", "))?;
    }
    Ok(page)
}

/// The texts in its archive, or in that of another package of the same repository, where only one of several has them.
fn texts_of(source: &Source, sources: &BTreeMap<String, Source>) -> Result<Vec<String>> {
    let own = texts_in(&source.folder)?;
    if !own.is_empty() || source.repository.is_none() {
        return Ok(own);
    }
    for sibling in sources.values() {
        if sibling.repository == source.repository && sibling.licence == source.licence {
            let texts = texts_in(&sibling.folder)?;
            if !texts.is_empty() {
                return Ok(texts);
            }
        }
    }
    Ok(own)
}

fn texts_in(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} is not there", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file() && is_licence(path))
        .collect();
    files.sort();
    let mut texts = Vec::new();
    for file in files {
        let bytes = fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        let text = String::from_utf8_lossy(&bytes).replace('\r', "");
        texts.push(text.trim_matches('\n').trim_end().to_owned());
    }
    Ok(texts)
}

fn is_licence(path: &Path) -> bool {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let is_code = path.extension().is_some_and(|extension| extension == "rs");
    !is_code && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Of every locked crate: the bill names the licences of those that are not in the binary, too.
fn crates() -> Result<BTreeMap<String, Source>> {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .other_options(["--locked".to_owned(), "--all-features".to_owned()])
        .exec()
        .context("cargo does not say what the crates are")?;
    let of_others = metadata
        .packages
        .into_iter()
        .filter(|package| package.source.is_some());
    let mut sources = BTreeMap::new();
    for package in of_others {
        let purl = purl("cargo", &package.name, &package.version.to_string());
        let folder = package
            .manifest_path
            .parent()
            .map(|folder| folder.as_std_path().to_path_buf());
        let licence = match (package.license, package.license_file) {
            // The slash is how cargo wrote it once.
            (Some(licence), _) => licence.replace('/', " OR "),
            (None, Some(file)) => format!("LicenseRef-{}", file.as_str().replace(['/', '_', '.'], "-")),
            (None, None) => continue,
        };
        let source = Source {
            licence,
            folder: folder.with_context(|| format!("{purl} is in no folder"))?,
            authors: package.authors,
            repository: package.repository,
        };
        sources.insert(purl, source);
    }
    ensure!(!sources.is_empty(), "cargo knows no crates of others");
    Ok(sources)
}

/// The library that comes with the compiler is in no lock file.
fn std_line() -> Result<String> {
    let version = output(&mut command("rustc", &["--version"]))?;
    let number = version.split(' ').nth(1).unwrap_or_default();
    Ok(format!("Rust's standard library {number}: Apache-2.0 OR MIT"))
}

const OPENING: &str = "\
What is in the command `transom` besides its own code, and under which licence: the crates that it is built of, and the
packages that its web app is built of. Below the list are the texts, each once, with the packages that brought it.";

const BEGINNINGS: [&str; 7] = [
    "license",
    "licence",
    "copying",
    "copyright",
    "notice",
    "unlicense",
    "patents",
];

const RULE: &str = "------------------------------------------------------------------------";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::is_licence;

    #[test]
    fn the_files_of_a_licence_are_told_by_their_names() {
        for name in [
            "LICENSE",
            "LICENSE-MIT",
            "license.txt",
            "COPYING",
            "UNLICENSE",
            "NOTICE.md",
        ] {
            assert!(is_licence(Path::new(name)), "{name}");
        }
        for name in ["README.md", "Cargo.toml", "license.rs"] {
            assert!(!is_licence(Path::new(name)), "{name}");
        }
    }
}
