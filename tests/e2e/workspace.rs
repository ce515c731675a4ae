//! The rules of the workspace: arrows between crates, sizes of files, and documents that match the folders.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use cargo_metadata::{DependencyKind, MetadataCommand};

#[test]
fn arrows_between_crates_run_strictly_downward() {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()
        .unwrap();
    let ranks: BTreeMap<&str, u8> = RANKS.iter().copied().collect();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let rank = ranks
            .get(name)
            .unwrap_or_else(|| panic!("{name} has no rank in this test"));
        for dependency in &package.dependencies {
            let Some(lower) = ranks.get(dependency.name.as_str()) else {
                continue;
            };
            assert!(
                lower < rank,
                "{name} (rank {rank}) must not use {} (rank {lower})",
                dependency.name
            );
        }
    }
}

#[test]
fn the_access_layer_knows_neither_the_web_app_nor_the_terminal() {
    assert_eq!(
        uses("server")
            .iter()
            .filter(|name| ["web", "terminal"].contains(&name.as_str()))
            .count(),
        0
    );
    assert_eq!(workspace_uses("protocol"), ["pairing"]);
    assert!(workspace_uses("pairing").is_empty());
    assert_eq!(workspace_uses("client"), ["certs", "pairing", "protocol"]);
}

#[test]
fn versions_and_features_stand_in_the_root_alone() {
    for manifest in manifests() {
        let text = fs::read_to_string(&manifest).unwrap();
        let dependencies = text.lines().skip_while(|line| !line.contains("dependencies]"));
        for line in dependencies.filter(|line| line.contains('=')) {
            assert!(!line.contains("version ="), "{}: {line}", manifest.display());
        }
        assert!(
            text.contains("[lints]\nworkspace = true"),
            "{} has lints of its own",
            manifest.display()
        );
    }
}

#[test]
fn files_stay_within_their_budget() {
    let mut lengths: Vec<(usize, PathBuf)> = sources()
        .into_iter()
        .map(|path| (lines_without_tests(&path), path))
        .collect();
    lengths.sort();
    let (longest, path) = lengths.last().unwrap();
    assert!(
        *longest <= 500,
        "{} has {longest} lines without tests",
        path.display()
    );
    let at = |share: usize| lengths[(lengths.len() * share / 100).min(lengths.len() - 1)].0;
    assert!(at(50) <= 150, "the median file has {} lines", at(50));
    assert!(at(90) <= 350, "the 90th percentile file has {} lines", at(90));
}

#[test]
fn no_test_waits_for_time() {
    for path in files_below(&root().join("tests"), "rs") {
        // The one place that asks the kernel again and again, where nothing announces a change.
        if path.ends_with("harness/src/patience.rs") || path.ends_with("e2e/workspace.rs") {
            continue;
        }
        assert!(
            !fs::read_to_string(&path).unwrap().contains("sleep("),
            "{} sleeps",
            path.display()
        );
    }
}

#[test]
fn modules_are_files_named_after_them() {
    for path in sources() {
        assert_ne!(path.file_name().unwrap(), "mod.rs", "{}", path.display());
    }
}

#[test]
fn the_architecture_page_names_every_crate_and_nothing_that_is_gone() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(page.lines().count() <= 150);
    assert!(
        fs::read_to_string(root().join("CONTRIBUTING.md"))
            .unwrap()
            .lines()
            .count()
            <= 200
    );
    for manifest in manifests() {
        let folder = manifest
            .parent()
            .unwrap()
            .strip_prefix(root())
            .unwrap()
            .display()
            .to_string();
        assert!(
            page.contains(&format!("`{folder}/`")),
            "ARCHITECTURE.md does not name {folder}/"
        );
    }
    for path in page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.contains('/') && !word.contains([' ', '{']))
    {
        if path.starts_with('/') || path.contains("::") {
            continue;
        }
        assert!(
            root().join(path).exists(),
            "ARCHITECTURE.md names {path}, which is not there"
        );
    }
}

#[test]
fn the_readme_shows_a_picture_that_exists() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let picture = readme
        .split("](")
        .nth(1)
        .and_then(|rest| rest.split(')').next())
        .unwrap();
    assert!(root().join(picture).is_file(), "{picture}");
}

/// A crate may use only lower ranks, never its own.
const RANKS: &[(&str, u8)] = &[
    ("pairing", 0),
    ("certs", 0),
    ("terminal", 0),
    ("web", 0),
    ("protocol", 1),
    ("client", 2),
    ("server", 2),
    ("daemon", 3),
    ("cli", 4),
    ("fuzz", 5),
    ("harness", 5),
    ("xtask", 5),
    ("benches", 6),
    ("e2e", 6),
    ("soak", 6),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// What the crate uses outside its own tests.
fn uses(name: &str) -> Vec<String> {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()
        .unwrap();
    let package = metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == name)
        .unwrap();
    let normal = package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind == DependencyKind::Normal);
    normal.map(|dependency| dependency.name.clone()).collect()
}

fn workspace_uses(name: &str) -> Vec<String> {
    uses(name)
        .into_iter()
        .filter(|used| RANKS.iter().any(|(known, _)| known == used))
        .collect()
}

fn manifests() -> Vec<PathBuf> {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()
        .unwrap();
    metadata
        .packages
        .iter()
        .map(|package| package.manifest_path.clone().into_std_path_buf())
        .collect()
}

fn sources() -> Vec<PathBuf> {
    manifests()
        .iter()
        .flat_map(|manifest| files_below(&manifest.parent().unwrap().join("src"), "rs"))
        .filter(|path| path.file_stem().is_some_and(|name| name != "tests"))
        .filter(|path| !path.components().any(|part| part.as_os_str() == "tests"))
        .collect()
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("node_modules"));
    paths
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path, extension),
            false => Vec::from_iter(
                path.extension()
                    .is_some_and(|found| found == extension)
                    .then_some(path),
            ),
        })
        .collect()
}

fn lines_without_tests(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .position(|line| line == "#[cfg(test)]")
        .unwrap_or_else(|| text.lines().count())
}
