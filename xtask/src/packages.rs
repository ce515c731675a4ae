//! The packages of others that the lock files name, of crates.io and of npm.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::{
    steps::{command, output, root},
    suite::BROWSER,
    web::UI,
};

/// A package of somebody else's, at the one version that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// `pkg:cargo/serde@1.0.0` (Package URL specification).
    pub(crate) purl: String,
    /// As its registry calls it.
    pub(crate) name: String,
    /// The locked version.
    pub(crate) version: String,
    /// The hash that the lock file holds of its archive.
    pub(crate) hash: Hash,
    /// SPDX, where that is known without its archive.
    pub(crate) licence: Option<String>,
    /// Whether anything of it is in the binary.
    pub(crate) is_shipped: bool,
    /// The purls of the packages that it uses.
    pub(crate) uses: BTreeSet<String>,
}

/// What a lock file holds against an archive that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    /// Hexadecimal, as in `Cargo.lock`.
    Sha256(String),
    /// Base64, as in `package-lock.json` (W3C, Subresource Integrity).
    Sha512(String),
}

/// Every package that a lock file names, in the order of the purls. Those in the binary for this target are marked.
///
/// # Errors
/// A lock file cannot be read, or cargo does not say what is in the binary.
pub(crate) fn locked(target: &str) -> Result<Vec<Package>> {
    let mut packages = BTreeMap::new();
    for package in crates(target)?
        .into_iter()
        .chain(of_npm(UI, true)?)
        .chain(of_npm(BROWSER, false)?)
    {
        let known: &mut Package = packages
            .entry(package.purl.clone())
            .or_insert_with(|| package.clone());
        known.is_shipped |= package.is_shipped;
        known.uses.extend(package.uses);
    }
    Ok(packages.into_values().collect())
}

/// The folders in which the archives of the shipped npm packages are unpacked, by purl. `npm ci` has to have been there.
///
/// # Errors
/// The lock file cannot be read.
pub(crate) fn folders_of_npm() -> Result<BTreeMap<String, PathBuf>> {
    let lock = NpmLock::read(UI)?;
    let folders = lock.others().map(|(path, name, package)| {
        let folder = root().join(UI).join(path);
        (purl("npm", name, &package.version), folder)
    });
    Ok(folders.collect())
}

/// `@xterm/xterm` is written `%40xterm/xterm`, and the `+` of a version `%2B`.
pub(crate) fn purl(kind: &str, name: &str, version: &str) -> String {
    let name = name.replace('@', "%40");
    let version = version.replace('+', "%2B");
    format!("pkg:{kind}/{name}@{version}")
}

fn crates(target: &str) -> Result<Vec<Package>> {
    let lock: CargoLock =
        toml::from_str(&read("Cargo.lock")?).context("Cargo.lock is no lock file of cargo's")?;
    let shipped = crates_in_the_binary(target)?;
    let mut packages = Vec::new();
    for locked in lock.package.iter().filter(|locked| locked.source.is_some()) {
        let uses = locked.dependencies.iter().filter_map(|used| lock.find(used));
        let checksum = locked
            .checksum
            .clone()
            .with_context(|| format!("Cargo.lock has no checksum of {}", locked.name))?;
        packages.push(Package {
            purl: locked.purl(),
            name: locked.name.clone(),
            version: locked.version.clone(),
            hash: Hash::Sha256(checksum),
            licence: None,
            is_shipped: shipped.contains(&(locked.name.clone(), locked.version.clone())),
            uses: uses.map(LockedCrate::purl).collect(),
        });
    }
    Ok(packages)
}

/// Names and versions of what is compiled into the binary; macros are not, they are gone by then.
fn crates_in_the_binary(target: &str) -> Result<BTreeSet<(String, String)>> {
    let arguments = ["tree", "--locked", "--package", "cli", "--target", target];
    let form = [
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let listed = output(command("cargo", &arguments).args(form))?;
    let crates: BTreeSet<_> = listed
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(" v")?;
            let version = rest.split(' ').next()?;
            Some((name.to_owned(), version.to_owned()))
        })
        .collect();
    ensure!(
        !crates.is_empty(),
        "cargo lists nothing of which the binary is made"
    );
    Ok(crates)
}

fn of_npm(folder: &str, is_app: bool) -> Result<Vec<Package>> {
    let lock = NpmLock::read(folder)?;
    lock.others()
        .map(|(path, name, package)| {
            let uses = package
                .dependencies
                .keys()
                .filter_map(|used| lock.find(path, used));
            let integrity = package.integrity.as_deref().unwrap_or_default();
            let hash = integrity
                .strip_prefix("sha512-")
                .with_context(|| format!("{folder}/package-lock.json has no SHA-512 of {name}"))?;
            Ok(Package {
                purl: purl("npm", name, &package.version),
                name: name.to_owned(),
                version: package.version.clone(),
                hash: Hash::Sha512(hash.to_owned()),
                licence: package.license.clone(),
                is_shipped: is_app && !package.dev,
                uses: uses.collect(),
            })
        })
        .collect()
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("{path} cannot be read"))
}

#[derive(Deserialize)]
struct CargoLock {
    package: Vec<LockedCrate>,
}

#[derive(Deserialize)]
struct LockedCrate {
    name: String,
    version: String,
    source: Option<String>,
    checksum: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

impl CargoLock {
    /// The package that `name`, or `name version` where there are several, stands for.
    fn find(&self, used: &str) -> Option<&LockedCrate> {
        let mut words = used.split(' ');
        let name = words.next()?;
        let version = words.next();
        self.package
            .iter()
            .find(|locked| locked.name == name && version.is_none_or(|version| locked.version == version))
    }
}

impl LockedCrate {
    fn purl(&self) -> String {
        purl("cargo", &self.name, &self.version)
    }
}

/// Version 3 of the lock file (npm's package-lock.json(5)).
#[derive(Deserialize)]
struct NpmLock {
    packages: BTreeMap<String, LockedModule>,
}

#[derive(Deserialize)]
struct LockedModule {
    version: String,
    license: Option<String>,
    integrity: Option<String>,
    #[serde(default)]
    dev: bool,
    #[serde(default)]
    dependencies: BTreeMap<String, String>,
}

impl NpmLock {
    fn read(folder: &str) -> Result<Self> {
        let path = format!("{folder}/package-lock.json");
        serde_json::from_str(&read(&path)?).with_context(|| format!("{path} is no lock file of npm's"))
    }

    /// Path, name and package of all but the one whose lock file it is.
    fn others(&self) -> impl Iterator<Item = (&str, &str, &LockedModule)> {
        self.packages.iter().filter_map(|(path, package)| {
            let (_, name) = path.rsplit_once(MODULES)?;
            Some((path.as_str(), name, package))
        })
    }

    /// Whom Node finds by a name, for the package at a path: beneath it, or beneath one that it is in.
    fn find(&self, path: &str, name: &str) -> Option<String> {
        let mut folder = Some(path);
        while let Some(inside) = folder {
            let beneath = match inside {
                "" => format!("{MODULES}{name}"),
                inside => format!("{inside}/{MODULES}{name}"),
            };
            if let Some(found) = self.packages.get(&beneath) {
                return Some(purl("npm", name, &found.version));
            }
            folder = match inside {
                "" => None,
                inside => Some(
                    inside
                        .rsplit_once(MODULES)
                        .map_or("", |(outer, _)| outer.trim_end_matches('/')),
                ),
            };
        }
        None
    }
}

const MODULES: &str = "node_modules/";

#[cfg(test)]
mod tests {
    use super::{NpmLock, purl};

    #[test]
    fn a_name_is_escaped_as_the_specification_has_it() {
        assert_eq!(
            purl("npm", "@xterm/xterm", "6.0.0"),
            "pkg:npm/%40xterm/xterm@6.0.0"
        );
        assert_eq!(
            purl("cargo", "toml", "1.2.2+spec-1.1.0"),
            "pkg:cargo/toml@1.2.2%2Bspec-1.1.0"
        );
    }

    #[test]
    fn the_nearest_module_of_a_name_is_the_one_that_is_used() {
        let lock: NpmLock = serde_json::from_str(
            r#"{"packages": {
                "": {"version": "1.0.0"},
                "node_modules/a": {"version": "1.0.0"},
                "node_modules/@x/b": {"version": "1.0.0"},
                "node_modules/@x/b/node_modules/a": {"version": "2.0.0"}
            }}"#,
        )
        .unwrap();
        assert_eq!(lock.find("node_modules/@x/b", "a").unwrap(), "pkg:npm/a@2.0.0");
        assert_eq!(
            lock.find("node_modules/a", "@x/b").unwrap(),
            "pkg:npm/%40x/b@1.0.0"
        );
        assert_eq!(lock.find("node_modules/a", "c"), None);
        assert_eq!(lock.others().count(), 3);
    }
}
