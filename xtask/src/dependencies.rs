//! The policy of few dependencies, as a machine holds it: each has its line in `docs/dependencies.md`, and no crate is there in
//! two versions without a reason in `deny.toml`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::{Context, Result, ensure};
use cargo_metadata::MetadataCommand;
use serde::Deserialize;

use crate::{
    steps::{command, output, root},
    suite::BROWSER,
    web::UI,
};

/// Checks both, and says how many were looked at.
///
/// # Errors
/// A dependency has no line, or a line no dependency; a crate is doubled without a reason, or a reason is for nothing.
pub(crate) fn check() -> Result<String> {
    let page = fs::read_to_string(root().join(PAGE)).with_context(|| format!("{PAGE} cannot be read"))?;
    let crates = direct_crates()?;
    compare(&lines(&page, "crates.io")?, &crates)?;
    let modules = direct_modules()?;
    compare(&lines(&page, "npm")?, &modules)?;
    let doubled = doubled()?;
    let deny = fs::read_to_string(root().join("deny.toml")).context("deny.toml cannot be read")?;
    justified(&doubled, &deny)?;
    Ok(format!(
        "{} crates and {} npm packages, each with its line; {} crates in several versions, each with its reason",
        crates.len(),
        modules.len(),
        doubled.len()
    ))
}

/// What the members of the workspace use, but for each other.
fn direct_crates() -> Result<BTreeSet<String>> {
    let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec()?;
    let members = metadata.packages.iter().flat_map(|package| &package.dependencies);
    let of_others = members.filter(|dependency| dependency.path.is_none());
    Ok(of_others.map(|dependency| dependency.name.clone()).collect())
}

/// What the web app and the browser tests use.
fn direct_modules() -> Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Manifest {
        #[serde(default)]
        dependencies: BTreeMap<String, String>,
        #[serde(default)]
        dev_dependencies: BTreeMap<String, String>,
    }
    let mut names = BTreeSet::new();
    for folder in [UI, BROWSER] {
        let path = root().join(folder).join("package.json");
        let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let manifest: Manifest = serde_json::from_str(&text)?;
        names.extend(manifest.dependencies.into_keys());
        names.extend(manifest.dev_dependencies.into_keys());
    }
    Ok(names)
}

/// The names in the first column of the tables in a section of the page.
fn lines(page: &str, section: &str) -> Result<BTreeSet<String>> {
    let (_, rest) = page
        .split_once(&format!("\n## {section}\n"))
        .with_context(|| format!("{PAGE} has no section `{section}`"))?;
    let section = rest.split("\n## ").next().unwrap_or_default();
    let mut names = BTreeSet::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, purpose, instead] = cells.as_slice() else {
            anyhow::bail!("{PAGE}: a row is name, purpose and what would replace it: {row}");
        };
        ensure!(
            !purpose.is_empty() && !instead.is_empty(),
            "{PAGE}: {name} does not say what it is for and what would replace it"
        );
        let is_new = names.insert(name.trim_matches('`').to_owned());
        ensure!(is_new, "{PAGE} has two lines about {name}");
    }
    Ok(names)
}

fn compare(told: &BTreeSet<String>, used: &BTreeSet<String>) -> Result<()> {
    let untold: Vec<_> = used.difference(told).map(String::as_str).collect();
    ensure!(
        untold.is_empty(),
        "{PAGE} has no line about {}: say what it is for, and what would replace it",
        untold.join(", ")
    );
    let unused: Vec<_> = told.difference(used).map(String::as_str).collect();
    ensure!(
        unused.is_empty(),
        "{PAGE} has a line about {}, which nothing uses",
        unused.join(", ")
    );
    Ok(())
}

/// The crates that the workspace builds in several versions, with these, as `deny.toml` looks at it.
fn doubled() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for target in TARGETS {
        let arguments = ["tree", "--locked", "--workspace", "--target", target];
        let form = [
            "--edges",
            "normal,build,dev",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ];
        let listed = output(command("cargo", &arguments).args(form))?;
        for line in listed.lines() {
            let Some((name, rest)) = line.split_once(" v") else {
                continue;
            };
            let version = rest.split(' ').next().unwrap_or_default();
            versions
                .entry(name.to_owned())
                .or_default()
                .insert(version.to_owned());
        }
    }
    versions.retain(|_, versions| versions.len() > 1);
    Ok(versions)
}

/// Every version but the newest has a reason in `deny.toml`, and every reason is for such a one.
fn justified(doubled: &BTreeMap<String, BTreeSet<String>>, deny: &str) -> Result<()> {
    #[derive(Deserialize)]
    struct Deny {
        bans: Bans,
    }
    #[derive(Deserialize)]
    struct Bans {
        #[serde(default)]
        skip: Vec<Skip>,
    }
    #[derive(Deserialize)]
    struct Skip {
        #[serde(rename = "crate")]
        name: String,
        #[serde(default)]
        reason: String,
    }
    let deny: Deny = toml::from_str(deny).context("deny.toml has no bans")?;
    let mut without: BTreeMap<&str, BTreeSet<&str>> = doubled
        .iter()
        .map(|(name, versions)| (name.as_str(), versions.iter().map(String::as_str).collect()))
        .collect();
    for Skip {
        name: written,
        reason,
    } in &deny.bans.skip
    {
        ensure!(!reason.is_empty(), "deny.toml skips {written} without a reason");
        let (name, wanted) = written.split_once(':').unwrap_or((written, ""));
        let versions = without.get_mut(name);
        let versions = versions
            .with_context(|| format!("deny.toml skips {written}, and there is one version of {name}"))?;
        let before = versions.len();
        versions.retain(|version| !version.starts_with(&format!("{wanted}.")));
        ensure!(
            versions.len() < before,
            "deny.toml skips {written}, which is not there"
        );
    }
    for (name, left) in without {
        ensure!(
            left.len() == 1,
            "{name} is there in versions {}: have one of them, or write beside `skip` in deny.toml why not",
            Vec::from_iter(left).join(", ")
        );
    }
    Ok(())
}

const PAGE: &str = "docs/dependencies.md";

/// Those of `[graph]` in deny.toml.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{check, compare, justified, lines};

    #[test]
    fn every_dependency_is_accounted_for() {
        check().unwrap();
    }

    #[test]
    fn a_line_says_what_for_and_what_instead() {
        let page = "# X\n\n## npm\n\n| package | for | instead |\n|---|---|---|\n| `a` | b | c |\n\n## other\n| `d` | e | f |\n";
        assert_eq!(lines(page, "npm").unwrap(), BTreeSet::from(["a".to_owned()]));
        assert!(lines("\n## npm\n| `a` |  | c |\n", "npm").is_err());
        assert!(lines("\n## npm\n| `a` | b |\n", "npm").is_err());
        assert!(lines(page, "crates.io").is_err());
    }

    #[test]
    fn what_has_no_line_and_what_is_gone_are_named() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<BTreeSet<_>>()
        };
        let untold = compare(&names(&["a"]), &names(&["a", "b"])).unwrap_err();
        assert!(untold.to_string().contains("no line about b"), "{untold}");
        let gone = compare(&names(&["a", "b"]), &names(&["a"])).unwrap_err();
        assert!(gone.to_string().contains("a line about b"), "{gone}");
    }

    #[test]
    fn each_version_but_one_needs_a_reason() {
        let versions = ["1.0.0", "0.3.1", "0.2.9"].map(str::to_owned);
        let doubled = BTreeMap::from([("x".to_owned(), BTreeSet::from(versions))]);
        let with = |skip: &str| justified(&doubled, &format!("[bans]\nskip = [{skip}]"));
        let (first, second) = (
            r#"{ crate = "x:0.2", reason = "y" }"#,
            r#"{ crate = "x:0.3", reason = "z" }"#,
        );
        assert!(with(&format!("{first}, {second}")).is_ok());
        assert!(with(first).is_err());
        assert!(with(&format!(r#"{first}, {{ crate = "x:0.3" }}"#)).is_err());
        assert!(
            with(&format!(
                r#"{first}, {second}, {{ crate = "w:1", reason = "v" }}"#
            ))
            .is_err()
        );
    }
}
